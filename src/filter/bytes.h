/*
 * bytes.h
 *	  Read and write little-endian numbers at any address; arithmetic that all layouts share.
 *
 * A filter's bytes mean the same on every machine, so all code in this directory reads and
 * writes stored numbers by these functions: plain loads and stores on little-endian hosts.
 */
#ifndef FILTER_BYTES_H
#define FILTER_BYTES_H

/* mulhi64() needs 128-bit products; all 64-bit platforms of PostgreSQL support them. */
#ifndef __SIZEOF_INT128__
#error "bloomfilter needs a 64-bit machine, and a compiler with integers of 128 bits"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Overrule the compiler's choice of what to inline. */
#define ALWAYS_INLINE	inline __attribute__((always_inline))
#define NEVER_INLINE	__attribute__((noinline))

static inline uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define le32(value)		__builtin_bswap32(value)
#define le64(value)		__builtin_bswap64(value)
#else
#define le32(value)		((uint32_t) (value))
#define le64(value)		((uint64_t) (value))
#endif

static inline uint16_t
get16(const uint8_t *from)
{
	return (uint16_t) (from[0] | from[1] << 8);
}

static inline void
put16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t) value;
	to[1] = (uint8_t) (value >> 8);
}

static inline uint32_t
get32(const uint8_t *from)
{
	uint32_t	value;

	memcpy(&value, from, sizeof(value));
	return le32(value);
}

static inline uint64_t
get64(const uint8_t *from)
{
	uint64_t	value;

	memcpy(&value, from, sizeof(value));
	return le64(value);
}

static inline void
put32(uint8_t *to, uint32_t value)
{
	value = le32(value);
	memcpy(to, &value, sizeof(value));
}

static inline void
put64(uint8_t *to, uint64_t value)
{
	value = le64(value);
	memcpy(to, &value, sizeof(value));
}

/* Read a big-endian number, as Java writes it. */
static inline uint32_t
get32_big(const uint8_t *from)
{
	return __builtin_bswap32(get32(from));
}

/* Return the 64-bit number as which we store an IEEE 754 double: the same bits. */
static inline uint64_t
bits_of_double(double value)
{
	uint64_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double
double_of_bits(uint64_t bits)
{
	double		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline double
get_double(const uint8_t *from)
{
	return double_of_bits(get64(from));
}

static inline void
put_double(uint8_t *to, double value)
{
	put64(to, bits_of_double(value));
}

/*
 * Map a uniform hash to [0, range) without a division.  The result rises with the hash, so
 * sorted hashes visit a filter from its beginning to its end.
 */
static inline uint64_t
mulhi64(uint64_t hash, uint64_t range)
{
	return (uint64_t) (((unsigned __int128) hash * range) >> 64);
}

/*
 * Count the set bits (Warren, "Hacker's Delight", 5-1).  Compilers turn this into the popcnt
 * instruction if the target has it; if not, their builtin takes three times as long.
 */
static inline unsigned
popcount64(uint64_t word)
{
	word -= (word >> 1) & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) +
		((word >> 2) & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	return (unsigned) ((word * UINT64_C(0x0101010101010101)) >> 56);
}

static inline bool
bit_is_set(const uint8_t *bits, uint64_t place)
{
	return ((bits[place / 8] >> (place % 8)) & 1) != 0;
}

/* Set a bit; return 1 if it was clear before, 0 if it was set. */
static inline unsigned
set_bit(uint8_t *bits, uint64_t place)
{
	uint8_t		bit = 1 << (place % 8);
	unsigned	clear = (bits[place / 8] & bit) == 0;

	bits[place / 8] |= bit;
	return clear;
}

static inline bool
all_zero(const uint8_t *bytes, size_t count)
{
	while (count-- > 0)
		if (*bytes++ != 0)
			return false;
	return true;
}

static inline uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Return a stride that visits each of 0 .. count-1 once, modulo count, evenly in all regions. */
static inline uint64_t
even_stride(uint64_t count)
{
	/* multiples of the golden ratio, modulo 1, are the most even */
	uint64_t	stride = (uint64_t) (count * 0.6180339887498949) | 1;

	while (common_divisor(stride, count) != 1)
		stride++;
	return stride;
}

#endif							/* FILTER_BYTES_H */
