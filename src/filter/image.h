/*
 * image.h
 *	  The bytes of a filter: where each field lies.
 *
 * An image is a header, then a descriptor for each layer, then the bits of each layer or
 * the hashes of an explicit filter.  All operations work on it: there is no second,
 * unpacked form.  The header is four bytes short of 64, so that behind PostgreSQL's length
 * word everything lies at a multiple of 64.
 *
 * A compact image, of few elements, has one layer, which is small: its bits follow a
 * shorter header with the layer's fields.  The functions below hide the difference, except
 * image_layer_at().  docs/dev/format.md describes the same bytes for authors of clients.
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
/* No image is shorter than a compact header and a byte. */
#define IMAGE_LEAST_BYTES		(IMAGE_COMPACT_BYTES + 1)
/* The bits of each layer begin at a multiple of this */
#define IMAGE_ALIGNMENT			64

/* Maximum number of layers.  bloom.c says how far a filter grows with them. */
#define IMAGE_MAX_LAYERS		32

/*
 * Of all layers, or of all hashes: 512 MiB.  That can still be dumped as text, as base64
 * of 683 MiB; a field of COPY is limited to 1 GiB.
 */
#define IMAGE_MAX_BITS			(UINT64_C(1) << 32)

/* Growth: how large each next layer is (bloom.c, cuckoo.c), 0 for a fixed filter */
#define IMAGE_MAX_GROWTH		16

/* The two types.  Filters of different kinds are never compatible. */
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

/* The layout of an image, or of a layer.  The first two are of any kind. */
typedef enum FilterLayout
{
	LAYOUT_EMPTY = 0,			/* nothing: neutral in every union */
	LAYOUT_EXPLICIT = 1,		/* the hashes themselves */
	LAYOUT_BLOCK512 = 2,		/* one block for an element */
	LAYOUT_BLOCK512X2 = 3,		/* two blocks for an element */
	LAYOUT_CLASSIC = 4,			/* m bits, k of them for an element */
	LAYOUT_CUCKOO = 5,			/* fingerprints; the only one of its kind */
	LAYOUT_SMALL = 6,			/* the bits of classic, for few elements; an
								 * image of this layout is compact */
	LAYOUT_COUNTING = 7,		/* block512, and counters behind its bits */
	LAYOUT_COUNTINGX2 = 8,		/* block512x2, likewise */
	LAYOUT_FOREIGN = 9			/* another system's: the element class tells
								 * which, see foreign/ */
} FilterLayout;

/* Only in memory: an explicit filter's hashes may be out of order, and not distinct. */
#define IMAGE_FLAG_UNSORTED		0x01

/* Of compact images that may grow: the layer has SMALL_EXACT_SHARE of the error rate */
#define IMAGE_FLAG_EXACT		0x02

/* Offsets in every header; numbers are little-endian. */
#define IMAGE_OFF_LAYOUT		4	/* FilterLayout; with several layers, the
									 * first that is not small */
#define IMAGE_OFF_FLAGS			5	/* IMAGE_FLAG_* */
#define IMAGE_OFF_GROWTH		6	/* 0 to IMAGE_MAX_GROWTH */
#define IMAGE_OFF_LAYERS		7	/* number of layers */
#define IMAGE_OFF_CLASS			8	/* element class, 8 bytes, 0 if unknown */
#define IMAGE_OFF_SEED			16	/* 8 bytes */
#define IMAGE_OFF_ERROR_RATE	24	/* requested, double, 0 if none was */

/* In the header of an image that is not compact */
#define IMAGE_OFF_CAPACITY		32	/* requested, 8 bytes, 0 if none was */
#define IMAGE_OFF_COUNT			40	/* explicit: hashes, 8 bytes; else 0 */
#define IMAGE_OFF_BYTES			48	/* of the whole image, 8 bytes */
#define IMAGE_OFF_RESERVED		56	/* 4 bytes, zero */

/* In the header of a compact image; these numbers have 2 bytes, but hashes 1 */
#define COMPACT_OFF_CAPACITY	32	/* requested */
#define COMPACT_OFF_BYTES		34	/* of the bits */
#define COMPACT_OFF_BITS_FULL	36	/* as LAYER_OFF_BITS_FULL */
#define COMPACT_OFF_HASHES		38	/* as LAYER_OFF_HASHES */

/*
 * The share of the error rate that a growing filter's first layer has (bloom_sizing.c).
 * Compact images do not store the layer's rate, so these belong to the format.
 */
#define BLOOM_FIRST_SHARE		0.808
#define SMALL_EXACT_SHARE		0.95

/* Bits of a counter, that of the Bloom filter included, and the value where it stays */
#define COUNTING_PLANES			4
#define COUNTING_MOST			8

/* Offsets in a layer's descriptor */
#define LAYER_OFF_LAYOUT		0	/* FilterLayout */
#define LAYER_OFF_HASHES		1	/* k, in each block if there are two;
									 * cuckoo: bits of a fingerprint */
