/*
 * test_exact.c
 *	  Bloom filters against exact sets: random sequences of all operations, after
 *	  each of which nothing is lost; and the error rate of both kinds, as closely
 *	  as chance allows to say.
 *
 * test_cuckoo_random.c does the same with cuckoo filters.
 */
#include "unit.h"

#include <math.h>

/* ------------------------------------------------------------------------
 * Random operations, against a set
 * ------------------------------------------------------------------------ */

#define NUMBERS			400

/* Larger results are dropped, because otherwise both would grow for ever. */
#define BYTES_MAX		20000
#define LAYERS_MAX		8

typedef struct Model
{
	uint8_t    *image;
	bool		in[NUMBERS];
} Model;

typedef struct Kind
{
	const char *name;
	uint64_t	capacity;		/* classic: bits */
	double		error_rate;		/* 0: classic */
	int			growth;
} Kind;

static void
model_begin(Model *model, const Kind *kind)
{
	memset(model, 0, sizeof(*model));
	model->image = kind->error_rate == 0 ?
		make_classic(kind->capacity, 5) :
		make_filter(kind->capacity, kind->error_rate, kind->growth);
}

static void
model_take(Model *model, uint8_t *image)
{
	release_image(model->image);
	model->image = image;
}

static void
expect_model(const char *what, const Model *model)
{
	uint64_t	hashes[NUMBERS];
	bool		found[NUMBERS];

	for (int x = 0; x < NUMBERS; x++)
		hashes[x] = number_hash(x);
	filter_contains_batch(model->image, hashes, NUMBERS, found);
	for (int x = 0; x < NUMBERS; x++)
		expect((found[x] || !model->in[x]) &&
			   filter_contains(model->image, hashes[x]) == found[x],
			   "%s: %d is lost", what, x);
}

/* The union of both, made in any of three ways; NULL if it is refused or large */
static uint8_t *
unite_models(const Model *a, const Model *b)
{
	FilterPlan	plan;
	uint8_t    *united;

	if (filter_plan_union(a->image, b->image, false, &plan) != FILTER_OK ||
		plan.bytes > BYTES_MAX || plan.layers > LAYERS_MAX)
		return NULL;
	if (filter_unites_in_place(a->image, &plan) && random_below(2) == 0)
	{
		united = copy_image(a->image);
		filter_unite_in_place(united, b->image, &plan);
		return united;
	}
	united = allocate_image(plan.bytes);
	filter_unite(united, a->image, b->image, &plan);
	return united;
}

typedef enum Operation
{
	ADD,
	ADD_MANY,
	UNITE,
	REFUSED_UNION,
	INTERSECT,
	GROW,
	COPY,
	BEGIN,
	OPERATIONS
} Operation;

static Operation
operate(Model *at, Model *other, const Kind *kind)
{
	int			dice = random_below(1000);
	uint64_t	first = random_below(NUMBERS);

	if (dice < 700)
	{
		add_numbers(&at->image, first, 1);
		at->in[first] = true;
		return ADD;
	}
	if (dice < 900)
	{
		uint64_t	count = 1 + random_below(30);

		if (count > NUMBERS - first)
			count = NUMBERS - first;
		add_numbers(&at->image, first, count);
		memset(at->in + first, true, count);
		return ADD_MANY;
	}
	if (dice < 940)
	{
		uint8_t    *united = unite_models(at, other);

		if (united == NULL)
		{
			for (int m = 0; m < 2; m++)
			{
				release_image((m ? at : other)->image);
				model_begin(m ? at : other, kind);
			}
			return REFUSED_UNION;
		}
		model_take(at, united);
		for (int x = 0; x < NUMBERS; x++)
			at->in[x] |= other->in[x];
		return UNITE;
	}
	if (dice < 970)
	{
		if (image_layers(at->image) > 1 || image_layers(other->image) > 1)
			return OPERATIONS;
		filter_intersect_in_place(at->image, other->image);
		for (int x = 0; x < NUMBERS; x++)
			at->in[x] &= other->in[x];
		return INTERSECT;
	}
	if (dice < 975)
	{
		if (kind->growth == 0 || image_bytes(at->image) > BYTES_MAX / 4)
			return OPERATIONS;
		grow_filter(&at->image);
		return GROW;
	}
	if (dice < 980)
	{
		model_take(other, copy_image(at->image));
		memcpy(other->in, at->in, sizeof(at->in));
		return COPY;
	}
	release_image(at->image);
	model_begin(at, kind);
	return BEGIN;
}

