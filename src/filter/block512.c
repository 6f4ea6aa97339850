/*
 * block512.c
 *	  An element's bits in a block, which is one cache line; kernels to probe and set them.
 *
 * A blocked Bloom filter (Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient
 * Bloom Filters", 2007, section 3.1) keeps the bits of an element in one cache line.  Here
 * the line consists of eight lanes of 64 bits (a "sectorized" block: Lang, Neumann, Kemper
 * and Boncz, "Performance-Optimal Filtering", 2019, section 4).  One AVX-512 register, or two
 * AVX2 registers, process all lanes at once.
 *
 * An element sets k = 8 q + r bits: q in every lane, and one more in each lane of its window.
 * The window is r neighbouring lanes, where lane 0 follows lane 7.  All places come from a
 * 64-bit word (block_word()): its upper three bits are the window's first lane; the six bits
 * from bit 13 + 6 i on select the bit in lane i.  remix64() of the word selects the second bit
 * of each lane, and another remix64() the third.  The word is a product, so its lowest bits are
 * mixed worst: the lowest 13 are not used.  Two bits of one element in one lane may coincide;
 * bloom_sizing.c accounts for that.
 *
 * All kernels set the same bits; test/unit checks it.  Bit b of lane i is bit b % 8 of byte
 * 8 i + b / 8.
 */
#include "block512.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_X86_KERNELS
#include <immintrin.h>
#endif

/* The bit of a word at which the selector of lane 0 begins, and the bits of each selector */
#define LANE_SHIFT		13
#define LANE_SHIFT_STEP 6
/* The bit at which the window's first lane begins: three bits above the selector of lane 7 */
#define WINDOW_SHIFT	(LANE_SHIFT + LANE_SHIFT_STEP * BLOCK_LANES)

/* Masks of lanes have one bit for each lane. */
#define ALL_LANES		((1u << BLOCK_LANES) - 1)

const uint32_t parquet_salt[PARQUET_HASHES] = {
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
	0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31
};

/* No branch for each word: in a full block about half of the words would mispredict it. */
static bool
portable_parquet_contains(const uint8_t *block, uint64_t hash)
{
	uint32_t	missing = 0;

	for (int j = 0; j < PARQUET_HASHES; j++)
		missing |= parquet_bit(hash, j) & ~get32(block + sizeof(uint32_t) * j);
	return missing == 0;
}

static bool
always_supported(void)
{
	return true;
}

/* Return the bit that "word" selects in a lane, from 0 to 63. */
static inline unsigned
lane_place(uint64_t word, int lane)
{
	return (word >> (LANE_SHIFT + LANE_SHIFT_STEP * lane)) & (LANE_BITS - 1);
}

/* Return the r lanes of the word's window as a mask of lanes. */
static inline unsigned
window_lanes(uint64_t word, unsigned r)
{
	unsigned	lanes = ((1u << r) - 1) << (word >> WINDOW_SHIFT);

	return (lanes | lanes >> BLOCK_LANES) & ALL_LANES;
}

/* Return non-zero if "word" selects a clear bit in one of "lanes"; unrolled for speed. */
static inline uint64_t
lanes_miss(const uint8_t *block, uint64_t word, unsigned lanes)
{
	uint64_t	missing = 0;

#ifdef __GNUC__
#pragma GCC unroll 8
#endif
	for (int i = 0; i < BLOCK_LANES; i++)
		missing |= ((uint64_t) (lanes >> i & 1) << lane_place(word, i)) & ~get64(block + 8 * i);
	return missing;
}

/* Set the bit that "word" selects in a lane, and return the number of bits that changed. */
static inline unsigned
lane_set(uint8_t *block, uint64_t word, int lane)
{
	uint64_t	old = get64(block + 8 * lane);
	uint64_t	bit = UINT64_C(1) << lane_place(word, lane);

	put64(block + 8 * lane, old | bit);
	return (old & bit) == 0;
}

static bool
portable_contains(const uint8_t *block, uint64_t word, unsigned k)
{
	const unsigned window = window_lanes(word, k % BLOCK_LANES);
	uint64_t	missing = 0;

	for (; k >= BLOCK_LANES; k -= BLOCK_LANES)
	{
		missing |= lanes_miss(block, word, ALL_LANES);
		word = remix64(word);
	}
	if (k > 0)
		missing |= lanes_miss(block, word, window);
	return missing == 0;
}

static unsigned
portable_add(uint8_t *block, uint64_t word, unsigned k)
{
	unsigned	lane = word >> WINDOW_SHIFT;
	unsigned	added = 0;

	for (; k >= BLOCK_LANES; k -= BLOCK_LANES)
	{
		for (int i = 0; i < BLOCK_LANES; i++)
			added += lane_set(block, word, i);
		word = remix64(word);
	}
	for (; k > 0; k--)
		added += lane_set(block, word, lane++ % BLOCK_LANES);
	return added;
}

