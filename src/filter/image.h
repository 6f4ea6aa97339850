/*
 * image.h
 *	  The image of a filter: its bytes, and where each field is in them.
 *
 * An image is a header, then a descriptor for each layer, then the bits of each layer.  An
 * explicit filter has its hashes behind the header.  All operations work on the image; it has no
 * unpacked form.  The header has 60 bytes: with PostgreSQL's length word of 4 before it,
 * descriptors and bits begin at multiples of 64.
 *
 * A compact image is a filter of one small layer, for few elements: a shorter header, which
 * contains the layer's fields, then the bits.  All functions below but image_layer_at() also
 * take compact images.  docs/dev/format.md describes the bytes for authors of clients.
 */
#ifndef FILTER_IMAGE_H
#define FILTER_IMAGE_H

#include "bytes.h"

/* The first four bytes: three letters for the kind, and the version of the format */
#define IMAGE_MAGIC_BLOOM		"blm\001"
#define IMAGE_MAGIC_CUCKOO		"cko\001"
#define IMAGE_MAGIC_BYTES		4

#define IMAGE_HEADER_BYTES		60
#define IMAGE_LAYER_BYTES		64
#define IMAGE_COMPACT_BYTES		39	/* header of a compact image */
/* The shortest image: a compact header, and one byte of bits */
#define IMAGE_LEAST_BYTES		(IMAGE_COMPACT_BYTES + 1)
/* The bits of each layer begin at a multiple of this */
#define IMAGE_ALIGNMENT			64

/* Maximum number of layers; the smallest filter grows to the largest with these (bloom.c). */
#define IMAGE_MAX_LAYERS		32

/*
 * Maximum number of bits of all layers, or of all hashes: 512 MiB.  The base64 text of such a
 * filter has 683 MiB, which pg_dump can still write: COPY limits a field to 1 GiB.
 */
#define IMAGE_MAX_BITS			(UINT64_C(1) << 32)

/* Maximum growth, which sets the size of each new layer (bloom.c, cuckoo.c); 0: never grow */
#define IMAGE_MAX_GROWTH		16

/* The SQL type of a filter; filters of different kinds are never compatible. */
typedef enum FilterKind
{
	FILTER_BLOOM = 0,
	FILTER_CUCKOO = 1
} FilterKind;

#define FILTER_KINDS			2

static inline const char *
kind_magic(FilterKind kind)
{
	return kind == FILTER_CUCKOO ? IMAGE_MAGIC_CUCKOO : IMAGE_MAGIC_BLOOM;
}

/* The layout of an image, or of a layer.  Filters of both kinds may be empty or explicit. */
typedef enum FilterLayout
{
	LAYOUT_EMPTY = 0,			/* no elements, parameters or layers */
	LAYOUT_EXPLICIT = 1,		/* the hashes themselves */
	LAYOUT_BLOCK512 = 2,		/* an element's bits are in one block */
	LAYOUT_BLOCK512X2 = 3,		/* an element's bits are in two blocks */
	LAYOUT_CLASSIC = 4,			/* an element has k of m bits, anywhere */
	LAYOUT_CUCKOO = 5,			/* fingerprints, in slots */
	LAYOUT_SMALL = 6,			/* the bits of classic, for few elements; an
								 * image of this layout is compact */
	LAYOUT_COUNTING = 7,		/* block512, and counters behind its bits */
	LAYOUT_COUNTINGX2 = 8,		/* block512x2, and counters behind its bits */
	LAYOUT_FOREIGN = 9			/* another system's filter; the element class
								 * names its format (foreign/) */
} FilterLayout;

/* Set only in memory: an explicit filter's hashes may be out of order, and repeat. */
#define IMAGE_FLAG_UNSORTED		0x01

/* Set only in compact images that may grow: the layer has SMALL_EXACT_SHARE of the rate */
#define IMAGE_FLAG_EXACT		0x02

/* Offsets of fields in every header; numbers are little-endian. */
#define IMAGE_OFF_LAYOUT		4	/* FilterLayout; with several layers, that
									 * of the first one that is not small */
