/*
 * test_sizing.c
 *	  How large filters are: the table of sizes, the promised error rate, what
 *	  capacity means, and arguments at their limits.
 */
#include "unit.h"

#include <math.h>
#include <time.h>

#include "../../src/filter/ops.h"
#include "../../src/filter/classic.h"

/* Header and descriptor of a filter of one layer */
#define ONE_LAYER		(IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES)

/* Two elements fit into these, whatever the error rate */
#define FEW_BYTES		16

/*
 * Bits an element at a million of them, to be reached by fixed filters, and
 * how much more growing ones may take.
 */
static const struct
{
	double		error_rate;
	double		bits;
	double		growing;
}			size_table[] = {
	{0.1, 4.86, 1.1},
	{0.03, 7.47, 1.07},
	{0.01, 9.95, 1.055},
	{0.001, 15.6, 1.045},
	{1e-4, 19.8, 1.04},
	{1e-5, 25.3, 1.03},
	{1e-6, 31.1, 1.03}
};

/* The table's figures are met within this */
#define SIZE_TOLERANCE	1.01

/* Requested error rates, from the lowest to the highest */
static const double error_rates[] = {
	ERROR_RATE_MIN, 1e-6, 1e-5, 1e-4, 2.99e-4, 3e-4, 1e-3, 0.01, 0.03, 0.1,
	0.25, ERROR_RATE_MAX
};

/* One of all error rates, their logarithms uniform */
static double
random_error_rate(void)
{
	double		share = ldexp((double) random64(), -64);

	return ERROR_RATE_MIN * pow(ERROR_RATE_MAX / ERROR_RATE_MIN, share);
}

/* One of all capacities up to 2^bits, their logarithms uniform */
static uint64_t
random_capacity(int bits)
{
	return 1 + (random64() >> (64 - random_below(bits) - 1));
}

static FilterStatus
plan_filter(uint64_t capacity, double error_rate, int growth, FilterPlan *plan)
{
	FilterParams params = {
		.capacity = capacity,
		.error_rate = error_rate,
		.growth = growth,
		.class = SOME_CLASS
	};

	return filter_plan(&params, plan);
}

static void
test_table(void)
{
	const uint64_t n = 1000000;

	begin_test("a million elements take the bits of the table");
	for (int i = 0; i < lengthof(size_table); i++)
	{
		FilterPlan	plan;

		for (int growth = 0; growth <= 2; growth += 2)
		{
			double		most = size_table[i].bits *
				(growth == 0 ? SIZE_TOLERANCE : size_table[i].growing);
			double		bits;

			expect(plan_filter(n, size_table[i].error_rate, growth,
							   &plan) == FILTER_OK, "no plan");
			bits = 8.0 * (plan.bytes - ONE_LAYER) / n;
			expect(bits <= most, "%g, growth %d: %.3f bits, more than %.3f",
				   size_table[i].error_rate, growth, bits, most);
			expect(growth > 0 || bits >= size_table[i].bits / SIZE_TOLERANCE,
				   "%g: %.3f bits, too few to be true",
				   size_table[i].error_rate, bits);
		}
	}
	end_test();
}

