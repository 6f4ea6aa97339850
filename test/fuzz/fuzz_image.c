/*
 * fuzz_image.c
 *	  Bytes that may be an image: the validator, and on what it lets through all
 *	  operations, one after the other.
 */
#include "fuzz.h"

/* Two rounds of all operations (subject.c), and some */
#define PROGRAM_STEPS	32

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Subject		subjects[2];
	uint8_t		program[2 * PROGRAM_STEPS];

	begin_input("images of any bytes", 0.2);
	for (int i = 0; i < PROGRAM_STEPS; i++)
	{
		program[2 * i] = i;
		program[2 * i + 1] = number_hash(i);
	}
	if (!subject_open(&subjects[0], data, size))
		return 0;
	let_through++;
	subject_open(&subjects[1], data, size);
	subjects_operate(subjects, program, sizeof(program));
	subject_close(&subjects[0]);
	subject_close(&subjects[1]);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned seed)
{
	return mutate_image(data, size, max_size, seed);
}
