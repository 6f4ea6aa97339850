# bloomfilter: filter data types for PostgreSQL

EXTENSION = bloomfilter
MODULE_big = bloomfilter
DATA = $(wildcard sql/*--*.sql)

# The filters themselves: plain C, built here and by test/unit and bench alike
FILTER_SOURCES = $(sort $(wildcard src/filter/*.c))
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)) $(FILTER_SOURCES))

# No symbol but the SQL entry points leaves the library: the server exports
# names such as bloom_create itself, and PostgreSQL 15 has no default for this.
# sizing.c must come to the same number everywhere: no fused multiply-add.
# Functions that are called by one pointer have parameters that not all need.
PG_CFLAGS = -fvisibility=hidden -ffp-contract=off -Wextra -Wno-unused-parameter
# Of warnings we want our own, not those of the server's headers
PG_CPPFLAGS = -I$(srcdir)/src -isystem $(includedir_server)

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=bloomfilter --encoding=UTF8 --no-locale
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=bloomfilter
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
EXTRA_CLEAN = test/unit/unit_test test/unit/unit_test_sanitize \
	bench/error_rate bench/hash_probe bench/layouts bench/growth

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# What follows needs no server: src/filter/ alone, with its tests and benchmarks
CORE_CFLAGS = -std=gnu99 -O2 -g -Wall -Wextra -ffp-contract=off
CORE_INPUT = $(FILTER_SOURCES) $(wildcard src/filter/*.h) $(wildcard bench/*.h)
UNIT_SOURCES = $(sort $(wildcard test/unit/*.c))
UNIT_INPUT = $(UNIT_SOURCES) $(wildcard test/unit/*.h) $(CORE_INPUT)
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover

test/unit/unit_test: $(UNIT_INPUT)
	$(CC) $(CORE_CFLAGS) $(UNIT_SOURCES) $(FILTER_SOURCES) -lm -o $@

test/unit/unit_test_sanitize: $(UNIT_INPUT)
	$(CC) $(CORE_CFLAGS) $(SANITIZERS) $(UNIT_SOURCES) $(FILTER_SOURCES) -lm -o $@

bench/error_rate bench/hash_probe bench/layouts bench/growth: %: %.c $(CORE_INPUT)
	$(CC) $(CORE_CFLAGS) $< $(FILTER_SOURCES) -lm $(LIBS_$(@F)) -o $@

# Debian's libbloom, measured beside
LIBS_layouts = -lbloom

unit-check: test/unit/unit_test
	test/unit/unit_test

unit-check-sanitize: test/unit/unit_test_sanitize
	test/unit/unit_test_sanitize

bench-c: bench/error_rate bench/hash_probe
	bench/hash_probe
	bench/error_rate --quick

# What is committed, for PGXN.  In UTC, for zip keeps the local time; so that the
# same commit gives the same bytes everywhere
DISTVERSION = $(shell sed -n 's/^   "version": "\(.*\)",$$/\1/p' $(srcdir)/META.json)
DISTNAME = $(EXTENSION)-$(DISTVERSION)

dist:
	TZ=UTC git archive --format=zip --prefix=$(DISTNAME)/ -o $(DISTNAME).zip HEAD

.PHONY: unit-check unit-check-sanitize bench-c dist
