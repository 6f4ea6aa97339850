/*
 * redisbloom_chunks.c
 *	  The bytes of RedisBloom's filters: chunks; see redisbloom.h.
 *
 * They are the replies of BF.SCANDUMP or CF.SCANDUMP: each uint64 iterator, uint32 length,
 * data; little-endian.
 *
 * Sources: src/sb.c and src/cf.c of RedisBloom.
 */
#include "redisbloom.h"

#define CHUNK_HEADER		12
#define CHUNK_MAX			((uint64_t) 16 << 20)	/* RedisBloom's */

/* The chunk that begins at *at, which is advanced past it */
static const char *
next_chunk(const ForeignSource *source, uint64_t *at, RedisBloomChunk *chunk)
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

const char *
redisbloom_first_chunk(const ForeignSource *source, uint64_t *at,
					   RedisBloomChunk *chunk)
{
	const char *fault = next_chunk(source, at, chunk);

	if (fault)
		return fault;
	return chunk->iterator == 1 ? NULL :
		"iterator of the first chunk is not 1";
}

const char *
redisbloom_check_bits(const ForeignSource *source, uint64_t at, uint64_t bytes)
{
	RedisBloomChunk chunk;
	uint64_t	read = 0;

	/* each iterator tells where the next chunk begins */
	while (at < source->length)
	{
		const char *fault = next_chunk(source, &at, &chunk);

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

void
redisbloom_import_bits(const ForeignSource *source,
					   const ForeignImport *import, uint8_t *image)
{
	uint64_t	at = import->data;
	uint64_t	done = 0;		/* of the layer */
	int			i = 0;
	RedisBloomChunk chunk;

	while (at < source->length && next_chunk(source, &at, &chunk) == NULL)
		while (chunk.length > 0)
		{
			uint64_t	bytes = import->plan.layer[i].size / 8;
			uint64_t	some = smaller(chunk.length, bytes - done);

			copy_bits(image_layer_bits(image, i) + done,
					  source->bytes + chunk.data, some, BITS_AS_OURS);
			chunk.data += some;
			chunk.length -= some;
			done += some;
			if (done == bytes)
			{
				i++;
				done = 0;
			}
		}
}

void
redisbloom_write_bits(Writer *writer, const uint8_t *image)
{
	uint64_t	written = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		const uint8_t *bits = image_layer_bits(image, i);
		FilterLayer layer = image_get_shape(image, i);

		for (uint64_t left = layer.size / 8; left > 0;)
		{
			uint64_t	some = smaller(left, CHUNK_MAX);

			written += some;
			write_number(writer, 1 + written, 8);
			write_number(writer, some, 4);
			write_bytes(writer, bits, some, BITS_AS_OURS);
			bits += some;
			left -= some;
		}
	}
}