#define IMAGE_OFF_FLAGS			5	/* IMAGE_FLAG_* */
#define IMAGE_OFF_GROWTH		6	/* 0 to IMAGE_MAX_GROWTH */
#define IMAGE_OFF_LAYERS		7	/* number of layers */
#define IMAGE_OFF_CLASS			8	/* element class, 8 bytes, 0 if unknown */
#define IMAGE_OFF_SEED			16	/* 8 bytes */
#define IMAGE_OFF_ERROR_RATE	24	/* double; 0 if none was requested */

/* Offsets in the header of an image that is not compact */
#define IMAGE_OFF_CAPACITY		32	/* 8 bytes; 0 if none was requested */
#define IMAGE_OFF_COUNT			40	/* 8 bytes; number of hashes of an
									 * explicit filter, else 0 */
#define IMAGE_OFF_BYTES			48	/* 8 bytes; length of the whole image */
#define IMAGE_OFF_RESERVED		56	/* 4 bytes, zero */

/* Offsets in the header of a compact image */
#define COMPACT_OFF_CAPACITY	32	/* 2 bytes; as requested */
#define COMPACT_OFF_BYTES		34	/* 2 bytes; length of the layer's bits */
#define COMPACT_OFF_BITS_FULL	36	/* 2 bytes; as LAYER_OFF_BITS_FULL */
#define COMPACT_OFF_HASHES		38	/* 1 byte; as LAYER_OFF_HASHES */

/*
 * The share of a growing filter's error rate that its first layer has (bloom_sizing.c).  A
 * compact image does not store its layer's rate, so these numbers are part of the format.
 */
#define BLOOM_FIRST_SHARE		0.808
#define SMALL_EXACT_SHARE		0.95

/* Bits of a counter, including the Bloom filter's bit; and its maximum, at which it sticks */
#define COUNTING_PLANES			4
#define COUNTING_MOST			8

/* Offsets in a layer's descriptor */
#define LAYER_OFF_LAYOUT		0	/* FilterLayout */
#define LAYER_OFF_HASHES		1	/* bits of an element, in each of its
									 * blocks; cuckoo: bits of a fingerprint */
#define LAYER_OFF_DETAIL		2	/* 6 bytes; zero except in foreign layers */
#define LAYER_OFF_SIZE			8	/* number of blocks; classic, small,
									 * foreign: of bits; cuckoo: of windows */
#define LAYER_OFF_CAPACITY		16	/* in elements */
#define LAYER_OFF_ERROR_RATE	24	/* double; its share of the filter's rate;
									 * cuckoo: its rate when it is full */
#define LAYER_OFF_BITS_SET		32	/* cuckoo: number of entries */
#define LAYER_OFF_BITS_FULL		40	/* the number of set bits at which the
									 * layer is full; cuckoo: of entries,
									 * which is its capacity */
#define LAYER_OFF_OFFSET		48	/* where its bits begin in the image */
#define LAYER_OFF_MULTIPLE		56	/* cuckoo: its windows divided by those of
									 * the first layer; foreign: see foreign/;
									 * others: 0 */

/* A layer's descriptor, unpacked */
typedef struct FilterLayer
{
	FilterLayout layout;
	unsigned	hashes;
	uint64_t	size;
	uint64_t	capacity;		/* 0 in a classic filter */
	double		error_rate;		/* 0 in a classic filter */
	uint64_t	bits_set;
	uint64_t	bits_full;		/* 0: never full */
	uint64_t	offset;
	uint64_t	multiple;		/* 0 except in a cuckoo or a foreign filter */
	uint64_t	detail;			/* below 2^48; 0 except in a foreign filter */
} FilterLayer;

/* Do layers of this layout consist of blocks, without counters? */
static inline bool
layout_has_blocks(FilterLayout layout)
{
	return layout == LAYOUT_BLOCK512 || layout == LAYOUT_BLOCK512X2;
}

/* May an element's bits be anywhere in a layer of this layout?  Then its size is in bits. */
static inline bool
layout_is_flat(FilterLayout layout)
{
	return layout == LAYOUT_SMALL || layout == LAYOUT_CLASSIC ||
		layout == LAYOUT_FOREIGN;
}

/* Return the number of blocks that an element has in a layer of this layout of blocks. */
static inline unsigned
layer_blocks(FilterLayout layout)
{
	return layout == LAYOUT_BLOCK512X2 || layout == LAYOUT_COUNTINGX2 ? 2 : 1;
}