#define LAYER_OFF_DETAIL		2	/* 6 bytes, zero but in foreign layers */
#define LAYER_OFF_SIZE			8	/* blocks; classic, foreign: bits; cuckoo:
									 * windows */
#define LAYER_OFF_CAPACITY		16	/* in elements */
#define LAYER_OFF_ERROR_RATE	24	/* its share of the filter's, double;
									 * cuckoo: its own, when it is full */
#define LAYER_OFF_BITS_SET		32	/* cuckoo: entries */
#define LAYER_OFF_BITS_FULL		40	/* bits set when it takes no more
									 * elements; cuckoo: maximum of entries,
									 * its capacity */
#define LAYER_OFF_OFFSET		48	/* of its bits, in the image */
#define LAYER_OFF_MULTIPLE		56	/* cuckoo: its windows divided by those of
									 * the first layer; foreign: see foreign/;
									 * others: 0 */

/* A layer's descriptor, unpacked. */
typedef struct FilterLayer
{
	FilterLayout layout;
	unsigned	hashes;
	uint64_t	size;
	uint64_t	capacity;		/* 0 if classic, made for a number of bits */
	double		error_rate;		/* likewise */
	uint64_t	bits_set;
	uint64_t	bits_full;		/* 0: never full */
	uint64_t	offset;
	uint64_t	multiple;		/* 0 except in a cuckoo or a foreign filter */
	uint64_t	detail;			/* below 2^48; 0 except in a foreign filter */
} FilterLayer;

/* Do layers of this layout consist of blocks? */
static inline bool
layout_has_blocks(FilterLayout layout)
{
	return layout == LAYOUT_BLOCK512 || layout == LAYOUT_BLOCK512X2;
}

/* May an element's bits be anywhere in such a layer?  Then its size is in bits. */
static inline bool
layout_is_flat(FilterLayout layout)
{
	return layout == LAYOUT_SMALL || layout == LAYOUT_CLASSIC ||
		layout == LAYOUT_FOREIGN;
}

/* The number of blocks that an element has in a layer of blocks */
static inline unsigned
layer_blocks(FilterLayout layout)
{
	return layout == LAYOUT_BLOCK512X2 || layout == LAYOUT_COUNTINGX2 ? 2 : 1;
}

/* The number of bits that an element picks in a Bloom filter's layer */
static inline unsigned
layer_picks(const FilterLayer *layer)
{
	return layer->hashes * layer_blocks(layer->layout);
}

/* What an image says: one field, or what follows from it */
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

/* Is it a filter of another system?  Then our hashes mean nothing in it. */
IMAGE_GETTER(bool, image_is_foreign, image_layout(image) == LAYOUT_FOREIGN)

/* Without elements, parameters or layers */
IMAGE_GETTER(bool, image_is_empty, image_layout(image) == LAYOUT_EMPTY)
IMAGE_GETTER(bool, image_is_compact, image_layout(image) == LAYOUT_SMALL)

/* Explicit: the hashes themselves */
IMAGE_GETTER(bool, image_is_set, image_layout(image) == LAYOUT_EXPLICIT)
IMAGE_GETTER(int, image_growth, image[IMAGE_OFF_GROWTH])
IMAGE_GETTER(int, image_layers, image[IMAGE_OFF_LAYERS])

/* Neither empty nor a set */
IMAGE_GETTER(bool, image_has_layers, image_layers(image) > 0)
IMAGE_GETTER(uint64_t, image_class, get64(image + IMAGE_OFF_CLASS))
IMAGE_GETTER(uint64_t, image_seed, get64(image + IMAGE_OFF_SEED))
IMAGE_GETTER(uint64_t, image_capacity,
			 image_is_compact(image) ? get16(image + COMPACT_OFF_CAPACITY) :
			 get64(image + IMAGE_OFF_CAPACITY))
IMAGE_GETTER(double, image_error_rate,
			 get_double(image + IMAGE_OFF_ERROR_RATE))

/* The number of hashes of an explicit filter; 0 of others */
IMAGE_GETTER(uint64_t, image_count,
			 image_is_set(image) ? get64(image + IMAGE_OFF_COUNT) : 0)
IMAGE_GETTER(uint64_t, image_bytes,
			 image_is_compact(image) ?
			 IMAGE_COMPACT_BYTES + (uint64_t) get16(image + COMPACT_OFF_BYTES) :
			 get64(image + IMAGE_OFF_BYTES))
IMAGE_GETTER(bool, image_is_unsorted,
			 (image[IMAGE_OFF_FLAGS] & IMAGE_FLAG_UNSORTED) != 0)

/* The descriptor of layer i, from 0, of an image that is not compact */
static inline uint8_t *
image_layer_at(const uint8_t *image, int i)
{
	return (uint8_t *) image + IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * i;
}

