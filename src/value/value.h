/*
 * value.h
 *	  Filters as Datums of the types bloom and cuckoo: reading and changing them; see
 *	  value.c.
 */
#ifndef BLOOMFILTER_VALUE_H
#define BLOOMFILTER_VALUE_H

#include "postgres.h"

#include "filter/foreign/foreign.h"
#include "fmgr.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#endif
#include "report.h"
#include "utils/expandeddatum.h"

/*
 * Begins the definition of an SQL entry point.  PostgreSQL 15 exports every symbol by
 * default, and so does not mark entry points; we hide all other symbols (see Makefile).
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS)

/* Defines an SQL entry point whose body returns one expression. */
#define SQL_RESULT(name, result) \
	SQL_FUNCTION(name) \
	{ \
		return result; \
	}

/* Defines the entry points for bloom and cuckoo; they differ in the kind of filter. */
#define SQL_FUNCTIONS(name, function, ...) \
	SQL_FUNCTION(bloomfilter_bloom_##name) \
	{ \
		return function(fcinfo, FILTER_BLOOM, ##__VA_ARGS__); \
	} \
	SQL_FUNCTION(bloomfilter_cuckoo_##name) \
	{ \
		return function(fcinfo, FILTER_CUCKOO, ##__VA_ARGS__); \
	}

/* An error of a type's input function; from 16 on it can be a soft error */
#if PG_VERSION_NUM >= 160000
#define INPUT_ERROR(fcinfo, ...) \
	ereturn((fcinfo)->context, (Datum) 0, __VA_ARGS__)
#else
#define INPUT_ERROR(fcinfo, ...) ereport(ERROR, __VA_ARGS__)
#endif

/*
 * Values of at least this size are changed as expanded objects.  Each has a memory context,
 * which is too much for small values: hash aggregation may have a value for each of many
 * groups.
 */
#define EXPANDED_FROM_BYTES		8192

/*
 * Most distinct hashes of an explicit transition value: 128 MB, or 256 MB with duplicates
 */
#define EXPLICIT_STATE_MAX		(UINT64CONST(1) << 24)

/* Hashes to process at once, between two checks for interrupts */
#define BATCH					1024

typedef struct ExpandedFilter ExpandedFilter;

/*
 * A filter that is being changed: flat, with room behind it, or an expanded object.
 *
 * After an error, an object that was opened in place is unchanged.  But after a cancel, or
 * if memory ran out, some of the elements may have been added, removed or moved.
 */
typedef struct FilterWriter
{
	uint8	   *image;
	uint64		room;			/* bytes available for the image */
	void	   *memory;			/* free this with the image, or NULL */
	MemoryContext mcxt;			/* for an expanded object; NULL: stay flat */
	ExpandedFilter *expanded;	/* NULL while the value is flat */
	bool		detached;		/* "expanded" still has another image */
} FilterWriter;

/* Reading */
extern const uint8 *value_image(Datum value);
extern const uint8 *value_header(Datum value);
extern const uint8 *state_header(Datum state);
extern struct varlena *value_copy_flat(Datum value);

extern uint8 *allocate_image(MemoryContext mcxt, uint64 bytes, bool zero, void **memory);

/* Changing */
extern void writer_open_copy(FilterWriter *writer, Datum value);
extern void writer_open_state(FilterWriter *writer, Datum value, MemoryContext mcxt);
extern void writer_open_copied_image(FilterWriter *writer, const uint8 *image,
									 MemoryContext mcxt);
extern void writer_open_new_state(FilterWriter *writer, const FilterParams *params,
								  uint64 room, MemoryContext mcxt);
extern Datum writer_close(FilterWriter *writer);
extern Datum writer_close_state(FilterWriter *writer);

extern bool state_push(Datum state, uint64 hash);
extern void writer_append(FilterWriter *writer, const uint8 *hashes, uint64 count);

/* Changing, for combine.c */
extern void writer_fresh(FilterWriter *writer, uint64 bytes, bool zero,
						 FilterWriter *fresh);
extern void writer_take(FilterWriter *writer, const FilterWriter *fresh);
extern void writer_replace(FilterWriter *writer, const uint8 *image);
extern void add_to_layers(FilterWriter *writer, const uint64 *hashes,
						  uint64 count, uint64 more, bool unique);
extern void merge_set(FilterWriter *writer, const uint8 *other, bool is_state);

/* New values, flat */
extern struct varlena *value_make(const FilterParams *params);
extern struct varlena *value_make_planned(const FilterParams *params,
										  const FilterPlan *plan);
extern struct varlena *value_make_bare(FilterLayout layout, const FilterParams *params);
extern struct varlena *value_make_empty(FilterKind kind);

/* Adding to filters of any form, union and intersection: combine.c */

/* With more hashes than this after bloom_add(), an explicit filter gets layers. */
#define EXPLICIT_ADD_MAX		1024

extern void writer_add_hashes(FilterWriter *writer, ElementClass class,
							  const uint64 *hashes, uint64 count, bool unique);
extern void writer_add_sorted(FilterWriter *writer, const uint8 *other);
extern void writer_make_sized(FilterWriter *writer, uint64 capacity);
extern void writer_add_foreign(FilterWriter *writer,
							   const ForeignHash *hashes, uint64 count);
extern void writer_unite(FilterWriter *writer, const uint8 *other);
extern void writer_intersect(FilterWriter *writer, const uint8 *other);
extern struct varlena *value_make_from_set(const uint8 *set, uint64 capacity);

#endif							/* BLOOMFILTER_VALUE_H */
