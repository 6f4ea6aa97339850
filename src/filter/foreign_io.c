/*
 * foreign_io.c
 *	  The bytes of other systems' filters: import, export, and their sizes.
 *
 *	guava		byte strategy, byte hashes, int32 words, words; big-endian
 *	parquet		a header in Thrift's compact protocol, then blocks of 32 bytes;
 *				or these alone
 *	spark		int32 version, int32 hashes, version 2: int32 seed, int32 words,
 *				words; big-endian
 *	datasketches a preamble of 32 bytes, then words; 24 bytes if there is no
 *				element; little-endian
 *	redisbloom	the replies of BF.SCANDUMP, each as uint64 iterator, uint32
 *				length, and the data; little-endian
 *	redis-bits	strings of bits, the first is the highest of byte 0; those of
 *				several keys one after the other
 *
 * We read strictly: what these systems overlook (bytes after the end, a chunk
 * that is cut short, no hashes at all) would become wrong answers here.
 *
 * Sources: those of foreign.c; Parquet's header is in parquet.thrift, its
 * encoding in Thrift's thrift-compact-protocol.md.
 */
#include "foreign_io.h"

#include <math.h>

/* Fields of formats that are words behind a header of integers */
#define WORD_BYTES			8
#define WORD_BITS			64

#define GUAVA_HEADER		6
#define GUAVA_MITZ32		0	/* the strategies' numbers */
#define GUAVA_MITZ64		1

#define SPARK_HEADER		12
#define SPARK2_HEADER		16

#define SKETCH_EMPTY_BYTES	24
#define SKETCH_HEADER		32
#define SKETCH_EMPTY_LONGS	3	/* the preamble's length in words */
#define SKETCH_LONGS		4
#define SKETCH_VERSION		1
#define SKETCH_FAMILY		21
#define SKETCH_FLAG_EMPTY	4
#define SKETCH_SEED			9001	/* for ours: the library takes any */

#define CHUNK_HEADER		12
#define CHUNK_MAX			((uint64_t) 16 << 20)	/* BF.SCANDUMP's */
#define BLOOM_HEADER		20
#define BLOOM_LINK			53

/* Offsets in RedisBloom's header, and in each of its links */
#define BLOOM_OFF_SIZE		0
#define BLOOM_OFF_LINKS		8
#define BLOOM_OFF_OPTIONS	12
#define BLOOM_OFF_GROWTH	16
#define LINK_OFF_BYTES		0
#define LINK_OFF_BITS		8
#define LINK_OFF_SIZE		16
#define LINK_OFF_ERROR		24
#define LINK_OFF_BPE		32
#define LINK_OFF_HASHES		40
#define LINK_OFF_ENTRIES	44
#define LINK_OFF_N2			52

/* How bits lie in the other system's bytes */
typedef enum BitOrder
{
	BITS_AS_OURS,
	BITS_IN_BIG_WORDS,			/* of 64 bits, big-endian */
	BITS_FROM_HIGHEST			/* of each byte */
} BitOrder;

static BitOrder
bit_order(ForeignFormat format)
{
	switch (format)
	{
		case FOREIGN_GUAVA:
		case FOREIGN_GUAVA32:
		case FOREIGN_SPARK:
		case FOREIGN_SPARK2:
		case FOREIGN_SPARK_SQL:
		case FOREIGN_SPARK_SQL2:
			return BITS_IN_BIG_WORDS;
		case FOREIGN_REDIS_GUAVA32:
		case FOREIGN_REDIS_GUAVA64:
			return BITS_FROM_HIGHEST;
		case FOREIGN_PARQUET:
		case FOREIGN_DATASKETCHES:
		case FOREIGN_REDISBLOOM:
			break;
	}
	return BITS_AS_OURS;
}

static inline uint8_t
reverse_bits(uint8_t byte)
{
	byte = (uint8_t) ((byte & 0x0f) << 4 | byte >> 4);
	byte = (uint8_t) ((byte & 0x33) << 2 | (byte >> 2 & 0x33));
	return (uint8_t) ((byte & 0x55) << 1 | (byte >> 1 & 0x55));
}

