/*
 * common.c
 *	  Sizes, words behind a header, bits in some order, and writing numbers; see common.h.
 */
#include "common.h"

#include <math.h>

#include "../sizing.h"

double
best_bits(double n, double error_rate)
{
	return -n * log(error_rate) / (M_LN2 * M_LN2);
}

double
best_hashes(double bits, double n)
{
	return bits / n * M_LN2;
}

double
foreign_log_spared(const FilterLayer *layer)
{
	return layer->hashes * log1p(-1.0 / ((double) layer->size + 1));
}

void
foreign_set_full(const ForeignFormat *format, FilterLayer *layer)
{
	double		m = (double) layer->size;
	double		n = (double) layer->capacity;
	double		log_clear = n * foreign_log_spared(layer);
	double		clear = exp(log_clear);
	double		variance = m * clear * (1 - (1 - log_clear) * clear);
	double		full;

	if (format->more_variance)
		variance += format->more_variance(layer);
	full = ceil(m * (1 - clear) + FULL_SIGMAS * sqrt(variance > 0 ? variance : 0));
	/* n elements set at most this many bits */
	if (full > n * layer->hashes)
		full = n * layer->hashes;
	layer->bits_full = full >= m ? layer->size : (uint64_t) full;
}

void
foreign_set_capacity(const ForeignFormat *format, FilterLayer *layer)
{
	double		n = format->capacity ? format->capacity(layer) :
		(double) layer->size * M_LN2 / (layer->hashes - 0.5);

	layer->capacity = n < 1 ? 1 : (uint64_t) n;
	foreign_set_full(format, layer);
}

static inline uint8_t
reverse_bits(uint8_t byte)
{
	byte = (uint8_t) ((byte & 0x0f) << 4 | byte >> 4);
	byte = (uint8_t) ((byte & 0x33) << 2 | (byte >> 2 & 0x33));
	return (uint8_t) ((byte & 0x55) << 1 | (byte >> 1 & 0x55));
}

void
copy_bits(uint8_t *to, const uint8_t *from, uint64_t bytes, BitOrder order)
{
	for (uint64_t done = 0; done < bytes;)
	{
		uint64_t	stop = done + smaller(bytes - done, INTERRUPT_BYTES);

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

FilterLayer *
one_layer(ForeignImport *import, uint64_t bits, unsigned hashes)
{
	FilterLayer *layer = &import->plan.layer[0];

	import->plan.layers = 1;
	*layer = (FilterLayer)
	{
		.layout = LAYOUT_FOREIGN, .size = bits, .hashes = hashes
	};
	return layer;
}

const char *
parse_words(const ForeignSource *source, ForeignImport *import,
			uint64_t header, uint64_t words, uint64_t stored, uint64_t hashes)
{
	/* a filter without bits cannot be probed */
	if (words == 0 || words > IMAGE_MAX_BITS / WORD_BITS)
		return "number of words out of range";
	if (source->length < header + stored * WORD_BYTES)
		return "shorter than its number of words";
	if (source->length > header + stored * WORD_BYTES)
		return "bytes after the last word";
	if (hashes < 1 || hashes > FOREIGN_MAX_HASHES)
		return "number of hashes out of range";
	import->data = header;
	one_layer(import, words * WORD_BITS, (unsigned) hashes);
	return NULL;
}

void
write_bytes(Writer *writer, const uint8_t *bytes, uint64_t count,
			BitOrder order)
{
	if (writer->at)
		copy_bits(writer->at + writer->length, bytes, count, order);
	writer->length += count;
}

void
write_number(Writer *writer, uint64_t value, int bytes)
{
	uint8_t		number[sizeof(value)];

	put64(number, value);
	write_bytes(writer, number, bytes, BITS_AS_OURS);
}

void
write32_big(Writer *writer, uint64_t value)
{
	write_number(writer, __builtin_bswap32((uint32_t) value), sizeof(uint32_t));
}