/* Each layer keeps its own error rate, and the rates of all add up. */
static void
test_promise(void)
{
	static const LayerUse uses[] = {LAYER_FIXED, LAYER_GROWING, LAYER_EXACT};

	begin_test("no layer is expected to exceed its error rate at capacity");
	for (int i = 0; i < 1000; i++)
	{
		double		rate = random_error_rate();
		uint64_t	capacity = random_capacity(26);
		LayerUse	use = uses[random_below(lengthof(uses))];
		bool		blocks = random_below(2);
		FilterLayer layer;
		double		expected;

		if (!(blocks ? blocks_plan : layer_plan) (capacity, rate, use,
												  IMAGE_MAX_BITS, &layer))
			continue;
		expect((layer.layout == LAYOUT_SMALL) ==
			   (!blocks && capacity <= SMALL_CAPACITY_MAX), "layout %d",
			   layer.layout);
		expected = layer_expected_error_rate(&layer, capacity);
		expect(expected <= layer.error_rate * (1 + 1e-9),
			   "capacity %llu at %g, use %d: %g expected",
			   (unsigned long long) capacity, layer.error_rate, use, expected);
		expect(layer.bits_full >= 1 && layer.bits_full <= layer_bits(&layer),
			   "%llu bits make it full", (unsigned long long) layer.bits_full);
		expect(layer.hashes >= 1 && layer.hashes <= BLOCK_MAX_HASHES,
			   "%u hashes", layer.hashes);
		expect(layer.capacity == capacity, "another capacity");
		if (use == LAYER_EXACT)
			continue;

		/* the last element of its capacity finds room, even by bad luck */
		expect(layer.bits_full > most_bits(&layer, capacity - 1.0),
			   "capacity %llu at %g, use %d: full before",
			   (unsigned long long) capacity, rate, use);
		/* and when it is full, its error rate is that which it may have */
		layer.bits_set = layer.bits_full + layer_picks(&layer) - 1;
		if (layer.bits_set < layer_bits(&layer))
			expect(layer_error_rate(&layer) <= layer.error_rate * 1.002 *
				   (use == LAYER_FIXED ? FIXED_TOLERANCE : 1),
				   "capacity %llu at %g, use %d: %g when full",
				   (unsigned long long) capacity, layer.error_rate, use,
				   layer_error_rate(&layer));
	}
	end_test();

	begin_test("error rates of all layers that may be add up to the filter's");
	for (int i = 0; i < lengthof(error_rates); i++)
	{
		for (int exact = 0; exact <= 1; exact++)
		{
			double		rate = error_rates[i];
			double		first = first_layer_error_rate(1000, rate, exact);
			double		sum = first;

			for (int index = 1; index < IMAGE_MAX_LAYERS; index++)
			{
				double		next = next_layer_error_rate(rate, first, index);
				FilterLayer layer;

				expect(layer_plan(1000000, next, LAYER_GROWING, IMAGE_MAX_BITS,
								  &layer) &&
					   layer_plan(1000, next, LAYER_GROWING, IMAGE_MAX_BITS,
								  &layer), "%g: no layer %d", rate, index);
				sum += next;
			}
			expect(sum <= rate && sum > 0.99 * rate, "%g: sum %g", rate, sum);
		}
	}
	end_test();
}

/* Bits of a filter that has grown, by plan alone, to "factor" times its capacity */
typedef struct Grown
{
	FilterLayer layer[IMAGE_MAX_LAYERS];
	int			layers;
	double		capacity;
	double		bits;
} Grown;

static void
grow_to(Grown *grown, const FilterParams *params, double elements,
		uint64_t waiting)
{
	while (grown->capacity < elements)
	{
		FilterLayer *next = &grown->layer[grown->layers];

		if (!bloom_plan_layer(params, grown->layer, grown->layers, waiting, next))
			give_up("no plan");
		grown->layers++;
		grown->capacity += next->capacity;
		grown->bits += layer_bits(next);
	}
}

static void
test_growth_size(void)
{
	/* bits an element at 1 % */
	const double ungrown_most = 10.5;
	const double mean_most = 24;
	const double worst_most = 36;
	const double tenfold_most = 16.5;

	/* up to a thousandfold, in steps of 1 % */
	const double step = 1.01;
	const double end = 1000;
	FilterParams params = {
		.capacity = 100000, .error_rate = 0.01, .growth = 2
	};
	Grown		grown = {.layers = 0};
	double		sum = 0;
	double		worst = 0;
	double		bits;
	int			steps = 0;

	begin_test("a filter that grows takes no more bits than the table says");
	grow_to(&grown, &params, 1, 0);
	bits = grown.bits / params.capacity;
	expect(bits <= ungrown_most, "ungrown: %.2f bits", bits);
	for (double factor = 1; factor <= end; factor *= step, steps++)
	{
		grow_to(&grown, &params, factor * params.capacity, 0);
		bits = grown.bits / (factor * params.capacity);
		sum += bits;
		worst = fmax(worst, bits);
	}
	expect(sum / steps <= mean_most, "mean: %.2f bits", sum / steps);
	expect(worst <= worst_most, "worst: %.2f bits", worst);

	/* nine times as many elements at once */
	memset(&grown, 0, sizeof(grown));
	grow_to(&grown, &params, 1, 0);
	grow_to(&grown, &params, 10.0 * params.capacity, 9 * params.capacity);
	bits = grown.bits / grown.capacity;
	expect(grown.layers == 2 && bits <= tenfold_most,
		   "tenfold: %.2f bits, %d layers", bits, grown.layers);
	end_test();
}