/* Copy bits from one order to the other; each order is its own opposite. */
static void
copy_bits(uint8_t *to, const uint8_t *from, uint64_t bytes, BitOrder order)
{
	for (uint64_t done = 0; done < bytes;)
	{
		uint64_t	stop = bytes - done > INTERRUPT_BYTES ? done + INTERRUPT_BYTES : bytes;

		filter_check_interrupts();
		switch (order)
		{
			case BITS_AS_OURS:
				memcpy(to + done, from + done, stop - done);
				break;
			case BITS_IN_BIG_WORDS:
				for (uint64_t at = done; at < stop; at += WORD_BYTES)
					for (int i = 0; i < WORD_BYTES; i++)
						to[at + i] = from[at + WORD_BYTES - 1 - i];
				break;
			case BITS_FROM_HIGHEST:
				for (uint64_t at = done; at < stop; at++)
					to[at] = reverse_bits(from[at]);
				break;
		}
		done = stop;
	}
}

bool
foreign_needs_shape(ForeignFormat format)
{
	return format == FOREIGN_REDIS_GUAVA32 || format == FOREIGN_REDIS_GUAVA64;
}

/* The layer of a filter that has one, of "bits" bits */
static FilterLayer *
one_layer(ForeignImport *import, uint64_t bits, unsigned hashes)
{
	FilterLayer *layer = &import->plan.layer[0];

	import->plan.layers = 1;
	memset(layer, 0, sizeof(*layer));
	layer->layout = LAYOUT_FOREIGN;
	layer->size = bits;
	layer->hashes = hashes;
	return layer;
}

/* ------------------------------------------------------------------------
 * Reading headers
 * ------------------------------------------------------------------------ */

/*
 * A number of words, and "left" bytes that must be these.  A filter of no bits
 * could not be probed.
 */
static const char *
check_words(uint64_t words, uint64_t left)
{
	if (words == 0 || words > IMAGE_MAX_BITS / WORD_BITS)
		return "number of words out of range";
	if (left < words * WORD_BYTES)
		return "shorter than its number of words";
	if (left > words * WORD_BYTES)
		return "bytes after the last word";
	return NULL;
}

static const char *
check_hashes(uint64_t hashes)
{
	return hashes < 1 || hashes > FOREIGN_MAX_HASHES ?
		"number of hashes out of range" : NULL;
}

static const char *
parse_guava(const ForeignSource *source, ForeignImport *import)
{
	uint64_t	words;
	const char *fault;

	if (source->length < GUAVA_HEADER)
		return "shorter than a header";
	if (source->bytes[0] != GUAVA_MITZ32 && source->bytes[0] != GUAVA_MITZ64)
		return "unknown strategy";
	import->format = source->bytes[0] == GUAVA_MITZ32 ? FOREIGN_GUAVA32 :
		FOREIGN_GUAVA;
	words = get32_big(source->bytes + 2);
	fault = check_words(words, source->length - GUAVA_HEADER);
	if (!fault)
		fault = check_hashes(source->bytes[1]);
	if (fault)
		return fault;
	import->data = GUAVA_HEADER;
	one_layer(import, words * WORD_BITS, source->bytes[1]);
	return NULL;
}

static const char *
parse_spark(const ForeignSource *source, ForeignImport *import)
{
	bool		sql = source->format == FOREIGN_SPARK_SQL ||
		source->format == FOREIGN_SPARK_SQL2;
	bool		second;
	uint64_t	hashes;
	uint64_t	words;
	const char *fault;

	if (source->length < SPARK_HEADER)
		return "shorter than a header";
	switch (get32_big(source->bytes))
	{
		case 1:
			second = false;
			break;
		case 2:
			second = true;
			break;
		default:
			return "unknown version";
	}
	import->format = second ? (sql ? FOREIGN_SPARK_SQL2 : FOREIGN_SPARK2) :
		(sql ? FOREIGN_SPARK_SQL : FOREIGN_SPARK);
	import->data = second ? SPARK2_HEADER : SPARK_HEADER;
	if (source->length < import->data)
		return "shorter than a header";
	hashes = get32_big(source->bytes + 4);
	words = get32_big(source->bytes + import->data - 4);
	if (second)
		import->seed = (uint64_t) (int64_t) (int32_t) get32_big(source->bytes + 8);
	fault = check_words(words, source->length - import->data);
	if (!fault)
		fault = check_hashes(hashes);
	if (fault)
		return fault;
	one_layer(import, words * WORD_BITS, (unsigned) hashes);
	return NULL;
}

