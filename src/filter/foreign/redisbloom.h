/*
 * redisbloom.h
 *	  What RedisBloom's Bloom and cuckoo filters have in common: elements, and bytes in
 *	  chunks; see redisbloom_chunks.c.
 */
#ifndef FILTER_FOREIGN_REDISBLOOM_H
#define FILTER_FOREIGN_REDISBLOOM_H

#include "common.h"

/* To Redis, all elements are strings. */
#define REDISBLOOM_ELEMENTS \
	.forms = FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA), \
	.integers = INTEGERS_DECIMAL

/* Bytes of a cuckoo filter's header, which is the first chunk */
#define CUCKOO_HEADER		38

/* One reply of BF.SCANDUMP or CF.SCANDUMP */
typedef struct RedisBloomChunk
{
	uint64_t	iterator;
	uint64_t	length;
	uint64_t	data;			/* where it is, in the source */
} RedisBloomChunk;

/* The chunk of the header, at *at = 0, which is advanced past it.  NULL or the fault. */
extern const char *redisbloom_first_chunk(const ForeignSource *source,
										  uint64_t *at, RedisBloomChunk *chunk);

/* Do the chunks from "at" on have this many bytes?  NULL or the fault. */
extern const char *redisbloom_check_bits(const ForeignSource *source,
										 uint64_t at, uint64_t bytes);

/* Copy the bits of these chunks, import->data on, which were checked. */
extern void redisbloom_import_bits(const ForeignSource *source,
								   const ForeignImport *import, uint8_t *image);

/* Write a chunk for each layer, or for each CHUNK_MAX bytes of it. */
extern void redisbloom_write_bits(Writer *writer, const uint8_t *image);

#endif							/* FILTER_FOREIGN_REDISBLOOM_H */
