/*
 * meta.c
 *	  The metapage of a membership index: its parameters and its layers; see pages.c.
 */
#include "page.h"

#include "access/generic_xlog.h"
#include "commands/vacuum.h"

/* The cost-based delay of VACUUM; outside VACUUM, only a check for interrupts */
#if PG_VERSION_NUM >= 180000
#define delay_vacuum()			vacuum_delay_point(false)
#else
#define delay_vacuum()			vacuum_delay_point()
#endif

#define MEMBERSHIP_MAGIC		0x6D627368	/* "mbsh" */
#define MEMBERSHIP_VERSION		1

/* CREATE INDEX sizes the filter for this many times the elements it found */
#define BUILD_HEADROOM			1.05

/*
 * A page reports newly set bits in steps of at most this number: the bits of about fifty
 * elements, so that the metapage is no bottleneck, and less than a hundredth of a page's
 * bits.
 */
#define REPORT_STEP_MAX		512
/*
 * In a small layer, the step is the layer's number of bits divided by this.  With larger
 * steps, the layer would be full before any page had reported.
 */
#define REPORT_STEPS_MIN	1024

/* Limit of a layer's size: 128 GB, more than any table is likely to need */
#define LAYER_MAX_BITS			(UINT64CONST(1) << 40)

/*
 * Set *layer to layer i, counted from 0, as the functions of sizing.h expect it.  bits_set
 * is an estimate, because pages report late.
 */
void
meta_layer(const MembershipMeta *meta, int i, FilterLayer *layer)
{
	const MembershipLayer *from = &meta->layer[i];

	*layer = (FilterLayer)
	{
		.layout = (FilterLayout) from->layout,
			.hashes = from->hashes,
			.size = from->size,
			.capacity = from->capacity,
			.error_rate = from->error_rate,
			.bits_full = from->bits_full,
			.bits_set = from->bits_reported
	};
	/* on average, half a step of each page is not reported */
	if (from->bits_reported > 0)
		layer->bits_set += (uint64) layer_pages(from) * from->report_step / 2;
	layer->bits_set = Min(layer->bits_set, layer_bits(layer));
}

/*
 * Append a layer for "capacity" elements to *meta; the index itself is not changed.
 * Returns false, and appends none, if there are IMAGE_MAX_LAYERS or the layer would be too
 * large.
 */
bool
meta_plan_layer(MembershipMeta *meta, uint64 capacity)
{
	MembershipLayer *to = &meta->layer[meta->layers];
	double		error_rate = meta->layers == 0 ?
		meta->error_rate * BLOOM_FIRST_SHARE :
		next_layer_error_rate(meta->error_rate, meta->layer[0].error_rate, meta->layers);
	FilterLayer layer;

	if (meta->layers == IMAGE_MAX_LAYERS ||
		!blocks_plan(capacity, error_rate, LAYER_GROWING, LAYER_MAX_BITS,
					 &layer))
		return false;
	/* clear the padding: the struct is written to the page as it is */
	memset(to, 0, sizeof(*to));
	to->first_page = end_of_layers(meta);
	to->size = layer.size;
	to->capacity = layer.capacity;
	to->error_rate = layer.error_rate;
	to->bits_full = layer.bits_full;
	to->bits_reported = 0;
	to->report_step = Max(1, Min(REPORT_STEP_MAX, layer_bits(&layer) / REPORT_STEPS_MIN));
	to->layout = layer.layout;
	to->hashes = layer.hashes;
	if (layer_pages(to) > MaxBlockNumber - to->first_page)
		return false;
	meta->layers++;
	return true;
}

/* Raise the error for a first layer that would be too large. */
void
meta_report_too_large(Relation index, const MembershipMeta *meta, uint64 elements)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index \"%s\" is too large for " UINT64_FORMAT " elements at error rate %g",
					RelationGetRelationName(index), elements,
					meta->error_rate)));
}

/*
 * Set *meta to the metapage of a new index with the options of "index".  "structure" is the
 * membership_structure() of its elements.  Unless "elements" is 0, plans a layer for
 * "elements" times BUILD_HEADROOM or the option capacity, whichever is more;
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if that layer would be too large.
 */
void
meta_init(MembershipMeta *meta, Relation index, uint64 structure, uint64 elements)
{
	MembershipOptions *options = (MembershipOptions *) index->rd_options;

	memset(meta, 0, sizeof(*meta));
	meta->structure = structure;
	meta->magic = MEMBERSHIP_MAGIC;
	meta->version = MEMBERSHIP_VERSION;
	meta->blocks_per_page = BLOCKS_PER_PAGE;
	meta->error_rate = options ? options->error_rate : ERROR_RATE_DEFAULT;
	meta->growth = options ? options->growth : GROWTH_DEFAULT;
	meta->live_rows = -1;
	meta->capacity = Max(options ? options->capacity :
						 MEMBERSHIP_CAPACITY_DEFAULT,
						 elements * BUILD_HEADROOM);
	if (elements > 0 && !meta_plan_layer(meta, meta->capacity))
		meta_report_too_large(index, meta, elements);
}

