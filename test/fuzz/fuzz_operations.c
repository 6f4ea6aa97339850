/*
 * fuzz_operations.c
 *	  Two images, and what is to be done with them.
 *
 * An input is, twice, two bytes of length (little-endian) and as many of an
 * image, and then pairs of bytes: an operation (subject.c) and its element.
 */
#include "fuzz.h"

#define LENGTH_OF_IMAGE		2

/* Operations of one input, at most */
#define PROGRAM_MAX			64

/* The three parts of an input, in bytes of its own */
typedef struct Parts
{
	const uint8_t *part[3];
	size_t		size[3];
} Parts;

static void
take_apart(const uint8_t *data, size_t size, Parts *parts)
{
	for (int i = 0; i < 2; i++)
	{
		size_t		length = 0;

		if (size >= LENGTH_OF_IMAGE)
		{
			length = data[0] | (size_t) data[1] << 8;
			data += LENGTH_OF_IMAGE;
			size -= LENGTH_OF_IMAGE;
		}
		if (length > size)
			length = size;
		parts->part[i] = data;
		parts->size[i] = length;
		data += length;
		size -= length;
	}
	parts->part[2] = data;
	parts->size[2] = size;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Subject		subjects[2];
	Parts		parts;

	begin_input("operations on two images", 0.2);
	take_apart(data, size, &parts);
	if (!subject_open(&subjects[0], parts.part[0], parts.size[0]))
		return 0;
	if (subject_open(&subjects[1], parts.part[1], parts.size[1]))
	{
		let_through++;
		subjects_operate(subjects, parts.part[2],
						 parts.size[2] < 2 * PROGRAM_MAX ? parts.size[2] :
						 2 * PROGRAM_MAX);
		subject_close(&subjects[1]);
	}
	subject_close(&subjects[0]);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned seed)
{
	size_t		room = (max_size - 2 * LENGTH_OF_IMAGE) / 2 - PROGRAM_MAX;
	uint8_t    *copy[3];
	Parts		parts;
	uint64_t	random = number_hash(seed);
	size_t		at = 0;

	if (max_size < 2 * LENGTH_OF_IMAGE + 2 * PROGRAM_MAX)
		return LLVMFuzzerMutate(data, size, max_size);
	take_apart(data, size, &parts);
	for (int i = 0; i < 3; i++)
	{
		size_t		most = i < 2 ? room : 2 * PROGRAM_MAX;

		if (parts.size[i] > most)
			parts.size[i] = most;
		copy[i] = memcpy(allocate_image(most), parts.part[i], parts.size[i]);
	}
	switch (random % 8)
	{
		case 0:
		case 1:
			parts.size[0] = mutate_image(copy[0], parts.size[0], room, random);
			break;
		case 2:
			parts.size[1] = mutate_image(copy[1], parts.size[1], room, random);
			break;
		case 3:
		case 4:
			parts.size[1] = make_compatible(copy[1], room, copy[0],
											parts.size[0], random);
			break;
		default:
			parts.size[2] = LLVMFuzzerMutate(copy[2], parts.size[2],
											 2 * PROGRAM_MAX);
	}
	for (int i = 0; i < 3; i++)
	{
		if (i < 2)
		{
			data[at++] = parts.size[i];
			data[at++] = parts.size[i] >> 8;
		}
		memcpy(data + at, copy[i], parts.size[i]);
		at += parts.size[i];
		release_image(copy[i]);
	}
	return at;
}