/*
 * A fixed filter takes its capacity, and no element that would make it err
 * more than FIXED_TOLERANCE times as often as requested.
 */
static void
test_fixed(void)
{
	static const uint64_t capacities[] = {
		1, 2, 3, 5, 10, 20, 50, 100, 300, 1000, 1500, 1501, 2000, 5000, 10000
	};
	static const double rates[] = {0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6};

	/* of a rate that can be measured in time */
	const double measured_from = 0.001;

	for (int i = 0; i < 2 * lengthof(rates); i++)
	{
		FilterKind	kind = i % 2 == 0 ? FILTER_BLOOM : FILTER_CUCKOO;
		double		rate = rates[i / 2];

		begin_test("fixed %s filters for 1 to 10,000 at %g end where they must",
				   kind_name(kind), rate);
		for (int j = 0; j < lengthof(capacities); j++)
		{
			uint64_t	capacity = capacities[j];
			int			filters = (int) fmax(20, (double) trials(4000) / capacity);
			uint64_t	probes = rate < measured_from ? 0 :
				(uint64_t) fmax(100, 100 / rate / filters);
			uint64_t	hits = 0;
			double		claimed = 0;

			for (int k = 0; k < filters; k++)
			{
				uint8_t    *image = make_of_kind(kind, capacity, rate, 0);
				uint64_t	first = random64() >> 8;
				uint64_t	added = 0;
				uint64_t	hash = number_hash(first);

				while (filter_add_batch(image, &hash, 1) == 1)
					hash = number_hash(first + ++added);
				expect(added >= capacity, "for %llu: refused after %llu",
					   (unsigned long long) capacity,
					   (unsigned long long) added);
				claimed += filter_estimated_error_rate(image);
				hits += count_hits(image, first + ABSENT, probes);
				release_image(image);
			}
			claimed /= filters;
			expect(claimed <= rate * FIXED_TOLERANCE * 1.002,
				   "for %llu: %g expected when full",
				   (unsigned long long) capacity, claimed);
			expect(hits <= most_hits((double) probes * filters,
									 rate * FIXED_TOLERANCE) +
				   SIGMAS * sqrt((double) filters) * probes * rate,
				   "for %llu: %g measured when full",
				   (unsigned long long) capacity,
				   (double) hits / ((double) probes * filters));
		}
		end_test();
	}
}

/*
 * At high error rates an element has few bits in a block, and the computed rate is
 * a little low; a fixed filter keeps its limit nevertheless.
 */
static void
test_fixed_few_hashes(void)
{
	static const uint64_t capacities[] = {2000, 10000};
	static const double rates[] = {0.2, 0.1, 0.05};
	const int	filters = 20;

	begin_test("fixed filters of few hashes end where they must");
	for (int i = 0; i < lengthof(rates); i++)
	{
		for (int j = 0; j < lengthof(capacities); j++)
		{
			uint64_t	probes = SANITIZED ? 10000 : 2000000;
			double		limit = (double) probes * filters * rates[i] *
				FIXED_TOLERANCE;
			uint64_t	hits = 0;

			for (int k = 0; k < filters; k++)
			{
				uint8_t    *image = make_filter(capacities[j], rates[i], 0);
				uint64_t	first = random64() >> 8;
				uint64_t	added = 0;
				uint64_t	hash = number_hash(first);

				while (filter_add_batch(image, &hash, 1) == 1)
					hash = number_hash(first + ++added);
				expect(added >= capacities[j], "refused after %llu",
					   (unsigned long long) added);
				hits += count_hits(image, first + ABSENT, probes);
				release_image(image);
			}
			expect(hits <= limit + SIGMAS * sqrt(limit),
				   "for %llu at %g: %g times the limit when full",
				   (unsigned long long) capacities[j], rates[i], hits / limit);
		}
	}
	end_test();
}

