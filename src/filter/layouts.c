/*
 * layouts.c
 *	  The only table of layouts; see layouts.h.
 */
#include "layouts.h"

#include "bits.h"
#include "bloom.h"
#include "classic.h"
#include "counting.h"
#include "cuckoo.h"
#include "foreign/foreign.h"
#include "set.h"
#include "sizing.h"

static const FilterOps set_ops = {
	.contains = set_contains,
	.contains_batch = set_contains_batch,
	.cardinality = set_cardinality,
	.remove = set_remove,
	.check_image = set_check_image
};

static const FilterOps bloom_ops = {
	.kind = FILTER_BLOOM,
	.layer_bits = bloom_layer_bits,
	.layer_bytes = bloom_layer_bytes,
	.contains = bloom_contains,
	.contains_batch = bloom_contains_batch,
	.slices = bloom_slices,
	.contains_sliced = bloom_contains_sliced,
	.cardinality = bloom_cardinality,
	.header_cardinality = bloom_header_cardinality,
	.error_rate = bloom_error_rate,
	.layer_cardinality = layer_cardinality,
	.add_batch = bloom_add_batch,
	.plan_layer = bloom_plan_layer,
	.plan_union = bits_plan_union,
	.unite = bits_unite,
	.unite_in_place = bits_unite_in_place,
	.intersect_in_place = bits_intersect_in_place,
	.check_image = bloom_check_image,
	.check_layer = bloom_check_layer,
	.check_bits = bloom_check_bits
};

static const FilterOps compact_ops = {
	.kind = FILTER_BLOOM,
	.layer_bits = bloom_layer_bits,
	.layer_bytes = bloom_layer_bytes,
	.contains = compact_contains,
	.contains_batch = compact_contains_batch,
	.slices = compact_slices,
	.contains_sliced = compact_contains_sliced,
	.cardinality = bloom_cardinality,
	.header_cardinality = bloom_header_cardinality,
	.error_rate = bloom_error_rate,
	.layer_cardinality = layer_cardinality,
	.add_batch = compact_add_batch,
	.plan_layer = bloom_plan_layer,
	.plan_union = bits_plan_union,
	.unite = bits_unite,
	.unite_in_place = bits_unite_in_place,
	.intersect_in_place = bits_intersect_in_place,
	.check_image = bloom_check_image,
	.check_layer = bloom_check_layer,
	.check_bits = bloom_check_bits
};

static const FilterOps counting_ops = {
	.kind = FILTER_BLOOM,
	.multiset = true,
	.layer_bits = counting_layer_bits,
	.layer_bytes = counting_layer_bytes,
	.contains = bloom_contains,
	.contains_batch = bloom_contains_batch,
	.slices = bloom_slices,
	.contains_sliced = bloom_contains_sliced,
	.count = counting_count,
	.cardinality = bloom_header_cardinality,
	.error_rate = bloom_error_rate,
	.layer_cardinality = layer_cardinality,
	.add_batch = counting_add_batch,
	.remove = counting_remove,
	.plan_layer = bloom_plan_layer,
	.plan_union = counting_plan_union,
	.unite = counting_unite,
	.unite_in_place = counting_unite_in_place,
	.intersect_in_place = counting_intersect_in_place,
	.check_image = bloom_check_image,
	.check_layer = counting_check_layer,
	.check_bits = counting_check_bits
};

static const FilterOps classic_ops = {
	.kind = FILTER_BLOOM,
	.layer_bits = classic_layer_bits,
	.contains = classic_contains,
	.contains_batch = classic_contains_batch,
	.slices = classic_slices,
	.contains_sliced = classic_contains_sliced,
	.cardinality = classic_cardinality,
	.error_rate = classic_error_rate,
	.layer_cardinality = classic_layer_cardinality,
	.add_batch = classic_add_batch,
	.plan_union = bits_plan_union,
	.unite = bits_unite,
	.unite_in_place = bits_unite_in_place,
	.intersect_in_place = bits_intersect_in_place,
	.check_image = classic_check_image,
	.check_layer = classic_check_layer,
	.check_bits = classic_check_bits
};

static const FilterOps cuckoo_ops = {
	.kind = FILTER_CUCKOO,
	.multiset = true,
	.full_early = true,
	.layer_bits = cuckoo_layer_bits,
	.layer_bytes = cuckoo_layer_bytes,
	.contains = cuckoo_contains,
	.contains_batch = cuckoo_contains_batch,
	.slices = cuckoo_slices,
	.contains_sliced = cuckoo_contains_sliced,
	.count = cuckoo_count,
	.cardinality = cuckoo_cardinality,
	.error_rate = cuckoo_error_rate,
	.layer_cardinality = cuckoo_layer_cardinality,
	.layer_bits_set = cuckoo_layer_bits_set,
	.add_batch = cuckoo_add_batch,
	.add_unique_batch = cuckoo_add_unique_batch,
	.remove = cuckoo_remove,
	.compact = cuckoo_compact,
	.plan_layer = cuckoo_plan_layer,
	.compatible = cuckoo_compatible,
	.plan_union = cuckoo_plan_union,
	.plan_union_apart = cuckoo_plan_union_apart,
	.unite = cuckoo_unite,
	.check_image = cuckoo_check_image,
	.check_layer = cuckoo_check_layer,
	.check_bits = cuckoo_check_slots
};

static const FilterOps foreign_ops = {
	.kind = FILTER_BLOOM,
	.detailed = true,
	.layer_bits = foreign_layer_bits,
	.contains = foreign_contains_ours,
	.contains_batch = foreign_contains_ours_batch,
	.slices = foreign_slices,
	.contains_sliced = foreign_contains_ours_sliced,
	.cardinality = foreign_cardinality,
	.error_rate = foreign_error_rate,
	.layer_cardinality = foreign_layer_cardinality,
	.may_fill = foreign_may_fill,
	.clear_layer = foreign_clear_layer,
	.compatible = foreign_compatible,
	.plan_union = foreign_plan_union,
	.unite = foreign_unite,
	.intersect_in_place = foreign_intersect_in_place,
	.check_image = foreign_check_image,
	.check_layer = foreign_check_layer,
	.check_bits = foreign_check_bits
};

const LayoutEntry layouts[] = {
	[LAYOUT_EMPTY] = {"empty", &set_ops, NULL},
	[LAYOUT_EXPLICIT] = {"explicit", &set_ops, NULL},
	[LAYOUT_BLOCK512] = {"block512", &bloom_ops, &bloom_ops},
	[LAYOUT_BLOCK512X2] = {"block512x2", &bloom_ops, &bloom_ops},
	[LAYOUT_CLASSIC] = {"classic", &classic_ops, &classic_ops},
	[LAYOUT_CUCKOO] = {"cuckoo", &cuckoo_ops, &cuckoo_ops},
	[LAYOUT_SMALL] = {"small", &compact_ops, &bloom_ops},
	[LAYOUT_COUNTING] = {"counting", &counting_ops, &counting_ops},
	[LAYOUT_COUNTINGX2] = {"countingx2", &counting_ops, &counting_ops},
	[LAYOUT_FOREIGN] = {"foreign", &foreign_ops, &foreign_ops}
};

const int	layout_count = sizeof(layouts) / sizeof(layouts[0]);

const KindEntry kinds[FILTER_KINDS] = {
	[FILTER_BLOOM] = {
		"bloom", &bloom_ops, "is a bloom filter",
		"does not begin with the bytes \"blm\""
	},
	[FILTER_CUCKOO] = {
		"cuckoo", &cuckoo_ops, "is a cuckoo filter",
		"does not begin with the bytes \"cko\""
	}
};
