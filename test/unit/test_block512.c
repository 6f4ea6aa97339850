/*
 * test_block512.c
 *	  One block: each implementation against a model, bit by bit.
 *
 * The model is written from the first comment of block512.c and docs/dev/format.md,
 * numbers and all, so that a change of any constant there is a failure here.
 */
#include "unit.h"

/* Bytes before and after a block, which must not change */
#define MARGIN			64
#define ROOM			(MARGIN + CACHE_LINE + 64 + MARGIN)

/* Elements of the largest run that is tried */
#define RUN_WORDS		100

/* For each number of bits of an element */
#define ROUNDS			4000

/* Which of the 512 bits an element sets */
static void
model_bits(uint64_t word, unsigned k, bool bits[512])
{
	unsigned	everywhere = k / 8;
	unsigned	window = k % 8;
	unsigned	start = word >> 61;

	memset(bits, false, 512 * sizeof(bool));
	for (unsigned pick = 0; pick <= everywhere; pick++)
	{
		for (unsigned lane = 0; lane < 8; lane++)
		{
			bool		in_window = (lane + 8 - start) % 8 < window;

			if (pick < everywhere || in_window)
				bits[64 * lane + (word >> (13 + 6 * lane)) % 64] = true;
		}
		word = (word ^ (word >> 32)) * UINT64_C(0xBF58476D1CE4E5B9);
	}
}

static bool
bit_of(const uint8_t *block, int bit)
{
	return (block[bit / 8] >> (bit % 8)) & 1;
}

/* Random words, and those that a mistake in a shift would show with */
static uint64_t
some_word(int round)
{
	if (round < 64)
		return UINT64_C(1) << round;
	if (round < 128)
		return ~(UINT64_C(1) << (round - 64));
	if (round == 128)
		return 0;
	if (round == 129)
		return UINT64_MAX;
	return random64();
}

/* A block with none, few, half, most, all, or all but one of the bits set */
static void
some_block(uint8_t *block, int round, const bool bits[512])
{
	for (int lane = 0; lane < 8; lane++)
	{
		/* NOLINTNEXTLINE(misc-redundant-expression): it is another each time */
		uint64_t	few = random64() & random64() & random64();
		uint64_t	choice[] = {0, few, random64(), ~few, UINT64_MAX};

		put64(block + 8 * lane, choice[round % lengthof(choice)]);
	}
	if (round % 7 == 0)			/* the element is in */
		for (int bit = 0; bit < 512; bit++)
			block[bit / 8] |= bits[bit] << (bit % 8);
	if (round % 14 == 0)		/* but for one of its bits */
	{
		int			bit = random_below(512);

		while (!bits[bit])
			bit = (bit + 1) % 512;
		block[bit / 8] &= ~(1 << (bit % 8));
	}
}

static void
test_kernel(const BlockKernel *kernel)
{
	char		name[64];

	snprintf(name, sizeof(name), "kernel %s sets and probes the model's bits",
			 kernel->name);
	if (!kernel->supported())
	{
		skip_test(name, "not on this processor");
		return;
	}
	begin_test("%s", name);
	for (unsigned k = 1; k <= BLOCK_MAX_HASHES; k++)
	{
		for (int round = 0; round < ROUNDS; round++)
		{
			uint64_t	word = some_word(round);
			uint8_t		memory[ROOM] __attribute__((aligned(64)));
			uint8_t		before[ROOM];
			uint8_t    *block = memory + MARGIN + round % 64;
			bool		bits[512];
			bool		in = true;
			unsigned	new_bits = 0;
			unsigned	added;

			for (int i = 0; i < ROOM; i += 8)
				put64(memory + i, random64());
			model_bits(word, k, bits);
			some_block(block, round, bits);
			memcpy(before, memory, ROOM);
			for (int bit = 0; bit < 512; bit++)
			{
				if (!bits[bit] || bit_of(block, bit))
					continue;
				in = false;
				new_bits++;
				before[block - memory + bit / 8] |= 1 << (bit % 8);
			}
			expect(kernel->contains(block, word, k) == in,
				   "k %u word %llx: contains is %d", k,
				   (unsigned long long) word, !in);
			added = kernel->add(block, word, k);
			expect(added == new_bits, "k %u word %llx: added %u, not %u", k,
				   (unsigned long long) word, added, new_bits);
			expect(memcmp(memory, before, ROOM) == 0,
				   "k %u word %llx: other bits set", k,
				   (unsigned long long) word);
			expect(kernel->contains(block, word, k),
				   "k %u word %llx: not in once added", k,
				   (unsigned long long) word);
		}
	}
	end_test();
}