static void
test_monotone(void)
{
	begin_test("more capacity never takes fewer bits");
	for (int i = 0; i < lengthof(error_rates); i++)
	{
		for (int growth = 0; growth <= 2; growth += 2)
		{
			uint64_t	bits = 0;
			uint64_t	step;

			for (uint64_t capacity = 1; capacity < 100000000; capacity += step)
			{
				FilterPlan	plan;

				/* each of the first thousands, then by one in a thousand */
				step = 1 + capacity / 1000;
				if (capacity > 8000)
					step = 1 + capacity / 100;
				expect(plan_filter(capacity, error_rates[i], growth,
								   &plan) == FILTER_OK,
					   "%llu at %g: no plan", (unsigned long long) capacity,
					   error_rates[i]);
				expect(layer_bits(&plan.layer[0]) >= bits,
					   "%llu at %g, growth %d: %llu bits after %llu",
					   (unsigned long long) capacity, error_rates[i], growth,
					   (unsigned long long) layer_bits(&plan.layer[0]),
					   (unsigned long long) bits);
				bits = layer_bits(&plan.layer[0]);
			}
		}
	}
	end_test();
}

static void
test_extremes(void)
{
	static const uint64_t capacities[] = {
		1, 2, IMAGE_MAX_BITS - 1, IMAGE_MAX_BITS, IMAGE_MAX_BITS + 1,
		UINT64_C(1) << 53, UINT64_C(1) << 62, INT64_MAX,
		UINT64_C(1) << 63, UINT64_MAX
	};

	begin_test("capacities and error rates at their limits have an answer");
	for (int i = 0; i < lengthof(capacities); i++)
	{
		for (int j = 0; j < lengthof(error_rates); j++)
		{
			for (int growth = 0; growth <= IMAGE_MAX_GROWTH; growth += 8)
			{
				FilterPlan	plan;
				FilterStatus status = plan_filter(capacities[i],
												  error_rates[j], growth,
												  &plan);

				/* what is requested has at least a bit an element */
				expect(status == (capacities[i] > 2 ? FILTER_TOO_LARGE :
								  FILTER_OK), "%llu at %g: status %d",
					   (unsigned long long) capacities[i], error_rates[j],
					   status);
				expect(capacities[i] > 2 ||
					   plan.bytes <= IMAGE_COMPACT_BYTES + FEW_BYTES,
					   "%llu at %g: %llu bytes",
					   (unsigned long long) capacities[i], error_rates[j],
					   (unsigned long long) plan.bytes);
			}
		}
	}
	end_test();

	begin_test("the largest filter has all the bits that one may have");
	for (int j = 0; j < 2 * lengthof(error_rates); j++)
	{
		double		error_rate = error_rates[j / 2];
		int			growth = j % 2;
		uint64_t	low = 1;
		uint64_t	high = UINT64_C(1) << 33;
		FilterPlan	plan;

		while (high - low > 1)
		{
			uint64_t	middle = (low + high) / 2;

			if (plan_filter(middle, error_rate, growth, &plan) == FILTER_OK)
				low = middle;
			else
				high = middle;
		}
		expect(plan_filter(low, error_rate, growth, &plan) == FILTER_OK,
			   "no plan");
		expect(plan.bytes - ONE_LAYER <= IMAGE_MAX_BITS / 8,
			   "%g: %llu bytes", error_rate,
			   (unsigned long long) plan.bytes);
		expect(plan.bytes - ONE_LAYER > 0.999 * IMAGE_MAX_BITS / 8,
			   "%g: only %llu bytes", error_rate,
			   (unsigned long long) plan.bytes);
	}
	end_test();

	begin_test("classic filters have up to all the bits that one may have");
	{
		FilterPlan	plan;

		expect(filter_plan_classic(CLASSIC_MIN_BITS, 1, &plan) == FILTER_OK,
			   "fewest bits");
		expect(filter_plan_classic(IMAGE_MAX_BITS, CLASSIC_MAX_HASHES,
								   &plan) == FILTER_OK, "all bits");
		expect(plan.bytes == ONE_LAYER + IMAGE_MAX_BITS / 8, "bytes");
		expect(filter_plan_classic(IMAGE_MAX_BITS + 1, 1, &plan) ==
			   FILTER_TOO_LARGE, "a bit more");
		expect(filter_plan_classic(UINT64_MAX, 1, &plan) == FILTER_TOO_LARGE,
			   "all bits of a number");
	}
	end_test();
}

