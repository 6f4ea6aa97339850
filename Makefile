# bloomfilter: filter data types for PostgreSQL

EXTENSION = bloomfilter
MODULE_big = bloomfilter
DATA = $(wildcard sql/*--*.sql)

# The filters themselves: plain C, built here and by test/unit and bench alike
FILTER_SOURCES = $(sort $(wildcard src/filter/*.c src/filter/*/*.c))
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))

# No symbol but the SQL entry points leaves the library: the server exports
# names such as bloom_create itself, and PostgreSQL 15 has no default for this.
# bloom_sizing.c must come to the same number everywhere: no fused multiply-add.
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
	bench/error_rate bench/hash_probe bench/layouts bench/growth \
	$(addprefix test/fuzz/,make_corpus found failed) \
	$(addprefix test/fuzz/fuzz_,$(FUZZ_TARGETS))

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Few servers are configured with --enable-depend; and objects that were built with
# different headers make a library that crashes
$(OBJS) $(OBJS:.o=.bc): $(wildcard src/*.h src/*/*.h src/*/*/*.h)

# Their headers declare callbacks with (), which C23, the default of gcc 15, takes for
# (void).  Headers that were configured with C23, as of a later version, need it.
ifneq ($(filter 15 16 17,$(MAJORVERSION)),)
override CFLAGS += -std=gnu17
endif

# What follows needs no server: src/filter/ alone, with its tests and benchmarks
CORE_CFLAGS = -std=gnu99 -O2 -g -Wall -Wextra -Wno-unused-parameter -ffp-contract=off
CORE_INPUT = $(FILTER_SOURCES) $(wildcard src/filter/*.h src/filter/*/*.h) $(wildcard bench/*.h)
UNIT_SOURCES = $(sort $(wildcard test/unit/*.c))
UNIT_INPUT = $(UNIT_SOURCES) $(wildcard test/unit/*.h) $(CORE_INPUT)
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover

test/unit/unit_test: $(UNIT_INPUT)
	$(CC) $(CORE_CFLAGS) $(UNIT_SOURCES) $(FILTER_SOURCES) -lm -o $@

# With what else moves variables on the stack: Debian's servers are built with it, and
# gcc 13 and later look for uses after return unless told otherwise
test/unit/unit_test_sanitize: $(UNIT_INPUT)
	$(CC) $(CORE_CFLAGS) $(SANITIZERS) -fstack-protector-strong $(UNIT_SOURCES) $(FILTER_SOURCES) -lm -o $@

bench/error_rate bench/hash_probe bench/layouts bench/growth: %: %.c $(CORE_INPUT)
	$(CC) $(CORE_CFLAGS) $< $(FILTER_SOURCES) -lm $(LIBS_$(@F)) -o $@

# Debian's libbloom, measured beside
LIBS_layouts = -lbloom

unit-check: test/unit/unit_test
	test/unit/unit_test

unit-check-sanitize: test/unit/unit_test_sanitize
	ASAN_OPTIONS=detect_stack_use_after_return=1 test/unit/unit_test_sanitize

# Fuzzing, with clang's libFuzzer: so many seconds for each target, two at a time
# with -j 2.  What is new goes to test/fuzz/found, what fails to test/fuzz/failed.
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 1
FUZZ_TARGETS = image operations hashset sizing foreign
FUZZ_SHARED = test/fuzz/subject.c test/fuzz/mutate.c
FUZZ_INPUT = $(wildcard test/fuzz/*.c test/fuzz/*.h) $(CORE_INPUT)
# Two images of some layers, and an input that takes so long (seconds) is a failure
FUZZ_LIMITS = -max_len=4096 -timeout=10
# Without a look at each comparison, which the sanitizers have many of: twice as many
# inputs, and mutate.c knows what to compare with
FUZZ_FLAGS = $(SANITIZERS) -fsanitize=fuzzer -fno-sanitize-coverage=trace-cmp

$(addprefix test/fuzz/fuzz_,$(FUZZ_TARGETS)): %: $(FUZZ_INPUT)
	$(FUZZ_CC) $(CORE_CFLAGS) $(FUZZ_FLAGS) $*.c $(FUZZ_SHARED) $(FILTER_SOURCES) \
		-lm -o $@

test/fuzz/make_corpus: $(FUZZ_INPUT)
	$(CC) $(CORE_CFLAGS) $@.c test/fuzz/subject.c $(FILTER_SOURCES) -lm -o $@

fuzz: $(addprefix fuzz-,$(FUZZ_TARGETS))

fuzz-%: test/fuzz/fuzz_%
	mkdir -p test/fuzz/found/$* test/fuzz/failed
	test/fuzz/fuzz_$* -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) \
		$(FUZZ_LIMITS) -print_final_stats=1 -artifact_prefix=test/fuzz/failed/ \
		test/fuzz/found/$* test/fuzz/corpus/$*

bench-c: bench/error_rate bench/hash_probe
	bench/hash_probe
	bench/error_rate --quick

# What is committed, for PGXN.  In UTC, for zip keeps the local time; so that the
# same commit gives the same bytes everywhere
DISTVERSION = $(shell sed -n 's/^   "version": "\(.*\)",$$/\1/p' $(srcdir)/META.json)
DISTNAME = $(EXTENSION)-$(DISTVERSION)

dist:
	TZ=UTC git archive --format=zip --prefix=$(DISTNAME)/ -o $(DISTNAME).zip HEAD

.PHONY: unit-check unit-check-sanitize fuzz bench-c dist