/*
 * Parquet's header without the number of bytes, which comes after the first of
 * these: field 1 of the struct, an i32; then fields 2 to 4, unions of which the
 * first member, an empty struct, is set: BLOCK, XXHASH, UNCOMPRESSED
 */
static const uint8_t parquet_first = 0x15;
static const uint8_t parquet_rest[] = {
	0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00
};

#define PARQUET_REST		(sizeof(parquet_rest))

/* Bytes of a number of 32 bits, 7 in each */
#define VARINT_MAX			5
/* Of the bytes after it, so many as in a header do not come by chance. */
#define PARQUET_LIKELY		8

/*
 * Read the length at the beginning of a header, in ZigZag: *value, and the number
 * of bytes read, or 0 if it does not end
 */
static unsigned
get_varint(const uint8_t *bytes, uint64_t length, uint64_t *value)
{
	*value = 0;
	for (unsigned i = 0; i < VARINT_MAX && i < length; i++)
	{
		*value |= (uint64_t) (bytes[i] & 0x7f) << (7 * i);
		if ((bytes[i] & 0x80) == 0)
			return i + 1;
	}
	return 0;
}

/*
 * Do the bytes begin like a header, perhaps a damaged one?  A header has 15 to 19
 * bytes, so that with whole blocks behind it the length is no multiple of 32.  If
 * it is one, a header is there only if something is missing; a bitset that has all
 * of these bytes is as rare as a wrong checksum that is right.
 */
static bool
has_parquet_header(const uint8_t *bytes, uint64_t length)
{
	unsigned	enough = length % PARQUET_BLOCK_BYTES == 0 ? PARQUET_REST :
		PARQUET_LIKELY;

	for (uint64_t at = 2; at <= 1 + VARINT_MAX; at++)
	{
		unsigned	alike = 0;

		for (uint64_t i = 0; i < PARQUET_REST && at + i < length; i++)
			alike += bytes[at + i] == parquet_rest[i];
		if (alike >= enough)
			return true;
	}
	return false;
}

static const char *
parse_parquet(const ForeignSource *source, ForeignImport *import)
{
	uint64_t	left = source->length;
	FilterLayer *layer;
	bool		bare = !has_parquet_header(source->bytes, source->length);

	if (left == 0)
		return "shorter than a block";
	import->format = FOREIGN_PARQUET;
	if (!bare)
	{
		uint64_t	number;
		unsigned	digits;

		if (source->bytes[0] != parquet_first)
			return "unknown field in the header";
		digits = get_varint(source->bytes + 1, left - 1, &number);
		if (digits == 0)
			return "number of bytes (numBytes) out of range";
		import->data = 1 + digits + PARQUET_REST;
		if (left < import->data)
			return "shorter than a header";
		if (memcmp(source->bytes + 1 + digits, parquet_rest, PARQUET_REST) != 0)
			return "unknown algorithm, hash or compression in the header";
		left -= import->data;
		/* ZigZag: the lowest bit is the sign; and no digit more than needed */
		if (number % 2 != 0 || number / 2 > IMAGE_MAX_BITS / 8 ||
			number / 2 % PARQUET_BLOCK_BYTES != 0 || number == 0 ||
			source->bytes[digits] == 0)
			return "number of bytes (numBytes) out of range";
		if (left < number / 2)
			return "shorter than its number of bytes (numBytes)";
		if (left > number / 2)
			return "bytes after the last block";
	}
	else if (left % PARQUET_BLOCK_BYTES != 0)
		return "neither a header nor whole blocks of 32 bytes";
	if (left > IMAGE_MAX_BITS / 8)
		return "number of bytes out of range";
	layer = one_layer(import, 8 * left, PARQUET_HASHES);
	layer->detail = bare ? PARQUET_BARE : 0;
	return NULL;
}

