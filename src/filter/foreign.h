/*
 * foreign.h
 *	  Filters of other systems: the operations on them; see foreign.c, and
 *	  foreign_union.c.
 *
 * Elements are not our hashes, but a ForeignHash of bytes that the other system
 * defines.  So these filters have functions of their own for what takes an
 * element.
 */
#ifndef FILTER_FOREIGN_H
#define FILTER_FOREIGN_H

#include "block512.h"
#include "foreign_hash.h"
#include "foreign_type.h"
#include "plan.h"

/* Maximum number of bits that an element sets: what Guava writes in a byte */
#define FOREIGN_MAX_HASHES	255

/*
 * The hash of an element's bytes in a filter of this format and seed.  Spark's
 * integers and DataSketches' are eight bytes.
 */
extern ForeignHash foreign_hash(ForeignFormat format, uint64_t seed,
								const uint8_t *bytes, size_t length);

/* As the functions of filter.h whose names begin with filter_ */
extern bool foreign_contains(const uint8_t *image, const ForeignHash *hash);
extern void foreign_contains_batch(const uint8_t *image,
								   const ForeignHash *hashes, size_t count,
								   bool *found);
extern bool foreign_contains_sliced(const uint8_t *header,
									const ForeignHash *hash,
									FilterFetch fetch, void *from);
extern size_t foreign_add_batch(uint8_t *image, const ForeignHash *hashes,
								size_t count);

/*
 * Fields of a foreign layer.
 *
 * "multiple": RedisBloom: the number of elements that were added; Redis bits:
 * the length of the string, in bytes.  Others: 0.
 *
 * "bits_full" of RedisBloom: its bits per element, a double; the layer is full
 * at its capacity.
 *
 * "detail": what else the other system's bytes say.
 */
#define PARQUET_BARE			1	/* a bitset without a header */
#define DATASKETCHES_COUNTED	1	/* the number of set bits is told */
#define DATASKETCHES_LONG		2	/* words are written though no bit is set */
#define REDISBLOOM_LOG_BITS(detail)	((unsigned) ((detail) & 0xff))
#define REDISBLOOM_OPTIONS(detail)	((unsigned) ((detail) >> 8 & 0xff))
#define REDISBLOOM_GROWTH(detail)	((uint32_t) ((detail) >> 16))
#define REDISBLOOM_DETAIL(log_bits, options, growth) \
	((uint64_t) (log_bits) | (uint64_t) (options) << 8 | (uint64_t) (growth) << 16)

/* RedisBloom's number of hashes for its bits per element */
extern double redisbloom_hashes(double bits_per_element);

/* Options of RedisBloom */
#define REDISBLOOM_NOROUND		1	/* sizes need not be powers of two */
#define REDISBLOOM_ENTS_IS_BITS	2
#define REDISBLOOM_FORCE64		4	/* hashes of 64 bits, always */
#define REDISBLOOM_NO_SCALING	8

/*
 * Set the layer's bits_full for its capacity, or both for a layer of which only
 * size and hashes are known: then the capacity is the largest for which the
 * other system would have chosen that number of hashes.
 */
extern void foreign_set_full(ForeignMapping mapping, FilterLayer *layer);
extern void foreign_set_capacity(ForeignMapping mapping, FilterLayer *layer);

/* Other operations, for the table in layouts.h */
extern uint64_t foreign_layer_bits(const FilterLayer *layer);
extern bool foreign_contains_ours(const uint8_t *image, uint64_t hash);
extern void foreign_contains_ours_batch(const uint8_t *image,
										const uint64_t *hashes, size_t count,
										bool *found);
extern bool foreign_contains_ours_sliced(const uint8_t *header, uint64_t hash,
										 FilterFetch fetch, void *from);
extern unsigned foreign_slices(const uint8_t *header);
extern double foreign_cardinality(const uint8_t *image);
extern double foreign_error_rate(const uint8_t *image);
extern double foreign_layer_cardinality(const FilterLayer *layer);
extern bool foreign_may_fill(const uint8_t *image, uint64_t count);
extern void foreign_clear_layer(const uint8_t *image, FilterLayer *layer);
extern bool foreign_compatible(const uint8_t *a, const uint8_t *b);
extern FilterStatus foreign_plan_union(const uint8_t *a, const uint8_t *b,
									   FilterPlan *plan);
extern bool foreign_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						  const FilterPlan *plan);
extern void foreign_intersect_in_place(uint8_t *a, const uint8_t *b);
extern const char *foreign_check_image(const uint8_t *image);
extern const char *foreign_check_layer(const uint8_t *image, int i,
									   const FilterLayer *layer);
extern const char *foreign_check_bits(const uint8_t *image, int i,
									  const FilterLayer *layer);

#endif							/* FILTER_FOREIGN_H */