static unsigned
portable_add_run(uint8_t *block, const uint64_t *words, size_t count, unsigned k)
{
	unsigned	added = 0;

	for (size_t i = 0; i < count; i++)
		added += portable_add(block, words[i], k);
	return added;
}

#ifdef HAVE_X86_KERNELS

#define TARGET_AVX2		__attribute__((target("avx2,popcnt")))
#define TARGET_AVX512	__attribute__((target("avx512f,popcnt")))

/* Row r: r lanes, twice.  The 8 bytes from [r][8 - start] on are the window from "start" on. */
static const uint8_t window_ones[BLOCK_LANES][2 * BLOCK_LANES] = {
	{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
	{1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0},
	{1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0},
	{1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0},
	{1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0},
	{1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0},
	{1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0}
};

/* Shift the ones of four lanes (each 0 or 1) to the bits that "word" selects there. */
TARGET_AVX2
static inline __m256i
avx2_bits(__m256i ones, uint64_t word, __m256i shift)
{
	__m256i		places = _mm256_srlv_epi64(_mm256_set1_epi64x(word), shift);

	return _mm256_sllv_epi64(ones, _mm256_and_si256(places, _mm256_set1_epi64x(LANE_BITS - 1)));
}

/* Add the element's bits to a mask: lanes 0 to 3 in mask[0], 4 to 7 in mask[1]. */
TARGET_AVX2
static inline void
avx2_mask(uint64_t word, unsigned k, __m256i mask[2])
{
	const __m256i shift[2] = {
		_mm256_setr_epi64x(13, 19, 25, 31),
		_mm256_setr_epi64x(37, 43, 49, 55)
	};
	const __m256i ones = _mm256_set1_epi64x(1);
	__m128i		window = _mm_loadl_epi64((const __m128i *)
										 &window_ones[k % BLOCK_LANES]
										 [BLOCK_LANES - (word >> WINDOW_SHIFT)]);

	for (; k >= BLOCK_LANES; k -= BLOCK_LANES)
	{
		for (int half = 0; half < 2; half++)
			mask[half] = _mm256_or_si256(mask[half], avx2_bits(ones, word, shift[half]));
		word = remix64(word);
	}
	mask[0] = _mm256_or_si256(mask[0],
							  avx2_bits(_mm256_cvtepu8_epi64(window), word,
										shift[0]));
	mask[1] = _mm256_or_si256(mask[1],
							  avx2_bits(_mm256_cvtepu8_epi64(_mm_srli_si128(window, 4)),
										word, shift[1]));
}

TARGET_AVX2
static bool
avx2_contains(const uint8_t *block, uint64_t word, unsigned k)
{
	__m256i		mask[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};

	avx2_mask(word, k, mask);
	return _mm256_testc_si256(_mm256_loadu_si256((const __m256i *) block),
							  mask[0]) &
		_mm256_testc_si256(_mm256_loadu_si256((const __m256i *) (block + 32)),
						   mask[1]);
}

/*
 * Extract the lanes one by one.  To store the vector, gcc would use an aligned store, but its
 * address sanitizer may not align the stack (with detect_stack_use_after_return).
 */
TARGET_AVX2
static inline unsigned
avx2_popcount(__m256i lanes)
{
	return __builtin_popcountll(_mm256_extract_epi64(lanes, 0)) +
		__builtin_popcountll(_mm256_extract_epi64(lanes, 1)) +
		__builtin_popcountll(_mm256_extract_epi64(lanes, 2)) +
		__builtin_popcountll(_mm256_extract_epi64(lanes, 3));
}

TARGET_AVX2
static ALWAYS_INLINE unsigned
avx2_add_run(uint8_t *block, const uint64_t *words, size_t count, unsigned k)
{
	__m256i		mask[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
	unsigned	added = 0;

	for (size_t i = 0; i < count; i++)
		avx2_mask(words[i], k, mask);
	for (int half = 0; half < 2; half++)
	{
		__m256i    *at = (__m256i *) (block + 32 * half);
		__m256i		old = _mm256_loadu_si256(at);
		__m256i		fresh = _mm256_andnot_si256(old, mask[half]);

		_mm256_storeu_si256(at, _mm256_or_si256(old, fresh));
		added += avx2_popcount(fresh);
	}
	return added;
}

TARGET_AVX2
static unsigned
avx2_add(uint8_t *block, uint64_t word, unsigned k)
{
	return avx2_add_run(block, &word, 1, k);
}

TARGET_AVX2
static bool
avx2_parquet_contains(const uint8_t *block, uint64_t hash)
{
	__m256i		salt = _mm256_loadu_si256((const __m256i *) parquet_salt);
	__m256i		place =
		_mm256_srli_epi32(_mm256_mullo_epi32(_mm256_set1_epi32((int) hash), salt),
						  PARQUET_SHIFT);
	__m256i		mask = _mm256_sllv_epi32(_mm256_set1_epi32(1), place);

	return _mm256_testc_si256(_mm256_loadu_si256((const __m256i *) block), mask);
}

static bool
avx2_supported(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

TARGET_AVX512
static inline __m512i
avx512_mask(uint64_t word, unsigned k)
{
	const __m512i one = _mm512_set1_epi64(1);
	const __m512i shift = _mm512_setr_epi64(13, 19, 25, 31, 37, 43, 49, 55);
	const __mmask8 window = window_lanes(word, k % BLOCK_LANES);
	__m512i		mask = _mm512_setzero_si512();
	__m512i		counts;

	/* a rotation uses only the lower six bits of its count: the selector */
	for (; k >= BLOCK_LANES; k -= BLOCK_LANES)
	{
		counts = _mm512_srlv_epi64(_mm512_set1_epi64(word), shift);
		mask = _mm512_or_si512(mask, _mm512_rolv_epi64(one, counts));
		word = remix64(word);
	}
	counts = _mm512_srlv_epi64(_mm512_set1_epi64(word), shift);
	return _mm512_or_si512(mask, _mm512_maskz_rolv_epi64(window, one, counts));
}

TARGET_AVX512
static bool
avx512_contains(const uint8_t *block, uint64_t word, unsigned k)
{
	__m512i		missing = _mm512_andnot_si512(_mm512_loadu_si512(block),
											  avx512_mask(word, k));

	return _mm512_test_epi64_mask(missing, missing) == 0;
}

TARGET_AVX512
static ALWAYS_INLINE unsigned
avx512_add_run(uint8_t *block, const uint64_t *words, size_t count, unsigned k)
{
	__m512i		old = _mm512_loadu_si512(block);
	__m512i		mask = _mm512_setzero_si512();
	__m512i		fresh;

	for (size_t i = 0; i < count; i++)
		mask = _mm512_or_si512(mask, avx512_mask(words[i], k));
	fresh = _mm512_andnot_si512(old, mask);
	_mm512_storeu_si512(block, _mm512_or_si512(old, fresh));
	return avx2_popcount(_mm512_castsi512_si256(fresh)) +
		avx2_popcount(_mm512_extracti64x4_epi64(fresh, 1));
}

TARGET_AVX512
static unsigned
avx512_add(uint8_t *block, uint64_t word, unsigned k)
{
	return avx512_add_run(block, &word, 1, k);
}

static bool
avx512_supported(void)
{
	return __builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("popcnt");
}

/*
 * The first processors with AVX-512 lower their clock when they use it: on a Cascade Lake a
 * probe takes a sixth longer than with AVX2.  Processors that have AVX512_VPOPCNTDQ do not.
 */
static bool
avx512_preferred(void)
{
	return avx512_supported() && __builtin_cpu_supports("avx512vpopcntdq");
}

#endif							/* HAVE_X86_KERNELS */

const BlockKernel block_kernels[] = {
#ifdef HAVE_X86_KERNELS
	{"avx512", avx512_contains, avx512_add, avx512_add_run, avx2_parquet_contains,
	avx512_supported, avx512_preferred},
	{"avx2", avx2_contains, avx2_add, avx2_add_run, avx2_parquet_contains, avx2_supported,
	avx2_supported},
#endif
	{"portable", portable_contains, portable_add, portable_add_run, portable_parquet_contains,
	always_supported, always_supported},
};

const int	block_kernel_count = sizeof(block_kernels) / sizeof(block_kernels[0]);

const BlockKernel *block_kernel =
	&block_kernels[sizeof(block_kernels) / sizeof(block_kernels[0]) - 1];

/*
 * Use the kernel of this name or, if it is NULL, the fastest for this processor.  Return false
 * if the processor cannot run a kernel of that name.  Call it once, when the library is loaded.
 */
bool
block_kernel_choose(const char *name)
{
	for (int i = 0; i < block_kernel_count; i++)
	{
		const BlockKernel *kernel = &block_kernels[i];

		if (name ? strcmp(kernel->name, name) == 0 && kernel->supported() :
			kernel->preferred())
		{
			block_kernel = kernel;
			return true;
		}
	}
	return false;
}