/* Return the number of bits that an element picks in a Bloom filter's layer. */
static inline unsigned
layer_picks(const FilterLayer *layer)
{
	return layer->hashes * layer_blocks(layer->layout);
}

/* Define a function that returns a field of an image, or a value computed from its fields. */
#define IMAGE_GETTER(type, name, result) \
	static inline type \
	name(const uint8_t *image) \
	{ \
		return result; \
	}

IMAGE_GETTER(FilterKind, image_kind,
			 image[0] == (uint8_t) IMAGE_MAGIC_CUCKOO[0] ?
			 FILTER_CUCKOO : FILTER_BLOOM)
IMAGE_GETTER(FilterLayout, image_layout,
			 (FilterLayout) image[IMAGE_OFF_LAYOUT])

/* Does each bit have a counter?  Then elements can be removed. */
IMAGE_GETTER(bool, image_is_counting,
			 image_layout(image) == LAYOUT_COUNTING ||
			 image_layout(image) == LAYOUT_COUNTINGX2)

/* Is it a filter of another system?  Then elements are not hashed as in ours. */
IMAGE_GETTER(bool, image_is_foreign, image_layout(image) == LAYOUT_FOREIGN)

/* Is it without elements, parameters and layers? */
IMAGE_GETTER(bool, image_is_empty, image_layout(image) == LAYOUT_EMPTY)
IMAGE_GETTER(bool, image_is_compact, image_layout(image) == LAYOUT_SMALL)

/* Is it explicit: a set of hashes? */
IMAGE_GETTER(bool, image_is_set, image_layout(image) == LAYOUT_EXPLICIT)
IMAGE_GETTER(int, image_growth, image[IMAGE_OFF_GROWTH])
IMAGE_GETTER(int, image_layers, image[IMAGE_OFF_LAYERS])

/* Is it neither empty nor explicit? */
IMAGE_GETTER(bool, image_has_layers, image_layers(image) > 0)
IMAGE_GETTER(uint64_t, image_class, get64(image + IMAGE_OFF_CLASS))
IMAGE_GETTER(uint64_t, image_seed, get64(image + IMAGE_OFF_SEED))
IMAGE_GETTER(uint64_t, image_capacity,
			 image_is_compact(image) ? get16(image + COMPACT_OFF_CAPACITY) :
			 get64(image + IMAGE_OFF_CAPACITY))
IMAGE_GETTER(double, image_error_rate,
			 get_double(image + IMAGE_OFF_ERROR_RATE))

/* Return the number of hashes of an explicit filter, 0 for all others. */
IMAGE_GETTER(uint64_t, image_count,
			 image_is_set(image) ? get64(image + IMAGE_OFF_COUNT) : 0)
IMAGE_GETTER(uint64_t, image_bytes,
			 image_is_compact(image) ?
			 IMAGE_COMPACT_BYTES + (uint64_t) get16(image + COMPACT_OFF_BYTES) :
			 get64(image + IMAGE_OFF_BYTES))
IMAGE_GETTER(bool, image_is_unsorted,
			 (image[IMAGE_OFF_FLAGS] & IMAGE_FLAG_UNSORTED) != 0)

/* Return the descriptor of layer i, counted from 0, of an image that is not compact. */
static inline uint8_t *
image_layer_at(const uint8_t *image, int i)
{
	return (uint8_t *) image + IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * i;
}

static inline uint8_t *
image_layer_bits(const uint8_t *image, int i)
{
	return (uint8_t *) image + (image_is_compact(image) ? IMAGE_COMPACT_BYTES :
								get64(image_layer_at(image, i) +
									  LAYER_OFF_OFFSET));
}

/* Return the number of bytes from layer i's bits to those of the next layer, or to the end. */
static inline uint64_t
image_layer_bytes(const uint8_t *image, int i)
{
	uint64_t	end = i + 1 < image_layers(image) ?
		get64(image_layer_at(image, i + 1) + LAYER_OFF_OFFSET) :
		image_bytes(image);

	return end - (image_layer_bits(image, i) - image);
}

static inline uint8_t *
image_hashes(const uint8_t *image)
{
	return (uint8_t *) image + IMAGE_HEADER_BYTES;
}

static inline uint64_t
image_explicit_bytes(uint64_t count)
{
	return IMAGE_HEADER_BYTES + count * sizeof(uint64_t);
}

