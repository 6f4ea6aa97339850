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
 * With m, a classic filter; without capacity, an explicit one; cuckoo and counting
 * filters if so named.
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
	UINT64_C(0x9B99C034A7772D0C)},
	{"explicit of none", 0, 0, 0, 0, 0, 0, 60,
	UINT64_C(0x213C09465FF8D62D)},
	{"block512, fixed", 2000, 0.01, 0, 0, 0, 2000, 2684,
	UINT64_C(0xC2FE6BCE16184BEC)},
	{"block512, growing", 2000, 0.01, 2, 0, 0, 2000, 2876,
	UINT64_C(0x416F3222A62A144C)},
	{"block512 of many blocks", 100000, 0.001, 2, 0, 0, 100000, 203132,
	UINT64_C(0x9582783AE4D3FFA6)},
	{"block512 of 10 %", 3000, 0.1, 2, 0, 0, 3000, 2236,
	UINT64_C(0xBBDBBA08BD0D66C4)},
	{"block512x2, fixed", 2000, 0.0001, 0, 0, 0, 2000, 5244,
	UINT64_C(0xED115F718BFED9A2)},
	{"block512x2, growing", 3000, 1e-06, 2, 0, 0, 3000, 12284,
	UINT64_C(0xE6AECBC009CDF873)},
	{"small, fixed", 1000, 0.01, 0, 0, 0, 1000, 1285,
	UINT64_C(0xFE0445B69022847B)},
	{"small, growing", 1000, 0.001, 2, 0, 0, 1000, 1966,
	UINT64_C(0x64628CB2774E1573)},
	{"small of ten", 10, 0.1, 0, 0, 0, 10, 47,
	UINT64_C(0x499AA52BA4B31998)},
	{"grown from small", 100, 0.01, 2, 0, 0, 3000, 11388,
	UINT64_C(0x8BA1F263D547A53F)},
	{"grown from block512 to block512x2", 2000, 0.001, 4, 0, 0, 9000, 45500,
	UINT64_C(0xB05F36C3BD6422D5)},
	{"classic", 0, 0, 0, 6045, 8, 500, 892,
	UINT64_C(0xC6DD28AF8DB0EFB7)},
	{"cuckoo, fixed", 1000, 0.01, 0, 0, 0, 1000, 1404,
	UINT64_C(0x856DCBB2F7683292)},
	{"cuckoo, growing", 100000, 0.03, 2, 0, 0, 100000, 108284,
	UINT64_C(0x07062872BAB3E8E1)},
	{"cuckoo of few windows", 1, 0.5, 0, 0, 0, 1, 188,
	UINT64_C(0x57D6A0F6FA816680)},
	{"cuckoo, grown", 100, 0.001, 2, 0, 0, 3000, 12092,
	UINT64_C(0xE0BCCFD75F6E4EC9)},
	{"cuckoo, grown by 3", 10, 1e-07, 3, 0, 0, 1000, 6076,
	UINT64_C(0x0EFCC6E1F4E7D6EC)},
	{"cuckoo of wide fingerprints", 1000, 1e-07, 1, 0, 0, 5000, 20348,
	UINT64_C(0xBA0FE90DA03A2D2C)},
	{"counting, fixed", 1000, 0.01, 0, 0, 0, 1000, 5500,
	UINT64_C(0x2BB303C90C904824)},
	{"countingx2, growing", 2000, 0.0001, 2, 0, 0, 2000, 21116,
	UINT64_C(0xF8607F89666F47DC)},
	{"counting, grown", 100, 0.001, 2, 0, 0, 3000, 38012,
	UINT64_C(0xA55FE2385FDAF952)},
	{"classic of 64 hashes", 0, 0, 0, 100000, 64, 500, 12668,
	UINT64_C(0x2283090297B5ECB6)},
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
		else if (strncmp(golden[i].name, "counting", 8) == 0)
			image = make_counting(golden[i].capacity, golden[i].error_rate,
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