/* A filter grows, layer by layer, until an answer other than a plan. */
static void
test_growth_ends(void)
{
	/* of the larger, two layers have more bits together than there may be */
	static const uint64_t capacities[] = {100, 250 * 1000 * 1000};

	begin_test("growth is by the requested factor, and ends");
	for (int i = 0; i < 2 * lengthof(capacities) * IMAGE_MAX_GROWTH; i++)
	{
		int			growth = i / 2 / lengthof(capacities) + 1;
		FilterKind	kind = i % 2 == 0 ? FILTER_BLOOM : FILTER_CUCKOO;
		bool		large = i / 2 % lengthof(capacities) == 1;
		FilterParams params = {
			.capacity = capacities[large],
			.error_rate = 0.01,
			.growth = growth,
			.class = SOME_CLASS,
			.kind = kind
		};
		FilterPlan	plan;

		/* descriptors alone: planning does not look at bits */
		uint8_t    *image = allocate_image(IMAGE_HEADER_BYTES +
										   IMAGE_LAYER_BYTES *
										   IMAGE_MAX_LAYERS);
		FilterStatus status;

		expect(filter_plan(&params, &plan) == FILTER_OK, "no plan");
		do
		{
			double		before = 0;

			for (int j = 0; j < plan.layers && kind == FILTER_BLOOM; j++)
			{
				/*
				 * a part of all before, at least 64, from the 20th layer on
				 * twice
				 */
				double		part = floor(before * growth / 4) * (j >= 19 ? 2 : 1);

				expect(j == 0 || plan.layer[j].capacity == fmax(part, 64),
					   "capacity");
				before += plan.layer[j].capacity;
			}
			for (int j = 1; j < plan.layers && kind == FILTER_CUCKOO; j++)
				expect(plan.layer[j].size ==
					   plan.layer[j - 1].size * growth, "windows");
			expect(plan.bytes <= IMAGE_HEADER_BYTES +
				   IMAGE_LAYER_BYTES * plan.layers + IMAGE_MAX_BITS / 8,
				   "%llu bytes", (unsigned long long) plan.bytes);
			filter_init(image, &params, &plan);
			status = filter_plan_growth(image, 0, &plan);
		} while (status == FILTER_OK);
		expect(status == (growth == 1 && !large ? FILTER_TOO_MANY_LAYERS :
						  FILTER_TOO_LARGE), "growth %d: status %d", growth,
			   status);
		expect(kind == FILTER_CUCKOO ? (plan.layers == 2) == large :
			   (plan.layers < 8) == large, "growth %d: %d layers", growth,
			   plan.layers);
		release_image(image);
	}
	end_test();
}

/* Sizes that come out exactly, and error rates that differ in the last digit */
static void
test_last_digit(void)
{
	static const double rates[] = {0.5, 0.25, 0.125, 0.0625, 0.03125};

	begin_test("the last digit of an error rate does not change a size");
	for (int i = 0; i < lengthof(rates); i++)
	{
		for (int use = LAYER_FIXED; use <= LAYER_EXACT; use++)
		{
			for (uint64_t n = 1; n <= 4; n++)
			{
				const double near[] = {
					nextafter(rates[i], 0), rates[i], nextafter(rates[i], 1)
				};
				FilterLayer layer[3];

				for (int j = 0; j < 3; j++)
					expect(layer_plan(n, near[j], (LayerUse) use,
									  IMAGE_MAX_BITS, &layer[j]), "no plan");
				for (int j = 0; j < 3; j += 2)
					expect(layer[j].size == layer[1].size &&
						   layer[j].hashes == layer[1].hashes &&
						   layer[j].bits_full == layer[1].bits_full,
						   "%llu at %g, use %d: %llu bits, not %llu",
						   (unsigned long long) n, rates[i], use,
						   (unsigned long long) layer[j].size,
						   (unsigned long long) layer[1].size);
			}
		}
	}
	end_test();
}

/* The plans of one error rate, whatever was planned in between */
static void
test_determinism(void)
{
	begin_test("a plan depends on its arguments alone");
	for (int i = 0; i < 15; i++)
	{
		double		rate = random_error_rate();
		uint64_t	capacity[20];
		FilterPlan	first[20];
		FilterPlan	again;

		for (int j = 0; j < lengthof(capacity); j++)
		{
			capacity[j] = random_capacity(14);
			memset(&first[j], 0, sizeof(FilterPlan));
			plan_filter(capacity[j], rate, 2, &first[j]);
		}
		plan_filter(random_capacity(14), random_error_rate(), 0, &again);
		for (int j = lengthof(capacity) - 1; j >= 0; j--)
		{
			if (j % 5 == 0)
				plan_filter(random_capacity(14), random_error_rate(), 2,
							&again);
			memset(&again, 0, sizeof(again));
			plan_filter(capacity[j], rate, 2, &again);
			/* both began as zeros, so that padding is equal */
			expect(memcmp((uint8_t *) &first[j], (uint8_t *) &again,
						  sizeof(again)) == 0,
				   "%llu at %g: another plan",
				   (unsigned long long) capacity[j], rate);
		}
	}
	end_test();
}