static void
test_operations(void)
{
	static const Kind kinds[] = {
		{"small, growing", 5, 0.5, 2}, {"growing evenly", 50, 0.1, 1},
		{"growing fast", 20, 0.01, 16}, {"of two blocks, growing", 10, 1e-5, 2},
		{"fixed", NUMBERS, 0.01, 0}, {"of two blocks, fixed", NUMBERS, 1e-4, 0},
		{"classic", 4001, 0, 0}
	};

	int			steps = SANITIZED ? 5000 : 15000;

	for (int k = 0; k < lengthof(kinds); k++)
	{
		Model		model[2];
		uint64_t	done[OPERATIONS + 1] = {0};

		begin_test("random operations on a bloom filter, %s", kinds[k].name);
		for (int m = 0; m < 2; m++)
			model_begin(&model[m], &kinds[k]);
		for (int i = 0; i < steps; i++)
		{
			int			m = random_below(2);
			Operation	operation = operate(&model[m], &model[1 - m], &kinds[k]);

			done[operation]++;
			expect_model("an operation", &model[m]);
			if (i % 100 == 0)
				expect_sound("an operation", model[m].image);
		}
		for (int m = 0; m < 2; m++)
		{
			expect_sound("all operations", model[m].image);
			release_image(model[m].image);
		}
		/* no union has to be refused, and fixed filters do not grow */
		for (int j = 0; j < OPERATIONS; j++)
			expect(done[j] > 0 || j == REFUSED_UNION ||
				   (kinds[k].growth == 0 && j == GROW),
				   "operation %d was never done", j);
		end_test();
	}
}

/* ------------------------------------------------------------------------
 * The error rate
 * ------------------------------------------------------------------------ */

/*
 * Tell errors above the requested rate from chance, with one false alarm in a
 * million tests.
 */
#define CHANCE			1e-6

/*
 * The most hits among "trials" of probability p that chance explains: more come
 * with a probability of CHANCE at most.  The tail of the binomial distribution is
 * summed up from where its terms are nothing.
 */
static uint64_t
most_by_chance(uint64_t trials, double p)
{
	double		tail = 0;
	uint64_t	k = trials;

	for (;; k--)
	{
		tail += exp(lgamma(trials + 1.0) - lgamma(k + 1.0) -
					lgamma(trials - k + 1.0) + k * log(p) +
					(trials - k) * log1p(-p));
		if (tail > CHANCE || k == 0)
			return k;
	}
}

static void
test_chance(void)
{
	begin_test("the bound of chance");
	/* 20 heads of 20 come once in 1,048,576 times; 19 or 20 21 times as often */
	expect(most_by_chance(20, 0.5) == 19, "%llu of 20",
		   (unsigned long long) most_by_chance(20, 0.5));
	expect(most_by_chance(19, 0.5) == 19, "all of 19 are no miracle");

	/*
	 * Poisson of mean 1: more than 9 come once in 9 million times, more than
	 * 8 in 0.9 million
	 */
	expect(most_by_chance(1000000, 1e-6) == 9, "%llu of mean 1",
		   (unsigned long long) most_by_chance(1000000, 1e-6));
	end_test();
}

/* How elements are added to a filter */
typedef enum Making
{
	AT_ONCE,					/* for all of them */
	GROWN,						/* from a tenth of them */
	UNITED,						/* of two halves */
	TURNED_OVER					/* others were in before (cuckoo) */
} Making;