/* To add a run of elements is to add them one by one. */
static void
test_run(const BlockKernel *kernel)
{
	if (!kernel->supported())
		return;
	begin_test("kernel %s adds several elements as one by one", kernel->name);
	for (size_t count = 1; count <= RUN_WORDS; count++)
	{
		unsigned	k = 1 + random_below(BLOCK_MAX_HASHES);
		uint64_t	words[RUN_WORDS];
		uint8_t		memory[ROOM];
		uint8_t		single[ROOM];
		unsigned	added = 0;

		for (int i = 0; i < ROOM; i += 8)
			put64(memory + i, random64());
		memcpy(single, memory, ROOM);
		for (size_t i = 0; i < count; i++)
		{
			words[i] = random64();
			added += kernel->add(single + MARGIN, words[i], k);
		}
		expect(kernel->add_run(memory + MARGIN, words, count, k) == added &&
			   memcmp(memory, single, ROOM) == 0,
			   "k %u: %u elements", k, (unsigned) count);
	}
	end_test();
}

/* docs/dev/format.md: odd multiplier, upper half of the product for the block */
static void
test_words(void)
{
	begin_test("words of an element are those of the format");
	for (int i = 0; i < 1000; i++)
	{
		uint64_t	hash = random64();

		expect(block_word(hash) == hash * UINT64_C(0x9E3779B97F4A7C15),
			   "word of %llx", (unsigned long long) hash);
		expect(remix64(hash) ==
			   (hash ^ (hash >> 32)) * UINT64_C(0xBF58476D1CE4E5B9),
			   "remixed %llx", (unsigned long long) hash);
	}
	end_test();
}

static void
test_choice(void)
{
	begin_test("the first kernel that this processor prefers is in use");
	for (int i = 0; i < block_kernel_count; i++)
	{
		expect(block_kernels[i].supported() || !block_kernels[i].preferred(),
			   "%s is preferred but not supported", block_kernels[i].name);
		if (!block_kernels[i].preferred())
			continue;
		expect(block_kernel == &block_kernels[i], "%s instead of %s",
			   block_kernel->name, block_kernels[i].name);
		break;
	}
	expect(block_kernels[block_kernel_count - 1].preferred(),
		   "the portable kernel is not for every processor");
	end_test();
}

/* A name chooses, but never what the processor lacks */
static void
test_choice_by_name(void)
{
	const BlockKernel *chosen = block_kernel;

	begin_test("a kernel is chosen by its name, if this processor can run it");
	for (int i = 0; i < block_kernel_count; i++)
	{
		const BlockKernel *before = block_kernel;
		bool		supported = block_kernels[i].supported();

		expect(block_kernel_choose(block_kernels[i].name) == supported,
			   "%s: %s", block_kernels[i].name,
			   supported ? "refused" : "chosen");
		expect(block_kernel == (supported ? &block_kernels[i] : before),
			   "%s instead of %s", block_kernel->name, block_kernels[i].name);
	}
	expect(!block_kernel_choose("") && !block_kernel_choose("avx1024"),
		   "a kernel that nobody knows was chosen");
	expect(block_kernel_choose(NULL) && block_kernel == chosen,
		   "%s instead of %s", block_kernel->name, chosen->name);
	end_test();
}

void
test_block512(void)
{
	for (int i = 0; i < block_kernel_count; i++)
	{
		test_kernel(&block_kernels[i]);
		test_run(&block_kernels[i]);
	}
	test_words();
	test_choice();
	test_choice_by_name();
}