static const char *
parse_datasketches(const ForeignSource *source, ForeignImport *import)
{
	const uint8_t *bytes = source->bytes;
	FilterLayer *layer;
	uint64_t	words;
	uint64_t	counted;
	const char *fault;
	bool		empty;

	if (source->length < SKETCH_EMPTY_BYTES)
		return "shorter than a header";
	if (bytes[1] != SKETCH_VERSION)
		return "unknown version";
	if (bytes[2] != SKETCH_FAMILY)
		return "family of another sketch";
	if ((bytes[3] & ~SKETCH_FLAG_EMPTY) != 0)
		return "unknown flags";
	empty = bytes[3] == SKETCH_FLAG_EMPTY;
	if (bytes[0] != (empty ? SKETCH_EMPTY_LONGS : SKETCH_LONGS))
		return "length of the preamble out of range";
	if (!all_zero(bytes + 6, 2) || !all_zero(bytes + 20, 4))
		return "reserved bytes are not zero";
	fault = check_hashes(get16(bytes + 4));
	if (fault)
		return fault;
	words = get32(bytes + 16);
	import->format = FOREIGN_DATASKETCHES;
	import->seed = get64(bytes + 8);
	if (empty)
	{
		import->data = SKETCH_EMPTY_BYTES;
		if (words == 0 || words > IMAGE_MAX_BITS / WORD_BITS)
			return "number of words out of range";
		if (source->length > SKETCH_EMPTY_BYTES)
			return "bytes after the last word";
		one_layer(import, words * WORD_BITS, get16(bytes + 4));
		return NULL;
	}
	if (source->length < SKETCH_HEADER)
		return "shorter than a header";
	import->data = SKETCH_HEADER;
	fault = check_words(words, source->length - SKETCH_HEADER);
	if (fault)
		return fault;
	layer = one_layer(import, words * WORD_BITS, get16(bytes + 4));
	layer->detail = DATASKETCHES_LONG;
	counted = get64(bytes + 24);
	/* -1 once an element was added */
	if (counted != UINT64_MAX)
	{
		layer->detail |= DATASKETCHES_COUNTED;
		if (counted != count_bits(bytes + SKETCH_HEADER, words * WORD_BYTES))
			return "number of set bits is wrong";
	}
	return NULL;
}

/* The layer that a link of RedisBloom's header describes */
static const char *
parse_link(const uint8_t *link, uint64_t options, uint32_t growth,
		   FilterLayer *layer)
{
	uint32_t	hashes = get32(link + LINK_OFF_HASHES);

	memset(layer, 0, sizeof(*layer));
	layer->layout = LAYOUT_FOREIGN;
	if (hashes < 1 || hashes > FOREIGN_MAX_HASHES)
		return "number of hashes out of range";
	layer->hashes = hashes;
	layer->size = get64(link + LINK_OFF_BITS);
	if (layer->size < WORD_BITS || layer->size > IMAGE_MAX_BITS)
		return "number of bits out of range";
	if (get64(link + LINK_OFF_BYTES) != layer->size / 8)
		return "number of bytes is not that of its bits";
	layer->capacity = get64(link + LINK_OFF_ENTRIES);
	layer->error_rate = get_double(link + LINK_OFF_ERROR);
	layer->bits_full = get64(link + LINK_OFF_BPE);
	layer->multiple = get64(link + LINK_OFF_SIZE);
	layer->detail = REDISBLOOM_DETAIL(link[LINK_OFF_N2], options, growth);
	return NULL;
}

/* One reply of BF.SCANDUMP */
typedef struct Chunk
{
	uint64_t	iterator;
	uint64_t	length;
	uint64_t	data;			/* where it is, in the source */
} Chunk;

/* The chunk that begins at *at, which is advanced past it */
static const char *
next_chunk(const ForeignSource *source, uint64_t *at, Chunk *chunk)
{
	if (source->length - *at < CHUNK_HEADER)
		return "chunk is cut short";
	chunk->iterator = get64(source->bytes + *at);
	chunk->length = get32(source->bytes + *at + 8);
	chunk->data = *at + CHUNK_HEADER;
	if (source->length - chunk->data < chunk->length)
		return "chunk is cut short";
	*at = chunk->data + chunk->length;
	return NULL;
}