/* Set the number of hashes of an explicit filter, and its length accordingly. */
static inline void
image_set_count(uint8_t *image, uint64_t count)
{
	put64(image + IMAGE_OFF_COUNT, count);
	put64(image + IMAGE_OFF_BYTES, image_explicit_bytes(count));
}

/* Set the class of a filter's elements.  An empty filter has none, so it becomes explicit. */
static inline void
image_set_class(uint8_t *image, uint64_t class)
{
	if (image_is_empty(image))
		image[IMAGE_OFF_LAYOUT] = LAYOUT_EXPLICIT;
	put64(image + IMAGE_OFF_CLASS, class);
}

/* Set the number of layers, and the length, of an image that is not compact. */
static inline void
image_set_layers(uint8_t *image, int layers, uint64_t bytes)
{
	image[IMAGE_OFF_LAYERS] = layers;
	put64(image + IMAGE_OFF_BYTES, bytes);
}

extern void image_put_layer(uint8_t *image, int i, const FilterLayer *layer);

/* Return the fields of layer i.  A compact image has no field bits_set: count its bits. */
extern FilterLayer image_get_layer(const uint8_t *image, int i);

/* Get the fields of all layers, and return the number of layers. */
extern int	image_get_layers(const uint8_t *image,
							 FilterLayer layers[IMAGE_MAX_LAYERS]);

/* Do as image_get_layer(), by header and descriptors alone; if compact, bits_set is 0. */
extern FilterLayer image_get_shape(const uint8_t *header, int i);

/* Set bits_set of layer i; a compact image does not store it. */
static inline void
image_put_bits_set(uint8_t *image, int i, uint64_t bits_set)
{
	if (!image_is_compact(image))
		put64(image_layer_at(image, i) + LAYER_OFF_BITS_SET, bits_set);
}

static inline void
image_put_bits_full(uint8_t *image, int i, uint64_t bits_full)
{
	if (image_is_compact(image))
		put16(image + COMPACT_OFF_BITS_FULL, bits_full);
	else
		put64(image_layer_at(image, i) + LAYER_OFF_BITS_FULL, bits_full);
}

/* The parameters of a filter, which are known before its first element is added */
typedef struct FilterParams
{
	uint64_t	capacity;		/* in elements; 0 if not given */
	double		error_rate;		/* 0 if not given */
	int			growth;
	uint64_t	seed;
	uint64_t	class;			/* element class; 0 if not known yet */
	FilterKind	kind;
	bool		counting;		/* has counters, to remove elements */
	bool		exact;			/* only for a plan: "capacity" elements will
								 * be added at once, see LAYER_EXACT */
} FilterParams;

extern FilterParams image_get_params(const uint8_t *image);
extern void image_put_header(uint8_t *image, FilterLayout layout,
							 const FilterParams *params);

/* Write the header and the descriptors of an image of "layers" layers and "bytes" bytes. */
extern void image_put_layers(uint8_t *image, const FilterParams *params,
							 const FilterLayer *layer, int layers,
							 uint64_t bytes);

/* Return the layout of an image with these layers: small only if its one layer is small. */
extern FilterLayout layers_layout(const FilterLayer *layer, int layers);

/* Return the number of bytes that image_put_layers() writes. */
extern uint64_t layers_header_bytes(const FilterLayer *layer, int layers);

/* Return the number of bytes that a layer takes if its bits take "bytes" bytes. */
static inline uint64_t
image_aligned(uint64_t bytes)
{
	return (bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
}

/* Do both layers have the same fields, so that the same bits mean the same elements? */
extern bool layer_same_shape(const FilterLayer *a, const FilterLayer *b);

extern uint64_t count_bits(const uint8_t *bits, uint64_t bytes);

/*
 * Interrupt checks in long-running operations, so that the server can cancel a query.  A
 * check may raise an error and not return.  So at each check the image must be valid and lack
 * no element, unless it is new, and nobody else sees it yet.
 */

/* Bytes between two checks, a millisecond on a slow machine: a multiple of words and blocks */
#define INTERRUPT_BYTES		((uint64_t) 1 << 20)

/* The function that each check calls, unless it is NULL */
extern void (*filter_interrupt_check) (void);

static inline void
filter_check_interrupts(void)
{
	if (filter_interrupt_check != NULL)
		filter_interrupt_check();
}

#endif							/* FILTER_IMAGE_H */