StaticAssertDecl(sizeof(MembershipMeta) <= BLCKSZ - MAXALIGN(SizeOfPageHeaderData) -
				 MAXALIGN(sizeof(MembershipOpaque)),
				 "the metapage must have room for all layers");

/* Write the metapage of a new fork, and log it if that is the initial fork. */
void
meta_write(Relation index, ForkNumber fork, const MembershipMeta *meta)
{
	page_make(index, fork, MEMBERSHIP_META_PAGE, meta, sizeof(*meta), fork == INIT_FORKNUM);
}

/*
 * Is the metapage valid?  Checks all fields that locate pages, so that damage is an error.
 */
static bool
meta_is_valid(const MembershipMeta *meta)
{
	if (meta->magic != MEMBERSHIP_MAGIC ||
		meta->version != MEMBERSHIP_VERSION ||
		meta->blocks_per_page != BLOCKS_PER_PAGE ||
		meta->layers > IMAGE_MAX_LAYERS ||
		!(meta->error_rate >= ERROR_RATE_MIN &&
		  meta->error_rate <= ERROR_RATE_MAX) ||
		meta->growth < 1 || meta->growth > IMAGE_MAX_GROWTH ||
		meta->capacity < 1 || meta->capacity > LAYER_MAX_BITS)
		return false;
	for (int i = 0; i < meta->layers; i++)
	{
		const MembershipLayer *layer = &meta->layer[i];

		if (!layout_has_blocks(layer->layout) ||
			layer->hashes < 1 || layer->hashes > BLOCK_MAX_HASHES ||
		/* the blocks of an element are different */
			layer->size < layer_blocks(layer->layout) ||
			layer->size > LAYER_MAX_BITS / BLOCK_BITS ||
			layer->first_page != (i == 0 ? MEMBERSHIP_META_PAGE + 1 :
								  layer[-1].first_page + layer_pages(&layer[-1])) ||
			layer->report_step < 1 || layer->report_step > REPORT_STEP_MAX ||
			layer->bits_full < 1 ||
			layer->bits_full > layer->size * BLOCK_BITS ||
			layer->capacity < 1 ||
			layer->capacity > layer->size * BLOCK_BITS ||
			!(layer->error_rate > 0 &&
			  layer->error_rate <= meta->error_rate))
			return false;
	}
	return true;
}

/*
 * Read the metapage to *meta, with only the layers in use.  Errors: those of page_read();
 * ERRCODE_INDEX_CORRUPTED if it is not valid.
 */
void
meta_read(Relation index, MembershipMeta *meta)
{
	Buffer		buffer = page_read_again(index, MEMBERSHIP_META_PAGE,
										 MAXALIGN(SizeOfPageHeaderData) +
										 offsetof(MembershipMeta, layer));
	const MembershipMeta *from = page_meta(BufferGetPage(buffer));

	if (!meta_is_valid(from))
		report_corrupted("index \"%s\" has no valid metapage",
						 RelationGetRelationName(index));
	memcpy(meta, from, meta_size(from));
	UnlockReleaseBuffer(buffer);
}

/*
 * Replace the estimated bits_reported of all layers in *meta, a copy of the metapage, by
 * exact counts, for meta_layer() and meta_elements().  Reads all pages of the index; within
 * VACUUM, with the cost-based delay.
 */
void
meta_measure(Relation index, MembershipMeta *meta)
{
	for (int i = 0; i < meta->layers; i++)
	{
		MembershipLayer *layer = &meta->layer[i];

		layer->report_step = 0;
		layer->bits_reported = 0;
		for (BlockNumber j = 0; j < layer_pages(layer); j++)
		{
			Buffer		buffer;

			delay_vacuum();
			buffer = page_read(index, layer->first_page + j, BUFFER_LOCK_SHARE);
			layer->bits_reported += page_opaque(BufferGetPage(buffer))->bits_set;
			UnlockReleaseBuffer(buffer);
		}
	}
}

/* Estimate the number of distinct elements in the index. */
double
meta_elements(const MembershipMeta *meta)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];

	for (int i = 0; i < meta->layers; i++)
		meta_layer(meta, i, &layers[i]);
	return layers_cardinality(layers, NULL, meta->layers);
}

/* The number of pages of all layers, without the metapage */
uint64
meta_pages(const MembershipMeta *meta)
{
	return end_of_layers(meta) - 1;
}

/*
 * Write to the metapage, and log, the number of rows that a VACUUM of the whole table has
 * left, and the present number of elements.  Writes nothing if the metapage has both
 * already.
 */
void
meta_note_vacuum(Relation index, double live_rows)
{
	MembershipMeta now;
	double		elements;
	Buffer		buffer;
	GenericXLogState *state;
	MembershipMeta *meta;

	meta_read(index, &now);
	meta_measure(index, &now);
	elements = meta_elements(&now);
	if (now.live_rows == live_rows && now.live_elements == elements)
		return;
	buffer = page_read(index, MEMBERSHIP_META_PAGE, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = page_meta(GenericXLogRegisterBuffer(state, buffer, 0));
	meta->live_rows = live_rows;
	meta->live_elements = elements;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}