static const char *
parse_redisbloom(const ForeignSource *source, ForeignImport *import)
{
	const uint8_t *header;
	Chunk		chunk;
	uint64_t	at = 0;
	uint64_t	links;
	uint64_t	elements = 0;
	uint64_t	bytes = 0;
	uint64_t	read = 0;
	const char *fault = next_chunk(source, &at, &chunk);

	if (fault)
		return fault;
	import->format = FOREIGN_REDISBLOOM;
	import->data = at;
	header = source->bytes + chunk.data;
	if (chunk.iterator != 1)
		return "iterator of the first chunk is not 1";
	if (chunk.length < BLOOM_HEADER)
		return "header is cut short";
	links = get32(header + BLOOM_OFF_LINKS);
	if (links < 1 || links > IMAGE_MAX_LAYERS)
		return "number of layers (nfilters) out of range";
	if (chunk.length != BLOOM_HEADER + links * BLOOM_LINK)
		return "length of the header is not that of its layers";
	if (get32(header + BLOOM_OFF_OPTIONS) > UINT8_MAX)
		return "unknown options";
	import->plan.layers = (int) links;
	for (int i = 0; i < import->plan.layers; i++)
	{
		FilterLayer *layer = &import->plan.layer[i];

		fault = parse_link(header + BLOOM_HEADER + i * BLOOM_LINK,
						   get32(header + BLOOM_OFF_OPTIONS),
						   get32(header + BLOOM_OFF_GROWTH), layer);
		if (fault)
			return fault;
		elements += layer->multiple;
		bytes += layer->size / 8;
	}
	if (elements != get64(header + BLOOM_OFF_SIZE))
		return "number of elements is not the sum of its layers";

	/* the bits: each iterator tells where the next chunk begins */
	while (at < source->length)
	{
		fault = next_chunk(source, &at, &chunk);
		if (fault)
			return fault;
		read += chunk.length;
		if (chunk.length == 0 || chunk.iterator != 1 + read)
			return "iterator of a chunk is not where it ends";
	}
	if (read < bytes)
		return "chunks are missing";
	if (read > bytes)
		return "bytes after the last layer";
	return NULL;
}

/*
 * One string of bits, perhaps a short one, as Redis does not store zeros at the
 * end; or several, each of the full length, with zeros added where it was short.
 */
static const char *
parse_redis_bits(const ForeignSource *source, ForeignImport *import)
{
	uint64_t	bytes = (source->bits + 7) / 8;
	FilterLayer *first = one_layer(import, source->bits, source->hashes);
	uint64_t	layers = 1;

	if (source->length > bytes)
	{
		if (source->length % bytes != 0)
			return "longer than its number of bits";
		layers = source->length / bytes;
		if (layers > IMAGE_MAX_LAYERS)
			return "number of strings out of range";
	}
	first->multiple = source->length < bytes ? source->length : bytes;
	import->plan.layers = (int) layers;
	for (uint64_t i = 1; i < layers; i++)
		import->plan.layer[i] = *first;
	return NULL;
}

const char *
foreign_parse(const ForeignSource *source, ForeignImport *import)
{
	const char *fault = NULL;

	memset(import, 0, sizeof(*import));
	import->format = source->format;
	switch (source->format)
	{
		case FOREIGN_GUAVA:
		case FOREIGN_GUAVA32:
			fault = parse_guava(source, import);
			break;
		case FOREIGN_SPARK:
		case FOREIGN_SPARK2:
		case FOREIGN_SPARK_SQL:
		case FOREIGN_SPARK_SQL2:
			fault = parse_spark(source, import);
			break;
		case FOREIGN_PARQUET:
			fault = parse_parquet(source, import);
			break;
		case FOREIGN_DATASKETCHES:
			fault = parse_datasketches(source, import);
			break;
		case FOREIGN_REDISBLOOM:
			fault = parse_redisbloom(source, import);
			break;
		case FOREIGN_REDIS_GUAVA32:
		case FOREIGN_REDIS_GUAVA64:
			fault = parse_redis_bits(source, import);
			break;
	}
	if (fault)
		return fault;
	if (!source->any_version && import->format != source->format)
		return "another version of the format";
	for (int i = 0; import->format != FOREIGN_REDISBLOOM && i < import->plan.layers; i++)
		foreign_set_capacity(foreign_formats[import->format].mapping,
							 &import->plan.layer[i]);
	return filter_plan_layers(&import->plan) == FILTER_OK ? NULL :
		"larger than a filter can be";
}

/* ------------------------------------------------------------------------
 * Reading and writing bits
 * ------------------------------------------------------------------------ */

/*
 * Bytes of layer i in the other system's bytes: of those of an image, which has
 * perhaps not all of a string
 */
static uint64_t
stored_bytes(ForeignFormat format, const FilterLayer *layer, bool last)
{
	return last && foreign_needs_shape(format) ? layer->multiple :
		(layer->size + 7) / 8;
}