/* "builds" filters of n elements, each of which must take them as it is made */
static void
try_capacity(uint64_t n, double error_rate, int growth, int builds)
{
	uint8_t    *empty = make_filter(n, error_rate, growth);
	uint8_t    *image = copy_image(empty);
	uint64_t	hashes[BATCH];

	for (int i = 0; i < builds; i++)
	{
		uint64_t	left = n;

		memcpy(image, empty, image_bytes(empty));
		while (left > 0)
		{
			size_t		count = left < BATCH ? left : BATCH;

			for (size_t j = 0; j < count; j++)
				hashes[j] = random64();
			if (filter_add_batch(image, hashes, count) < count)
				break;
			left -= count;
		}
		expect(left == 0, "%llu at %g: full in build %d",
			   (unsigned long long) n, error_rate, i);
	}
	release_image(image);
	release_image(empty);
}

static void
test_capacity(void)
{
	static const double rates[] = {0.1, 0.01, 1e-3, 1e-5};
	static const uint64_t small[] = {1, 2, 3, 10, 30, 100, 300, 1000};

	for (int growth = 0; growth <= 2; growth += 2)
	{
		begin_test("a %s filter takes its capacity of elements",
				   growth ? "growing (one layer of a)" : "fixed");
		for (int i = 0; i < lengthof(rates); i++)
		{
			/* the first rate with as many builds as chance could matter in */
			for (int j = 0; j < lengthof(small); j++)
				try_capacity(small[j], rates[i], growth,
							 i == 1 ? 10000 : 1000);
			try_capacity(10000, rates[i], growth, 20);
			try_capacity(100000, rates[i], growth, 2);
		}
		end_test();
	}
}

/* Processor time of planning a filter of this error rate, and some growth */
static double
time_plans(double error_rate)
{
	/* descriptors alone: the time to clear and copy bits is no matter here */
	uint8_t    *image = allocate_image(IMAGE_HEADER_BYTES +
									   IMAGE_LAYER_BYTES * IMAGE_MAX_LAYERS);
	FilterParams params = {
		.capacity = 20000,
		.error_rate = error_rate,
		.growth = 2,
		.class = SOME_CLASS
	};
	clock_t		begin = clock();
	clock_t		end;
	FilterPlan	plan;

	filter_plan(&params, &plan);
	for (int i = 0; i < 6; i++)
	{
		filter_init(image, &params, &plan);
		filter_plan_growth(image, 0, &plan);
	}
	end = clock();
	release_image(image);
	return (double) (end - begin) / CLOCKS_PER_SEC;
}

static void
test_kept(void)
{
	static const double rates[] = {0.1, 0.03, 0.01, 1e-3, 1e-4};
	const int	again = 20;

	begin_test("the sizing for an error rate is cached for the next filters");
	for (int i = 0; i < lengthof(rates); i++)
	{
		/* one that is near, and has not been planned yet */
		double		first = time_plans(rates[i] * 1.0001);
		double		next = 0;

		time_plans(rates[i]);
		for (int j = 0; j < again; j++)
			next += time_plans(rates[i]);
		expect(next / again < first / 10, "%g: %g s, then %g s", rates[i],
			   first, next / again);
	}
	end_test();
}

/* A set has at most MAX_SHARDS shards, and as many as that if it needs them. */
static void
test_most_shards(void)
{
	const uint64_t step = 1000000;
	FilterParams params = {.error_rate = 0.01, .growth = 2};
	FilterParams each;
	uint64_t	least = 1;
	uint64_t	most = 1000000;
	uint64_t	shards;

	begin_test("the largest number of shards");
	/* the largest capacity, in steps, that has a plan */
	while (least < most)
	{
		uint64_t	middle = least + (most - least + 1) / 2;

		params.capacity = middle * step;
		shards = filter_plan_shards(&params, &each);
		expect(shards <= MAX_SHARDS, "%g shards", (double) shards);
		if (shards > 0)
			least = middle;
		else
			most = middle - 1;
	}
	params.capacity = least * step;
	shards = filter_plan_shards(&params, &each);
	expect(shards > 0.999 * MAX_SHARDS, "%g shards", (double) shards);
	expect(least * step > 12000000000, "%g elements", (double) least * step);
	expect(least * step < 13000000000, "%g elements", (double) least * step);
	end_test();
}