static uint8_t *
make_measured(FilterKind kind, Making making, uint64_t n, double error_rate,
			  int growth, uint64_t first)
{
	uint8_t    *image = make_of_kind(kind, making == GROWN ? n / 10 : n,
									 error_rate, growth);
	uint8_t    *half;
	uint8_t    *united;
	FilterPlan	plan;

	switch (making)
	{
		case AT_ONCE:
		case GROWN:
			add_numbers(&image, first, n);
			break;
		case UNITED:
			half = make_of_kind(kind, n, error_rate, growth);
			add_numbers(&image, first, n / 2);
			add_numbers(&half, first + n / 2, n - n / 2);
			if (filter_plan_union(image, half, false, &plan) != FILTER_OK)
				give_up("cannot plan a union");
			united = allocate_image(plan.bytes);
			expect(filter_unite(united, image, half, &plan),
				   "could not unite halves");
			release_image(image);
			release_image(half);
			image = united;
			break;
		case TURNED_OVER:
			add_numbers(&image, first + n, n);
			for (uint64_t i = 0; i < n; i++)
			{
				uint64_t	hash = number_hash(first + n + i);

				expect(filter_remove(image, hash) != FILTER_ABSENT, "lost");
				add_numbers(&image, first + i, 1);
			}
			break;
	}
	return image;
}

/*
 * Probe each of many filters once.  Whether it errs is then an independent
 * trial, so the number of errors has a binomial distribution, whatever the
 * filters differ by.
 */
static void
test_error_rates(void)
{
	static const struct
	{
		const char *name;
		FilterKind	kind;
		Making		making;
		uint64_t	n;
		double		error_rate;
		int			growth;
	}			cases[] = {
		{"fixed", FILTER_BLOOM, AT_ONCE, 100, 0.1, 0},
		{"fixed", FILTER_BLOOM, AT_ONCE, 30, 0.01, 0},
		{"fixed", FILTER_BLOOM, AT_ONCE, 30, 1e-4, 0},
		{"growing", FILTER_BLOOM, AT_ONCE, 50, 0.05, 2},
		{"grown", FILTER_BLOOM, GROWN, 100, 0.1, 2},
		{"grown", FILTER_BLOOM, GROWN, 100, 0.01, 2},
		{"grown evenly", FILTER_BLOOM, GROWN, 100, 0.03, 1},
		{"of two halves", FILTER_BLOOM, UNITED, 50, 0.1, 2},
		{"fixed cuckoo", FILTER_CUCKOO, AT_ONCE, 100, 0.03, 0},
		{"fixed cuckoo", FILTER_CUCKOO, AT_ONCE, 100, 0.015, 0},
		{"grown cuckoo", FILTER_CUCKOO, GROWN, 100, 0.03, 2},
		{"cuckoo of two halves", FILTER_CUCKOO, UNITED, 50, 0.1, 2},
		{"cuckoo turned over", FILTER_CUCKOO, TURNED_OVER, 30, 0.1, 2}
	};
	const uint64_t filters = trials(SANITIZED ? 5000 : 100000);

	for (int c = 0; c < lengthof(cases); c++)
	{
		uint64_t	most = most_by_chance(filters, cases[c].error_rate);
		uint64_t	hits = 0;

		begin_test("the error rate is no higher than chance allows: %s, %llu at %g",
				   cases[c].name, (unsigned long long) cases[c].n,
				   cases[c].error_rate);
		for (uint64_t i = 0; i < filters; i++)
		{
			/* numbers of its own, in and absent, of which the seed tells */
			uint64_t	first = random64() >> 1;
			uint8_t    *image = make_measured(cases[c].kind, cases[c].making,
											  cases[c].n, cases[c].error_rate,
											  cases[c].growth, first);

			hits += filter_contains(image, number_hash(first + 2 * cases[c].n));
			release_image(image);
		}
		expect(hits <= most, "%llu of %llu, at most %llu",
			   (unsigned long long) hits, (unsigned long long) filters,
			   (unsigned long long) most);
		/* nor is it hundreds of times lower: something was measured */
		expect(filters * cases[c].error_rate < 100 || hits > 0, "no hit at all");
		end_test();
	}
}

void
test_exact(void)
{
	test_operations();
	test_chance();
	test_error_rates();
}