/* Copy the bits of all chunks but the first, which lie behind each other here. */
static void
import_chunks(const ForeignSource *source, const ForeignImport *import,
			  uint8_t *image)
{
	uint64_t	at = import->data;
	Chunk		chunk = {0};
	uint64_t	used = 0;		/* of the chunk */

	for (int i = 0; i < import->plan.layers; i++)
	{
		uint64_t	bytes = import->plan.layer[i].size / 8;
		uint8_t    *to = image_layer_bits(image, i);

		while (bytes > 0)
		{
			uint64_t	some;

			if (used == chunk.length)
			{
				/* was read without a fault before */
				(void) next_chunk(source, &at, &chunk);
				used = 0;
			}
			some = chunk.length - used < bytes ? chunk.length - used : bytes;
			copy_bits(to, source->bytes + chunk.data + used, some, BITS_AS_OURS);
			to += some;
			used += some;
			bytes -= some;
		}
	}
}

void
foreign_import(const ForeignSource *source, const ForeignImport *import,
			   const FilterParams *params, uint8_t *image)
{
	const FilterPlan *plan = &import->plan;
	const uint8_t *from = source->bytes + import->data;

	filter_init(image, params, plan);
	if (import->format == FOREIGN_REDISBLOOM)
		import_chunks(source, import, image);
	else
	{
		for (int i = 0; i < plan->layers; i++)
		{
			uint64_t	bytes = stored_bytes(import->format, &plan->layer[i],
											 i == plan->layers - 1);

			/* of an empty sketch, there are none */
			if (bytes > (uint64_t) (source->bytes + source->length - from))
				break;
			copy_bits(image_layer_bits(image, i), from, bytes,
					  bit_order(import->format));
			from += bytes;
		}
	}
	for (int i = 0; i < plan->layers; i++)
		image_put_bits_set(image, i, count_bits(image_layer_bits(image, i),
												(plan->layer[i].size + 7) / 8));
}

/* Where the other system's bytes are written, or NULL if they are but counted */
typedef struct Writer
{
	uint8_t    *at;
	uint64_t	length;
} Writer;

static void
write_bytes(Writer *writer, const uint8_t *bytes, uint64_t count,
			BitOrder order)
{
	if (writer->at)
		copy_bits(writer->at + writer->length, bytes, count, order);
	writer->length += count;
}

static void
write_byte(Writer *writer, unsigned value)
{
	uint8_t		byte = (uint8_t) value;

	write_bytes(writer, &byte, 1, BITS_AS_OURS);
}

static void
write32_big(Writer *writer, uint32_t value)
{
	uint8_t		bytes[sizeof(value)];

	put32_big(bytes, value);
	write_bytes(writer, bytes, sizeof(bytes), BITS_AS_OURS);
}

static void
write32(Writer *writer, uint32_t value)
{
	uint8_t		bytes[sizeof(value)];

	put32(bytes, value);
	write_bytes(writer, bytes, sizeof(bytes), BITS_AS_OURS);
}

static void
write64(Writer *writer, uint64_t value)
{
	uint8_t		bytes[sizeof(value)];

	put64(bytes, value);
	write_bytes(writer, bytes, sizeof(bytes), BITS_AS_OURS);
}

static void
write_guava(Writer *writer, ForeignFormat format, const FilterLayer *layer)
{
	write_byte(writer, format == FOREIGN_GUAVA32 ? GUAVA_MITZ32 : GUAVA_MITZ64);
	write_byte(writer, layer->hashes);
	write32_big(writer, (uint32_t) (layer->size / WORD_BITS));
}

static void
write_spark(Writer *writer, ForeignFormat format, const FilterLayer *layer,
			uint64_t seed)
{
	bool		second = foreign_formats[format].mapping == MAPPING_SPARK2;

	write32_big(writer, second ? 2 : 1);
	write32_big(writer, layer->hashes);
	if (second)
		write32_big(writer, (uint32_t) seed);
	write32_big(writer, (uint32_t) (layer->size / WORD_BITS));
}

static void
write_parquet(Writer *writer, const FilterLayer *layer)
{
	/* ZigZag of a positive number is twice that number */
	uint64_t	number = 2 * (layer->size / 8);

	if (layer->detail == PARQUET_BARE)
		return;
	write_byte(writer, parquet_first);
	for (; number > 0x7f; number >>= 7)
		write_byte(writer, 0x80 | (number & 0x7f));
	write_byte(writer, (unsigned) number);
	write_bytes(writer, parquet_rest, PARQUET_REST, BITS_AS_OURS);
}