/* The bits of layer i */
static inline uint8_t *
image_layer_bits(const uint8_t *image, int i)
{
	return (uint8_t *) image + (image_is_compact(image) ? IMAGE_COMPACT_BYTES :
								get64(image_layer_at(image, i) +
									  LAYER_OFF_OFFSET));
}

/* The number of bytes from there to the bits of the next layer, or to the end */
static inline uint64_t
image_layer_bytes(const uint8_t *image, int i)
{
	uint64_t	end = i + 1 < image_layers(image) ?
		get64(image_layer_at(image, i + 1) + LAYER_OFF_OFFSET) :
		image_bytes(image);

	return end - (image_layer_bits(image, i) - image);
}

/* The hashes of an explicit filter */
static inline uint8_t *
image_hashes(const uint8_t *image)
{
	return (uint8_t *) image + IMAGE_HEADER_BYTES;
}

/* The length of an explicit image of "count" hashes */
static inline uint64_t
image_explicit_bytes(uint64_t count)
{
	return IMAGE_HEADER_BYTES + count * sizeof(uint64_t);
}

/* Set the number of hashes of an explicit filter, and its length. */
static inline void
image_set_count(uint8_t *image, uint64_t count)
{
	put64(image + IMAGE_OFF_COUNT, count);
	put64(image + IMAGE_OFF_BYTES, image_explicit_bytes(count));
}

/* Set the class of a filter's elements; an empty filter becomes a set. */
static inline void
image_set_class(uint8_t *image, uint64_t class)
{
	if (image_is_empty(image))
		image[IMAGE_OFF_LAYOUT] = LAYOUT_EXPLICIT;
	put64(image + IMAGE_OFF_CLASS, class);
}

/* Set the number of layers, and of bytes in all, of an image that is not compact. */
static inline void
image_set_layers(uint8_t *image, int layers, uint64_t bytes)
{
	image[IMAGE_OFF_LAYERS] = layers;
	put64(image + IMAGE_OFF_BYTES, bytes);
}

extern void image_put_layer(uint8_t *image, int i, const FilterLayer *layer);

/* The fields of layer i; a compact image's bits_set is counted. */
extern FilterLayer image_get_layer(const uint8_t *image, int i);

/* The fields of all layers, whose number is returned */
extern int	image_get_layers(const uint8_t *image,
							 FilterLayer layers[IMAGE_MAX_LAYERS]);

/* The same with the header and descriptors alone; a compact image's bits_set is 0. */
extern FilterLayer image_get_shape(const uint8_t *header, int i);

/* Replace the number of a layer's set bits, or at how many it is full. */
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

/* The parameters of a filter, known before it has any element */
typedef struct FilterParams
{
	uint64_t	capacity;		/* in elements; 0 if not given */
	double		error_rate;		/* 0 if not given */
	int			growth;
	uint64_t	seed;
	uint64_t	class;			/* of its elements; 0 if not known yet */
	FilterKind	kind;
	bool		counting;		/* as image_is_counting() */
	bool		exact;			/* for a plan: "capacity" elements are added
								 * at once, and it must not be full before */
} FilterParams;

extern FilterParams image_get_params(const uint8_t *image);
extern void image_put_header(uint8_t *image, FilterLayout layout,
							 const FilterParams *params);

/* Write header and descriptors of "layers" layers, of an image of "bytes" bytes. */
extern void image_put_layers(uint8_t *image, const FilterParams *params,
							 const FilterLayer *layer, int layers,
							 uint64_t bytes);

/* The layout of an image of these layers: small only if its one layer is small */
extern FilterLayout layers_layout(const FilterLayer *layer, int layers);

/* The bytes of the header and descriptors that image_put_layers() writes */
extern uint64_t layers_header_bytes(const FilterLayer *layer, int layers);

/* The number of bytes of a layer whose bits take "bytes" bytes */
static inline uint64_t
image_aligned(uint64_t bytes)
{
	return (bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
}

/* Do the same bits mean the same elements in both layers? */
extern bool layer_same_shape(const FilterLayer *a, const FilterLayer *b);

/* The number of bits set in "bytes" bytes */
extern uint64_t count_bits(const uint8_t *bits, uint64_t bytes);

/*
 * Interrupt checks in long-running operations, so that the server can cancel a query.  A
 * check need not return: at each the image must be valid, with no element lost, or not yet
 * visible to anyone else.
 */

/* Bytes between two checks: a millisecond on a slow machine; whole words and blocks */
#define INTERRUPT_BYTES		((uint64_t) 1 << 20)

/* Called at each check, unless it is NULL */
extern void (*filter_interrupt_check) (void);

static inline void
filter_check_interrupts(void)
{
	if (filter_interrupt_check != NULL)
		filter_interrupt_check();
}

#endif							/* FILTER_IMAGE_H */