/* Numbers that no checked image has, and that its error rates are then */
static const double strange[] = {
	NAN, -INFINITY, INFINITY, -1.6e304, 1.6e304, -1, -0.0, 0, 5e-324, 1e-300, 1e-100, 1e-20,
	0.75, 1 - 1e-16, 1, 1 + 1e-15, 2
};

/* Bytes that nobody has checked may be planned from: to no effect, but it ends. */
static void
test_unchecked(void)
{
	static const uint64_t capacities[] = {0, 1, 100, 1501, 1000000, UINT64_C(1) << 32, UINT64_MAX};
	FilterLayer layer;

	begin_test("no plan for error rates that filters cannot have");
	for (size_t i = 0; i < lengthof(strange); i++)
	{
		for (size_t j = 0; j < lengthof(capacities); j++)
			for (int use = LAYER_FIXED; use <= LAYER_EXACT; use++)
			{
				/* a small layer has no search that depends on the rate */
				if (capacities[j] <= SMALL_CAPACITY_MAX)
					(void) layer_plan(capacities[j], strange[i], use, IMAGE_MAX_BITS, &layer);
				expect(!blocks_plan(capacities[j], strange[i], use, IMAGE_MAX_BITS, &layer),
					   "planned for %g", strange[i]);
			}
		for (size_t j = 0; j < lengthof(strange); j++)
			for (int count = 0; count < IMAGE_MAX_LAYERS; count++)
			{
				double		rate = next_layer_error_rate(strange[i], strange[j], count);

				(void) blocks_plan(1000, rate, LAYER_GROWING, IMAGE_MAX_BITS, &layer);
				(void) layer_plan(100, rate, LAYER_GROWING, IMAGE_MAX_BITS, &layer);
			}
	}
	end_test();

	begin_test("the last layer of the lowest error rate has a plan");
	expect(blocks_plan(1000, next_layer_error_rate(ERROR_RATE_MIN,
												   ERROR_RATE_MIN, IMAGE_MAX_LAYERS - 1),
					   LAYER_GROWING, IMAGE_MAX_BITS, &layer), "it has none");
	end_test();
}

/* The same for layers of cuckoo filters */
static void
test_unchecked_cuckoo(void)
{
	static const uint64_t sizes[] = {0, 1, 2, 100, UINT64_C(1) << 32, UINT64_MAX};
	static const unsigned hashes[] = {0, 5, 6, 40, 41, 63, 64, 255, UINT32_MAX - 1, UINT32_MAX};

	begin_test("plans from cuckoo layers that filters cannot have");
	for (size_t i = 0; i < lengthof(strange); i++)
		for (size_t j = 0; j < lengthof(sizes); j++)
			for (size_t k = 0; k < lengthof(hashes); k++)
			{
				FilterParams params = {
					.kind = FILTER_CUCKOO, .capacity = sizes[j], .error_rate = strange[i], .growth = 2
				};
				FilterLayer before = {
					.layout = LAYOUT_CUCKOO, .size = sizes[j], .hashes = hashes[k], .multiple = 1,
					.error_rate = 0.001
				};
				FilterLayer layer;

				(void) cuckoo_plan_layer(&params, &before, 0, 0, &layer);
				if (cuckoo_plan_layer(&params, &before, 1, 0, &layer))
					expect(layer.hashes >= CUCKOO_MIN_FINGERPRINT &&
						   layer.hashes <= CUCKOO_MAX_FINGERPRINT, "%u bits", layer.hashes);
			}
	end_test();
}

void
test_sizing(void)
{
	test_unchecked();
	test_unchecked_cuckoo();
	test_most_shards();
	test_table();
	test_promise();
	test_growth_size();
	test_fixed();
	test_fixed_few_hashes();
	test_monotone();
	test_extremes();
	test_growth_ends();
	test_last_digit();
	test_determinism();
	test_capacity();
	test_kept();
}
