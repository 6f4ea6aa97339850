/*
 * test_golden.c
 *	  The bytes of a few filters, frozen.
 *
 * Filters outlive the program that made them: a stored one must equal the one
 * that is made from the same elements later, on any machine.  A change here is
 * a change of the format, which needs a new version of it, not a new figure.  The figures are FNV-1a (64 bits) of whole images.
 */
#include "unit.h"

static uint64_t
fnv1a(const uint8_t *bytes, uint64_t count)
{
	uint64_t	sum = UINT64_C(0xCBF29CE484222325);

	for (; count > 0; count--)
		sum = (sum ^ *bytes++) * UINT64_C(0x100000001B3);
	return sum;
}

/*
 * With m, a classic filter; without capacity, an explicit one; cuckoo filters if
 * so named.
 */
typedef struct Golden
{
	const char *name;
	uint64_t	capacity;
	double		error_rate;
	int			growth;
	uint64_t	m;
	unsigned	k;
	uint64_t	elements;
	uint64_t	bytes;
	uint64_t	sum;
} Golden;

static const Golden golden[] = {
	{"explicit", 0, 0, 0, 0, 0, 1000, 8060,
	UINT64_C(0xBA5A3BE9F8E442DC)},
	{"explicit of none", 0, 0, 0, 0, 0, 0, 60,
	UINT64_C(0xD07A40F87518525D)},
	{"block512, fixed", 1000, 0.01, 0, 0, 0, 1000, 1404,
	UINT64_C(0x71873DE1978998D4)},
	{"block512, growing", 1000, 0.01, 2, 0, 0, 1000, 1468,
	UINT64_C(0x5B10A46AB467CBF2)},
	{"block512 of one block", 10, 0.1, 0, 0, 0, 10, 188,
	UINT64_C(0xF11A4ED5F9FC6D0C)},
	{"block512 of many blocks", 100000, 0.001, 2, 0, 0, 100000, 199484,
	UINT64_C(0x78C6BD1B7C9DE03B)},
	{"block512 of 10 %", 3000, 0.1, 2, 0, 0, 3000, 2108,
	UINT64_C(0xAAEA2ADB68FF8746)},
	{"block512x2, fixed", 1000, 0.0001, 0, 0, 0, 1000, 2620,
	UINT64_C(0xC7D33D2EEFD4A6F6)},
	{"block512x2, growing", 3000, 1e-06, 2, 0, 0, 3000, 12156,
	UINT64_C(0x59D5B81075F807BA)},
	{"grown", 100, 0.01, 2, 0, 0, 3000, 8828,
	UINT64_C(0xB253CD632113E24C)},
	{"grown from block512 to block512x2", 100, 0.001, 4, 0, 0, 3000, 28092,
	UINT64_C(0xA3F0C3E4FBE4DEA0)},
	{"classic", 0, 0, 0, 6045, 8, 500, 892,
	UINT64_C(0x2D01BAA44ECD78B7)},
	{"cuckoo, fixed", 1000, 0.01, 0, 0, 0, 1000, 1404,
	UINT64_C(0x26CEA997EB548BA2)},
	{"cuckoo, growing", 100000, 0.03, 2, 0, 0, 100000, 108284,
	UINT64_C(0xE8652365B4727825)},
	{"cuckoo of few windows", 1, 0.5, 0, 0, 0, 1, 188,
	UINT64_C(0x057C349A111BBC10)},
	{"cuckoo, grown", 100, 0.001, 2, 0, 0, 3000, 12092,
	UINT64_C(0x18DFC0A8F4934489)},
	{"cuckoo, grown by 3", 10, 1e-07, 3, 0, 0, 1000, 6076,
	UINT64_C(0xF1F8583C55EF7384)},
	{"cuckoo of wide fingerprints", 1000, 1e-07, 1, 0, 0, 5000, 20348,
	UINT64_C(0x15592A156FC62E7C)},
	{"classic of 64 hashes", 0, 0, 0, 100000, 64, 500, 12668,
	UINT64_C(0x2A4005C329D0CD16)},
};

void
test_golden(void)
{
	uint64_t	hashes[BATCH];

	begin_test("images are those of all earlier versions");
	for (int i = 0; i < lengthof(golden); i++)
	{
		uint8_t    *image;
		uint64_t	sum;

		for (uint64_t j = 0; j < golden[i].elements && j < BATCH; j++)
			hashes[j] = number_hash(j);
		if (golden[i].m != 0)
			image = make_classic(golden[i].m, golden[i].k);
		else if (strncmp(golden[i].name, "cuckoo", 6) == 0)
			image = make_cuckoo(golden[i].capacity, golden[i].error_rate,
								golden[i].growth);
		else if (golden[i].capacity != 0)
			image = make_filter(golden[i].capacity, golden[i].error_rate,
								golden[i].growth);
		else
			image = make_explicit(hashes, golden[i].elements);
		if (image_layers(image) > 0)
			add_numbers(&image, 0, golden[i].elements);
		sum = fnv1a(image, image_bytes(image));
		expect(image_bytes(image) == golden[i].bytes && sum == golden[i].sum,
			   "%s: %llu bytes with sum 0x%016llX", golden[i].name,
			   (unsigned long long) image_bytes(image),
			   (unsigned long long) sum);
		release_image(image);
	}
	end_test();
}
