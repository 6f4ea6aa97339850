/*
 * io.c
 *	  Import and export filters of other systems; plan filters as they make them.
 *
 * An import is strict.  Faults that other systems overlook (bytes after the end, a chunk
 * that is cut short, no hashes at all) would lead to wrong answers here.
 */
#include "foreign.h"

#include <math.h>

#include "../filter.h"
#include "common.h"

const char *
foreign_parse(const ForeignSource *source, ForeignImport *import)
{
	const char *fault;

	memset(import, 0, sizeof(*import));
	import->format = source->format;
	fault = source->format->parse(source, import);
	if (fault)
		return fault;
	if (!source->any_version && import->format != source->format)
		return "another version of the format";
	for (int i = 0; !import->format->counted && i < import->plan.layers; i++)
		foreign_set_capacity(import->format, &import->plan.layer[i]);
	return filter_plan_layers(&import->plan) == FILTER_OK ? NULL :
		"larger than a filter can be";
}

void
foreign_import(const ForeignSource *source, const ForeignImport *import,
			   const FilterParams *params, uint8_t *image)
{
	const FilterPlan *plan = &import->plan;
	uint64_t	at = import->data;

	filter_init(image, params, plan);
	if (import->format->import_bits)
		import->format->import_bits(source, import, image);
	else
		for (int i = 0; i < plan->layers; i++)
		{
			/* strings may end early, and an empty sketch has no words */
			uint64_t	bytes = smaller((plan->layer[i].size + 7) / 8,
										source->length - at);

			copy_bits(image_layer_bits(image, i), source->bytes + at, bytes,
					  import->format->order);
			at += bytes;
		}
	for (int i = 0; i < plan->layers; i++)
		image_put_bits_set(image, i, count_bits(image_layer_bits(image, i),
												(plan->layer[i].size + 7) / 8));
}

static void
write_all(Writer *writer, const uint8_t *image)
{
	const ForeignFormat *format = foreign_image_format(image);
	int			layers = image_layers(image);
	FilterLayer layer = image_get_layer(image, 0);

	if (format->write && !format->write(writer, format, image, &layer))
		return;
	for (int i = 0; i < layers; i++)
	{
		layer = image_get_layer(image, i);
		write_bytes(writer, image_layer_bits(image, i),
					format->needs_shape && i == layers - 1 ?
					layer.multiple : (layer.size + 7) / 8, format->order);
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
	Writer		writer = {0};

	writer.at = to;
	write_all(&writer, image);
}

FilterStatus
foreign_plan(const ForeignFormat *format, FilterParams *params,
			 FilterPlan *plan)
{
	FilterLayer *layer = &plan->layer[0];
	double		n = (double) params->capacity;
	double		bits;

	/* no format takes fewer than half of the textbook's bits */
	if (best_bits(n, params->error_rate) > 2 * (double) IMAGE_MAX_BITS)
		return FILTER_TOO_LARGE;
	*layer = (FilterLayer)
	{
		.layout = LAYOUT_FOREIGN,
			.capacity = params->capacity,
			.error_rate = params->error_rate
	};
	bits = format->size(n, params->error_rate, layer);
	if (layer->hashes < 1)
		layer->hashes = 1;
	bits = format->unit * ceil((bits < 1 ? 1 : bits) / format->unit);
	if (bits > (double) IMAGE_MAX_BITS)
		return FILTER_TOO_LARGE;
	layer->size = (uint64_t) bits;
	if (!format->counted)
		foreign_set_full(format, layer);
	params->seed = format->seed;
	plan->layers = 1;
	return filter_plan_layers(plan);
}