/* Does it say that there is no element, instead of words? */
static bool
datasketches_empty(const FilterLayer *layer)
{
	return layer->bits_set == 0 && (layer->detail & DATASKETCHES_LONG) == 0;
}

static void
write_datasketches(Writer *writer, const FilterLayer *layer, uint64_t seed)
{
	bool		empty = datasketches_empty(layer);

	write_byte(writer, empty ? SKETCH_EMPTY_LONGS : SKETCH_LONGS);
	write_byte(writer, SKETCH_VERSION);
	write_byte(writer, SKETCH_FAMILY);
	write_byte(writer, empty ? SKETCH_FLAG_EMPTY : 0);
	write32(writer, layer->hashes);
	write64(writer, seed);
	write64(writer, layer->size / WORD_BITS);
	if (!empty)
		write64(writer, (layer->detail & DATASKETCHES_COUNTED) != 0 ?
				layer->bits_set : UINT64_MAX);
}

/* The chunk of RedisBloom's header */
static void
write_redisbloom(Writer *writer, const uint8_t *image)
{
	FilterLayer layer;
	uint64_t	elements = 0;
	int			layers = image_layers(image);

	for (int i = 0; i < layers; i++)
	{
		image_get_shape(image, i, &layer);
		elements += layer.multiple;
	}
	write64(writer, 1);
	write32(writer, (uint32_t) (BLOOM_HEADER + layers * BLOOM_LINK));
	write64(writer, elements);
	write32(writer, (uint32_t) layers);
	image_get_shape(image, 0, &layer);
	write32(writer, REDISBLOOM_OPTIONS(layer.detail));
	write32(writer, REDISBLOOM_GROWTH(layer.detail));
	for (int i = 0; i < layers; i++)
	{
		uint8_t		error_rate[sizeof(uint64_t)];

		image_get_shape(image, i, &layer);
		write64(writer, layer.size / 8);
		write64(writer, layer.size);
		write64(writer, layer.multiple);
		put_double(error_rate, layer.error_rate);
		write_bytes(writer, error_rate, sizeof(error_rate), BITS_AS_OURS);
		write64(writer, layer.bits_full);
		write32(writer, layer.hashes);
		write64(writer, layer.capacity);
		write_byte(writer, REDISBLOOM_LOG_BITS(layer.detail));
	}
}

/* A chunk for each layer, or for each CHUNK_MAX bytes of it */
static void
write_chunks(Writer *writer, const uint8_t *image)
{
	uint64_t	written = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		const uint8_t *bits = image_layer_bits(image, i);
		FilterLayer layer;

		image_get_shape(image, i, &layer);
		for (uint64_t left = layer.size / 8; left > 0;)
		{
			uint64_t	some = left < CHUNK_MAX ? left : CHUNK_MAX;

			written += some;
			write64(writer, 1 + written);
			write32(writer, (uint32_t) some);
			write_bytes(writer, bits, some, BITS_AS_OURS);
			bits += some;
			left -= some;
		}
	}
}

static void
write_all(Writer *writer, const uint8_t *image)
{
	ForeignType type;
	FilterLayer layer;

	if (!foreign_type(image_class(image), &type))
		return;
	image_get_layer(image, 0, &layer);
	switch (type.format)
	{
		case FOREIGN_GUAVA:
		case FOREIGN_GUAVA32:
			write_guava(writer, type.format, &layer);
			break;
		case FOREIGN_SPARK:
		case FOREIGN_SPARK2:
		case FOREIGN_SPARK_SQL:
		case FOREIGN_SPARK_SQL2:
			write_spark(writer, type.format, &layer, image_seed(image));
			break;
		case FOREIGN_PARQUET:
			write_parquet(writer, &layer);
			break;
		case FOREIGN_DATASKETCHES:
			write_datasketches(writer, &layer, image_seed(image));
			if (datasketches_empty(&layer))
				return;
			break;
		case FOREIGN_REDISBLOOM:
			write_redisbloom(writer, image);
			write_chunks(writer, image);
			return;
		case FOREIGN_REDIS_GUAVA32:
		case FOREIGN_REDIS_GUAVA64:
			break;
	}
	for (int i = 0; i < image_layers(image); i++)
	{
		image_get_shape(image, i, &layer);
		write_bytes(writer, image_layer_bits(image, i),
					stored_bytes(type.format, &layer,
								 i == image_layers(image) - 1),
					bit_order(type.format));
	}
}

