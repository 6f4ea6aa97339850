/*
 * fuzz_sizing.c
 *	  Filters of any valid parameters: they are valid, no larger than a filter
 *	  can be, and keep the error rate however far they grow.
 *
 * An input is a Request, in the order of its fields; missing ones are 0.
 */
#include "fuzz.h"

#include <math.h>

#include "../../src/filter/classic.h"

/* Bytes of an image that is filled in; of larger ones the header is enough. */
#define FILLED_MAX		((uint64_t) 1 << 20)

/* The largest relative error of a sum of many error rates */
#define SUM_TOLERANCE	1e-9

typedef struct Request
{
	uint64_t	capacity;
	double		error_rate;
	uint64_t	share;			/* of the bits that are set: a hash's place */
	uint8_t		growth;
	uint8_t		kind;			/* the last bit; before it classic, counting */
	uint8_t		hashes;			/* of a classic filter */
}			Request;

#define REQUEST_BYTES	27

static Request
read_request(const uint8_t *data, size_t size)
{
	uint8_t		bytes[REQUEST_BYTES] = {0};
	Request		request;

	memcpy(bytes, data, size < REQUEST_BYTES ? size : REQUEST_BYTES);
	request.capacity = get64(bytes);
	request.error_rate = get_double(bytes + 8);
	request.share = get64(bytes + 16);
	request.growth = bytes[24];
	request.kind = bytes[25];
	request.hashes = bytes[26];
	return request;
}

/*
 * The estimates for a filter with this layer alone, with any number of set bits.
 * They need only the header and the descriptor.
 */
static void
check_estimates(const FilterLayer *planned, uint64_t share)
{
	FilterParams params = {.kind = FILTER_BLOOM};
	FilterPlan	plan = {.layers = 1, .layer = {*planned}};

	/* of a counting layer, those of its first plane can be set */
	uint64_t	bits = planned->layout == LAYOUT_COUNTING ||
		planned->layout == LAYOUT_COUNTINGX2 ?
		bloom_layer_bits(planned) : layer_bits(planned);
	uint8_t    *header;
	double		cardinality;
	double		error_rate;

	if (planned->layout == LAYOUT_CUCKOO)
		return;					/* has entries to be counted */
	plan.layer[0].bits_set = share == UINT64_MAX ? bits : mulhi64(share, bits);
	/* in a compact image, the bits are counted */
	header = allocate_image(IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES +
							(planned->layout == LAYOUT_SMALL ? bits / 8 : 0));
	filter_init(header, &params, &plan);
	if (planned->layout == LAYOUT_SMALL)
		memset(header + IMAGE_COMPACT_BYTES, 0xff, plan.layer[0].bits_set / 8);
	cardinality = filter_cardinality(header);
	error_rate = filter_estimated_error_rate(header);
	release_image(header);
	must(isfinite(cardinality) && cardinality >= 0, "%g elements", cardinality);
	must(error_rate >= 0 && error_rate <= 1, "error rate %g", error_rate);
}

static void
check_plan(const FilterPlan *plan)
{
	uint64_t	bytes = layers_header_bytes(plan->layer, plan->layers);

	must(plan->layers >= 1 && plan->layers <= IMAGE_MAX_LAYERS, "%d layers",
		 plan->layers);
	for (int i = 0; i < plan->layers; i++)
	{
		must(plan->layer[i].offset == bytes, "offset of layer %d", i);
		bytes += bytes == IMAGE_COMPACT_BYTES ? layer_bits(&plan->layer[i]) / 8 :
			layer_bytes(&plan->layer[i]);
	}
	must(bytes == plan->bytes && bytes <= IMAGE_MAX_BITS / 8 +
		 IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * plan->layers,
		 "a plan of %llu bytes", (unsigned long long) plan->bytes);
}

/* Make it, unless it is large, and check that it is valid. */
static void
check_made(const FilterParams *params, const FilterPlan *plan)
{
	uint8_t    *image;
	const char *fault;

	if (plan->bytes > FILLED_MAX)
		return;
	image = allocate_image(plan->bytes);
	filter_init(image, params, plan);
	fault = image_check(image, plan->bytes, params->kind);
	must(fault == NULL, "made an unsound filter: %s", fault);
	release_image(image);
	let_through++;
}

/* Let it grow as far as it can; the header and descriptors are enough for that. */
static void
check_growth(const FilterParams *params, FilterPlan *plan, uint64_t share)
{
	/* and the bits of a compact image */
	uint8_t    *header = allocate_image(IMAGE_HEADER_BYTES +
										IMAGE_LAYER_BYTES * IMAGE_MAX_LAYERS +
										SMALL_MAX_BYTES);
	FilterStatus status = FILTER_OK;

	while (status == FILTER_OK)
	{
		double		sum = 0;

		check_plan(plan);
		check_made(params, plan);
		for (int i = 0; i < plan->layers; i++)
		{
			sum += plan->layer[i].error_rate;
			check_estimates(&plan->layer[i], share);
		}
		must(sum <= params->error_rate * (1 + SUM_TOLERANCE),
			 "%d layers with an error rate of %g instead of %g", plan->layers,
			 sum, params->error_rate);
		filter_init(header, params, plan);
		status = filter_plan_growth(header, 0, plan);
		operations++;
	}
	must((status == FILTER_FIXED) == (params->growth == 0) &&
		 (status != FILTER_TOO_MANY_LAYERS ||
		  image_layers(header) == IMAGE_MAX_LAYERS), "stops growing");
	release_image(header);
}

static void
check_classic(uint64_t m, unsigned k, uint64_t share)
{
	FilterParams params = {.class = SOME_CLASS};
	FilterPlan	plan;

	if (m < CLASSIC_MIN_BITS)
		m = CLASSIC_MIN_BITS;
	k = 1 + k % CLASSIC_MAX_HASHES;
	if (filter_plan_classic(m, k, &plan) != FILTER_OK)
	{
		must(m > IMAGE_MAX_BITS, "no classic filter of %llu bits",
			 (unsigned long long) m);
		return;
	}
	check_plan(&plan);
	check_made(&params, &plan);
	check_estimates(&plan.layer[0], share);
	operations++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Request		request = read_request(data, size);
	FilterParams params = {
		.capacity = request.capacity > 0 ? request.capacity : 1,
		.error_rate = request.error_rate,
		.growth = request.growth % (IMAGE_MAX_GROWTH + 1),
		.kind = request.kind % 2 == 0 ? FILTER_BLOOM : FILTER_CUCKOO,
		.counting = request.kind % 2 == 0 && request.kind / 4 % 2 == 1
	};
	FilterPlan	plan;

	begin_input("sizes of filters", 0);
	if (request.kind / 2 % 2 == 1)
	{
		check_classic(request.capacity, request.hashes, request.share);
		return 0;
	}
	/* callers see to it; written so that NaN is out of range */
	if (!(params.error_rate >= ERROR_RATE_MIN &&
		  params.error_rate <= ERROR_RATE_MAX))
		return 0;
	if (filter_plan(&params, &plan) == FILTER_OK)
		check_growth(&params, &plan, request.share);
	return 0;
}

/* An error rate, valid more often than not */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, max_size);
	if (size >= 16 && seed % 4 != 0)
	{
		double		share = (double) number_hash(seed) / (double) UINT64_MAX;

		put_double(data + 8, ERROR_RATE_MIN *
				   pow(ERROR_RATE_MAX / ERROR_RATE_MIN, share));
	}
	return size;
}
