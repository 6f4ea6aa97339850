/*
 * layouts.c
 *	  The table of layouts, and that of kinds of filters; see ops.h.
 */
#include "ops.h"

const LayoutEntry layouts[] = {
	[LAYOUT_EMPTY] = {"empty", &set_ops},
	[LAYOUT_EXPLICIT] = {"explicit", &set_ops},
	[LAYOUT_BLOCK512] = {"block512", &bloom_ops},
	[LAYOUT_BLOCK512X2] = {"block512x2", &bloom_ops},
	[LAYOUT_CLASSIC] = {"classic", &bloom_ops},
	[LAYOUT_CUCKOO] = {"cuckoo", &cuckoo_ops},
	[LAYOUT_SMALL] = {"small", &bloom_ops},
	[LAYOUT_COUNTING] = {"counting", &counting_ops},
	[LAYOUT_COUNTINGX2] = {"countingx2", &counting_ops},
	[LAYOUT_FOREIGN] = {"foreign", &foreign_ops}
};

const int	layout_count = sizeof(layouts) / sizeof(layouts[0]);

const KindEntry filter_kinds[FILTER_KINDS] = {
	[FILTER_BLOOM] = {
		"bloom", &bloom_ops, "is a bloom filter",
		"does not begin with the bytes \"blm\""
	},
	[FILTER_CUCKOO] = {
		"cuckoo", &cuckoo_ops, "is a cuckoo filter",
		"does not begin with the bytes \"cko\""
	}
};