uint64_t
foreign_export_bytes(const uint8_t *image)
{
	Writer		writer = {NULL, 0};

	write_all(&writer, image);
	return writer.length;
}

void
foreign_export(const uint8_t *image, uint8_t *to)
{
	Writer		writer = {NULL, 0};

	writer.at = to;
	write_all(&writer, image);
}

/* ------------------------------------------------------------------------
 * Sizes
 * ------------------------------------------------------------------------ */

/* RedisBloom's own figure for the square of ln 2, and how it halves rates */
#define REDISBLOOM_LN2_SQUARED	0.480453013918201
#define REDISBLOOM_TIGHTENING	0.5
#define REDISBLOOM_EXPANSION	2

/* The best number of bits by the textbook, and of hashes for it */
static double
best_bits(double n, double error_rate)
{
	return -n * log(error_rate) / (M_LN2 * M_LN2);
}

static double
best_hashes(double m, double n)
{
	return m / n * M_LN2;
}

/* As Java's Math.round() */
static double
round_half_up(double number)
{
	return floor(number + 0.5);
}

static uint64_t
next_power_of_two(uint64_t number)
{
	uint64_t	power = 1;

	while (power < number)
		power *= 2;
	return power;
}

/* Fields of the only layer for n elements; false if it would be too large */
static bool
size_layer(ForeignFormat format, double n, double p, FilterLayer *layer)
{
	double		m = best_bits(n, p);
	double		k = best_hashes(floor(m), n);
	double		bits_per_element;
	uint8_t		bytes[sizeof(uint64_t)];

	if (m > 2 * (double) IMAGE_MAX_BITS)
		return false;
	switch (format)
	{
		case FOREIGN_PARQUET:
			k = PARQUET_HASHES;
			m = -k * n / log1p(-pow(p, 1 / k));
			m = 8 * (double) next_power_of_two((uint64_t) (m / 8));
			if (m < PARQUET_BLOCK_BITS)
				m = PARQUET_BLOCK_BITS;
			break;
		case FOREIGN_DATASKETCHES:
			m = ceil(m);
			k = ceil(best_hashes(m, n));
			break;
		case FOREIGN_REDISBLOOM:
			p *= REDISBLOOM_TIGHTENING;
			layer->error_rate = p;
			bits_per_element = -(log(p) / REDISBLOOM_LN2_SQUARED);
			put_double(bytes, bits_per_element);
			layer->bits_full = get64(bytes);
			layer->detail = REDISBLOOM_DETAIL(0, REDISBLOOM_NOROUND | REDISBLOOM_FORCE64,
											  REDISBLOOM_EXPANSION);
			m = floor(n * bits_per_element);
			k = redisbloom_hashes(bits_per_element);
			break;
		default:
			m = floor(m);
			k = round_half_up(k);
			break;
	}
	if (m < 1)
		m = 1;
	/* a string of bits with the older hashing has any length */
	if (format != FOREIGN_REDIS_GUAVA32)
		m = WORD_BITS * ceil(m / WORD_BITS);
	if (m > (double) IMAGE_MAX_BITS)
		return false;
	layer->size = (uint64_t) m;
	layer->hashes = k < 1 ? 1 : (unsigned) k;
	return true;
}

FilterStatus
foreign_plan(ForeignFormat format, FilterParams *params, FilterPlan *plan)
{
	FilterLayer *layer = &plan->layer[0];

	memset(layer, 0, sizeof(*layer));
	layer->layout = LAYOUT_FOREIGN;
	layer->capacity = params->capacity;
	layer->error_rate = params->error_rate;
	if (!size_layer(format, (double) params->capacity, params->error_rate, layer))
		return FILTER_TOO_LARGE;
	if (format != FOREIGN_REDISBLOOM)
		foreign_set_full(foreign_formats[format].mapping, layer);
	params->seed = format == FOREIGN_DATASKETCHES ? SKETCH_SEED : 0;
	plan->layers = 1;
	return filter_plan_layers(plan);
}
