# bloomfilter: filter data types for PostgreSQL

EXTENSION = bloomfilter
EXTVERSION = 1.0
MODULE_big = bloomfilter
DATA = $(wildcard sql/*--*.sql)

# The filters themselves: plain C, built here and by test/unit and bench alike
FILTER_SOURCES = $(sort $(wildcard src/filter/*.c))
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)) $(FILTER_SOURCES))

# No symbol but the SQL entry points leaves the library: the server exports
# names such as bloom_create itself, and PostgreSQL 15 has no default for this
# sizing.c must come to the same number everywhere: no fused multiply-add
PG_CFLAGS = -fvisibility=hidden -ffp-contract=off -Wextra -Wno-unused-parameter \
	-Wno-missing-field-initializers -Wno-sign-compare
PG_CPPFLAGS = -I$(srcdir)/src

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=bloomfilter --encoding=UTF8 --no-locale
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
EXTRA_CLEAN = test/unit/unit_test bench/filter_bench

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
