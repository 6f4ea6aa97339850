/* bloomfilter--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomfilter" to load this file. \quit

-- ------------------------------------------------------------------------
-- bloom: the type
-- ------------------------------------------------------------------------

CREATE TYPE bloom;

CREATE FUNCTION _bloom_in(cstring) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION _bloom_out(bloom) RETURNS cstring
	AS 'MODULE_PATHNAME', 'bloomfilter_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION _bloom_recv(internal) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION _bloom_send(bloom) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- A full filter does not compress, and an uncompressed value can be read by
-- slices
CREATE TYPE bloom (
	INPUT = _bloom_in,
	OUTPUT = _bloom_out,
	RECEIVE = _bloom_recv,
	SEND = _bloom_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);

COMMENT ON TYPE bloom IS 'Bloom filter: a set that answers "certainly not in it" or "probably in it"';
COMMENT ON FUNCTION _bloom_in(cstring) IS 'I/O: base64 of the bytes';
COMMENT ON FUNCTION _bloom_out(bloom) IS 'I/O: base64 of the bytes';
COMMENT ON FUNCTION _bloom_recv(internal) IS 'I/O: the bytes';
COMMENT ON FUNCTION _bloom_send(bloom) IS 'I/O: the bytes';

-- ------------------------------------------------------------------------
-- bloom: casts
-- ------------------------------------------------------------------------

CREATE FUNCTION _bloom_from_bytea(bytes bytea) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_from_bytea'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _bloom_from_bytea(bytea)
	IS 'filter of these bytes';

CREATE CAST (bytea AS bloom) WITH FUNCTION _bloom_from_bytea(bytea);
COMMENT ON CAST (bytea AS bloom) IS 'filter of these bytes';
CREATE CAST (bloom AS bytea) WITH FUNCTION _bloom_send(bloom);
COMMENT ON CAST (bloom AS bytea) IS 'bytes of the filter';

-- ------------------------------------------------------------------------
-- Planner, for both types
-- ------------------------------------------------------------------------

CREATE FUNCTION _bloom_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomfilter_support'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _bloom_support(internal)
	IS 'planner support of functions of filters';

CREATE FUNCTION _bloom_contains_sel(internal, oid, internal, integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_sel'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _bloom_contains_sel(internal, oid, internal, integer)
	IS 'restriction selectivity of @> and <@';

-- ------------------------------------------------------------------------
-- bloom: making filters and changing them
-- ------------------------------------------------------------------------

-- A capacity is float8, because 1e6 is numeric, which is not cast to bigint by itself.
CREATE FUNCTION bloom_create(capacity float8, error_rate float8 DEFAULT 0.01,
	growth integer DEFAULT 2, seed bigint DEFAULT 0, counting boolean DEFAULT false,
	element_type regtype DEFAULT '-') RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_create'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_create(float8, float8, integer, bigint, boolean, regtype)
	IS 'filter without elements, of the given capacity and error rate';

CREATE FUNCTION bloom_size(capacity float8, error_rate float8 DEFAULT 0.01,
	growth integer DEFAULT 2, counting boolean DEFAULT false,
	OUT bytes bigint, OUT hashes integer, OUT layout text) RETURNS record
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_size'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_size(float8, float8, integer, boolean)
	IS 'size of the filter that bloom_create would make';

CREATE FUNCTION bloom_shards(capacity float8, error_rate float8 DEFAULT 0.01,
	growth integer DEFAULT 2, seed bigint DEFAULT 0,
	element_type regtype DEFAULT '-',
	OUT shard integer, OUT filter bloom) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_shards'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_shards(float8, float8, integer, bigint, regtype)
	IS 'small filters, one a row, for a set to which elements are added one by one';

CREATE FUNCTION bloom_create_bits(bits bigint, hashes integer, seed bigint DEFAULT 0,
	element_type regtype DEFAULT '-') RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_create_bits'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_create_bits(bigint, integer, bigint, regtype)
	IS 'classic filter without elements, of the given number of bits and hashes';

CREATE FUNCTION bloom_add(filter bloom, element anycompatible) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_add'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_add(bloom, anycompatible)
	IS 'filter with the element added';

CREATE FUNCTION bloom_add_all(filter bloom, elements anycompatiblearray) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_add_all'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_add_all(bloom, anycompatiblearray)
	IS 'filter with the elements of the array added';

CREATE FUNCTION bloom_union(filter bloom, other bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_union'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_union(bloom, bloom)
	IS 'union of two compatible filters';

CREATE FUNCTION bloom_intersection(filter bloom, other bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_intersection'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_intersection(bloom, bloom)
	IS 'intersection of two compatible filters';

CREATE FUNCTION bloom_clear(filter bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_clear'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_clear(bloom)
	IS 'filter with the same parameters and class, and no elements';

-- ------------------------------------------------------------------------
-- bloom: removing elements from counting filters
-- ------------------------------------------------------------------------

CREATE FUNCTION bloom_remove(filter bloom, element anycompatible) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_remove'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_remove(bloom, anycompatible)
	IS 'counting filter with the element removed, which must have been added';

CREATE FUNCTION bloom_remove_all(filter bloom, elements anycompatiblearray) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_remove_all'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_remove_all(bloom, anycompatiblearray)
	IS 'counting filter with the elements of the array removed, which must have been added';

CREATE FUNCTION bloom_count(filter bloom, element anycompatible) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_count'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_count(bloom, anycompatible)
	IS 'upper bound of how often the element is in the counting filter; 8 if that is not known';

CREATE FUNCTION bloom_plain(filter bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_plain'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_plain(bloom)
	IS 'filter with the same elements and without counters';

-- ------------------------------------------------------------------------
-- bloom: filters of other systems
-- ------------------------------------------------------------------------

CREATE FUNCTION bloom_import(bytes bytea, format text, element text,
	bits bigint DEFAULT NULL, hashes integer DEFAULT NULL) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_import'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_import(bytea, text, text, bigint, integer)
	IS 'filter of another system, from the bytes that it wrote';

CREATE FUNCTION bloom_export(filter bloom, format text) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_export'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_export(bloom, text)
	IS 'bytes of a filter of another system, for that system to read';

CREATE FUNCTION bloom_create_foreign(format text, element text, capacity bigint,
	error_rate float8 DEFAULT 0.01) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_create_foreign'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_create_foreign(text, text, bigint, float8)
	IS 'filter without elements, as another system makes it';

-- ------------------------------------------------------------------------
-- bloom: looking elements up
-- ------------------------------------------------------------------------

CREATE FUNCTION bloom_contains(filter bloom, element anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contains'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT _bloom_support;
COMMENT ON FUNCTION bloom_contains(bloom, anycompatible)
	IS 'is the element in the filter? False is certain, true is probable';

CREATE FUNCTION _bloom_contained(element anycompatible, filter bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contained'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT _bloom_support;
COMMENT ON FUNCTION _bloom_contained(anycompatible, bloom)
	IS 'implementation of <@ operator';

CREATE FUNCTION _bloom_may_contain(filter bloom, element anyelement,
	type regtype, modifier integer, encoding name,
	least_key bigint DEFAULT NULL, greatest_key bigint DEFAULT NULL, keys bigint[] DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_may_contain'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2
	SUPPORT _bloom_support;
COMMENT ON FUNCTION _bloom_may_contain(bloom, anyelement, regtype, integer, name, bigint, bigint, bigint[])
	IS 'bloom_contains() for a foreign table of this type and encoding: true if not certain';

CREATE FUNCTION bloom_contains_any(filter bloom, elements anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_any'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION bloom_contains_any(bloom, anycompatiblearray)
	IS 'is any element of the array in the filter?';

CREATE FUNCTION bloom_contains_all(filter bloom, elements anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION bloom_contains_all(bloom, anycompatiblearray)
	IS 'are all elements of the array in the filter?';

CREATE FUNCTION bloom_contains_each(filter bloom, elements anycompatiblearray) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_each'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION bloom_contains_each(bloom, anycompatiblearray)
	IS 'is it in the filter? One answer for each element of the array';

-- ------------------------------------------------------------------------
-- bloom: inspecting filters
-- ------------------------------------------------------------------------

CREATE FUNCTION bloom_info(filter bloom,
	OUT layout text, OUT element_class text,
	OUT capacity bigint, OUT error_rate float8, OUT growth integer,
	OUT seed bigint, OUT layers integer, OUT hashes integer,
	OUT bits bigint, OUT bits_set bigint, OUT bytes bigint,
	OUT elements bigint, OUT estimated_error_rate float8,
	OUT bits_per_element float8) RETURNS record
	AS 'MODULE_PATHNAME', 'bloomfilter_info'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_info(bloom)
	IS 'requested parameters and current state of a filter';

CREATE FUNCTION bloom_cardinality(filter bloom) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_cardinality(bloom)
	IS 'estimated number of distinct elements';

CREATE FUNCTION bloom_error_rate(filter bloom) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloomfilter_error_rate'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_error_rate(bloom)
	IS 'estimated error rate (false-positive rate) as the filter is now';

CREATE FUNCTION bloom_compatible(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_compatible'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_compatible(bloom, bloom)
	IS 'can the filters be combined?';

CREATE FUNCTION bloom_hash(element anycompatible, seed bigint DEFAULT 0) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_hash'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION bloom_hash(anycompatible, bigint)
	IS 'hash of an element in filters with this seed';

CREATE TYPE hashed_element;

CREATE FUNCTION _hashed_element_in(cstring) RETURNS hashed_element
	AS 'MODULE_PATHNAME', 'bloomfilter_element_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hashed_element_in(cstring)
	IS 'I/O: hexadecimal digits';

CREATE FUNCTION _hashed_element_out(hashed_element) RETURNS cstring
	AS 'MODULE_PATHNAME', 'bloomfilter_element_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hashed_element_out(hashed_element)
	IS 'I/O: hexadecimal digits';

CREATE FUNCTION _hashed_element_recv(internal) RETURNS hashed_element
	AS 'MODULE_PATHNAME', 'bloomfilter_element_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hashed_element_recv(internal)
	IS 'I/O: the bytes';

CREATE FUNCTION _hashed_element_send(hashed_element) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_element_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hashed_element_send(hashed_element)
	IS 'I/O: the bytes';

CREATE TYPE hashed_element (
	INPUT = _hashed_element_in,
	OUTPUT = _hashed_element_out,
	RECEIVE = _hashed_element_recv,
	SEND = _hashed_element_send,
	INTERNALLENGTH = 24,
	ALIGNMENT = double
);
COMMENT ON TYPE hashed_element IS 'element of any type as a filter sees it: its hash, its class and the seed';

-- Not named after its type: hashed_element(x) would be a cast of a text x
CREATE FUNCTION bloom_element(element anycompatible, seed bigint DEFAULT 0) RETURNS hashed_element
	AS 'MODULE_PATHNAME', 'bloomfilter_element'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1;
COMMENT ON FUNCTION bloom_element(anycompatible, bigint)
	IS 'the element hashed, for filters with this seed';

CREATE FUNCTION bloom_shard(element anycompatible, shards integer) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_shard'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION bloom_shard(anycompatible, integer)
	IS 'shard of an element, from 0, in a set that is split over several filters';

-- ------------------------------------------------------------------------
-- bloom: identity
-- ------------------------------------------------------------------------

CREATE FUNCTION _bloom_eq(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_eq'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_eq(bloom, bloom)
	IS 'implementation of = operator';

CREATE FUNCTION _bloom_ne(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_ne'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_ne(bloom, bloom)
	IS 'implementation of <> operator';

CREATE FUNCTION _bloom_lt(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_lt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_lt(bloom, bloom)
	IS 'implementation of < operator';

CREATE FUNCTION _bloom_le(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_le'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_le(bloom, bloom)
	IS 'implementation of <= operator';

CREATE FUNCTION _bloom_ge(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_ge'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_ge(bloom, bloom)
	IS 'implementation of >= operator';

CREATE FUNCTION _bloom_gt(filter bloom, other bloom) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_gt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_gt(bloom, bloom)
	IS 'implementation of > operator';

CREATE FUNCTION _bloom_cmp(filter bloom, other bloom) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_cmp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_cmp(bloom, bloom)
	IS 'less than, equal, or greater than, by the filters'' bytes';

CREATE FUNCTION _bloom_hash_value(filter bloom) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_hash_value'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_hash_value(bloom)
	IS 'hash of the filter''s bytes';

CREATE FUNCTION _bloom_hash_value_extended(filter bloom, seed bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_hash_value_extended'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _bloom_hash_value_extended(bloom, bigint)
	IS 'hash of the filter''s bytes';

-- ------------------------------------------------------------------------
-- bloom: operators
-- ------------------------------------------------------------------------

CREATE OPERATOR @> (
	FUNCTION = bloom_contains, LEFTARG = bloom, RIGHTARG = anycompatible,
	COMMUTATOR = <@,
	RESTRICT = _bloom_contains_sel, JOIN = positionjoinsel
);
COMMENT ON OPERATOR @> (bloom, anycompatible)
	IS 'probably contains';

CREATE OPERATOR <@ (
	FUNCTION = _bloom_contained, LEFTARG = anycompatible, RIGHTARG = bloom,
	COMMUTATOR = @>,
	RESTRICT = _bloom_contains_sel, JOIN = positionjoinsel
);
COMMENT ON OPERATOR <@ (anycompatible, bloom)
	IS 'is probably contained in';

CREATE OPERATOR | (
	FUNCTION = bloom_union, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (bloom, bloom)
	IS 'union';

CREATE OPERATOR & (
	FUNCTION = bloom_intersection, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = &
);
COMMENT ON OPERATOR & (bloom, bloom)
	IS 'intersection';

CREATE OPERATOR = (
	FUNCTION = _bloom_eq, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (bloom, bloom)
	IS 'same bytes';

CREATE OPERATOR <> (
	FUNCTION = _bloom_ne, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (bloom, bloom)
	IS 'different bytes';

CREATE OPERATOR < (
	FUNCTION = _bloom_lt, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (bloom, bloom)
	IS 'bytes come before';

CREATE OPERATOR <= (
	FUNCTION = _bloom_le, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (bloom, bloom)
	IS 'bytes come before, or are the same';

CREATE OPERATOR >= (
	FUNCTION = _bloom_ge, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (bloom, bloom)
	IS 'bytes come after, or are the same';

CREATE OPERATOR > (
	FUNCTION = _bloom_gt, LEFTARG = bloom, RIGHTARG = bloom,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (bloom, bloom)
	IS 'bytes come after';

CREATE OPERATOR FAMILY bloom_ops USING hash;
COMMENT ON OPERATOR FAMILY bloom_ops USING hash IS 'identity of filters';
CREATE OPERATOR CLASS bloom_ops DEFAULT FOR TYPE bloom USING hash
	FAMILY bloom_ops AS
	OPERATOR 1 =,
	FUNCTION 1 _bloom_hash_value(bloom),
	FUNCTION 2 _bloom_hash_value_extended(bloom, bigint);
COMMENT ON OPERATOR CLASS bloom_ops USING hash IS 'identity of filters';

-- For count(DISTINCT f), ORDER BY and statistics; the order has no other meaning
CREATE OPERATOR FAMILY bloom_ops USING btree;
COMMENT ON OPERATOR FAMILY bloom_ops USING btree IS 'order of filters by their bytes';
CREATE OPERATOR CLASS bloom_ops DEFAULT FOR TYPE bloom USING btree
	FAMILY bloom_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 _bloom_cmp(bloom, bloom);
COMMENT ON OPERATOR CLASS bloom_ops USING btree IS 'order of filters by their bytes';

-- ------------------------------------------------------------------------
-- bloom: aggregates
-- ------------------------------------------------------------------------

CREATE FUNCTION _bloom_agg_trans(bloom, anycompatible) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_agg_trans'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _bloom_agg_trans(bloom, anycompatible)
	IS 'transition function of bloom_agg';

CREATE FUNCTION _bloom_agg_trans(bloom, anycompatible, bigint, float8) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_agg_trans_sized'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _bloom_agg_trans(bloom, anycompatible, bigint, float8)
	IS 'transition function of bloom_agg';

CREATE FUNCTION _bloom_agg_trans(bloom, hashed_element) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_hashed_agg_trans'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _bloom_agg_trans(bloom, hashed_element)
	IS 'transition function of bloom_agg';

CREATE FUNCTION _bloom_agg_trans(bloom, hashed_element, bigint, float8) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_hashed_agg_trans_sized'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _bloom_agg_trans(bloom, hashed_element, bigint, float8)
	IS 'transition function of bloom_agg';

CREATE FUNCTION _bloom_agg_combine(bloom, bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_agg_combine'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _bloom_agg_combine(bloom, bloom)
	IS 'combine function of bloom_agg';

CREATE FUNCTION _bloom_agg_final(bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_bloom_agg_final'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _bloom_agg_final(bloom)
	IS 'final function of bloom_agg';

CREATE AGGREGATE bloom_agg(element anycompatible) (
	SFUNC = _bloom_agg_trans, STYPE = bloom, SSPACE = 1024,
	COMBINEFUNC = _bloom_agg_combine, FINALFUNC = _bloom_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(anycompatible)
	IS 'Bloom filter of the elements, sized to their number, with error rate 0.01';

CREATE AGGREGATE bloom_agg(element anycompatible, capacity bigint, error_rate float8) (
	SFUNC = _bloom_agg_trans, STYPE = bloom, SSPACE = 1024,
	COMBINEFUNC = _bloom_agg_combine, FINALFUNC = _bloom_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(anycompatible, bigint, float8)
	IS 'Bloom filter of the elements; a capacity or error rate that is NULL has its default';

CREATE AGGREGATE bloom_agg(element hashed_element) (
	SFUNC = _bloom_agg_trans, STYPE = bloom, SSPACE = 1024,
	COMBINEFUNC = _bloom_agg_combine, FINALFUNC = _bloom_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(hashed_element)
	IS 'Bloom filter of the elements, sized to their number, with error rate 0.01';

CREATE AGGREGATE bloom_agg(element hashed_element, capacity bigint, error_rate float8) (
	SFUNC = _bloom_agg_trans, STYPE = bloom, SSPACE = 1024,
	COMBINEFUNC = _bloom_agg_combine, FINALFUNC = _bloom_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(hashed_element, bigint, float8)
	IS 'Bloom filter of the elements; a capacity or error rate that is NULL has its default';

CREATE FUNCTION _bloom_final(bloom) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_final'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _bloom_final(bloom)
	IS 'final function of aggregates of filters';

-- INITCOND is the empty filter: its union with a filter is that filter
CREATE AGGREGATE bloom_union_agg(filter bloom) (
	SFUNC = bloom_union, STYPE = bloom, SSPACE = 8192,
	COMBINEFUNC = bloom_union, FINALFUNC = _bloom_final,
	INITCOND = 'YmxtAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPAAAAAAAAAAAAAAAu0CcZQrMaU0=',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_union_agg(bloom)
	IS 'union of the filters';

CREATE AGGREGATE bloom_intersection_agg(filter bloom) (
	SFUNC = bloom_intersection, STYPE = bloom, SSPACE = 8192,
	COMBINEFUNC = bloom_intersection, FINALFUNC = _bloom_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_intersection_agg(bloom)
	IS 'intersection of the filters';

-- ------------------------------------------------------------------------
-- cuckoo: the type
-- ------------------------------------------------------------------------

CREATE TYPE cuckoo;

CREATE FUNCTION _cuckoo_in(cstring) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _cuckoo_in(cstring)
	IS 'I/O: base64 of the bytes';

CREATE FUNCTION _cuckoo_out(cuckoo) RETURNS cstring
	AS 'MODULE_PATHNAME', 'bloomfilter_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _cuckoo_out(cuckoo)
	IS 'I/O: base64 of the bytes';

CREATE FUNCTION _cuckoo_recv(internal) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _cuckoo_recv(internal)
	IS 'I/O: the bytes';

CREATE FUNCTION _cuckoo_send(cuckoo) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _cuckoo_send(cuckoo)
	IS 'I/O: the bytes';

-- Stored uncompressed, as a bloom is
CREATE TYPE cuckoo (
	INPUT = _cuckoo_in,
	OUTPUT = _cuckoo_out,
	RECEIVE = _cuckoo_recv,
	SEND = _cuckoo_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE cuckoo IS 'cuckoo filter: like a Bloom filter, and elements can be removed from it';

-- ------------------------------------------------------------------------
-- cuckoo: casts
-- ------------------------------------------------------------------------

CREATE FUNCTION _cuckoo_from_bytea(bytes bytea) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_from_bytea'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _cuckoo_from_bytea(bytea)
	IS 'filter of these bytes';

CREATE CAST (bytea AS cuckoo) WITH FUNCTION _cuckoo_from_bytea(bytea);
COMMENT ON CAST (bytea AS cuckoo) IS 'filter of these bytes';
CREATE CAST (cuckoo AS bytea) WITH FUNCTION _cuckoo_send(cuckoo);
COMMENT ON CAST (cuckoo AS bytea) IS 'bytes of the filter';

-- ------------------------------------------------------------------------
-- cuckoo: making filters and changing them
-- ------------------------------------------------------------------------

CREATE FUNCTION cuckoo_create(capacity float8, error_rate float8 DEFAULT 0.01,
	growth integer DEFAULT 2, seed bigint DEFAULT 0,
	element_type regtype DEFAULT '-') RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_create'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION cuckoo_create(float8, float8, integer, bigint, regtype)
	IS 'filter without elements, of the given capacity and error rate';

CREATE FUNCTION cuckoo_size(capacity float8, error_rate float8 DEFAULT 0.01,
	growth integer DEFAULT 2,
	OUT bytes bigint, OUT fingerprint_bits integer, OUT layout text) RETURNS record
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_size'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION cuckoo_size(float8, float8, integer)
	IS 'size of the filter that cuckoo_create would make';

CREATE FUNCTION cuckoo_shards(capacity float8, error_rate float8 DEFAULT 0.01,
	growth integer DEFAULT 2, seed bigint DEFAULT 0,
	element_type regtype DEFAULT '-',
	OUT shard integer, OUT filter cuckoo) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_shards'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION cuckoo_shards(float8, float8, integer, bigint, regtype)
	IS 'small filters, one a row, for a set to which elements are added one by one';

CREATE FUNCTION cuckoo_add(filter cuckoo, element anycompatible) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_add'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_add(cuckoo, anycompatible)
	IS 'filter with the element added, once more if it is already in';

CREATE FUNCTION cuckoo_add_unique(filter cuckoo, element anycompatible) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_add_unique'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_add_unique(cuckoo, anycompatible)
	IS 'filter with the element added unless it seems to be in; not for filters from which elements are removed';

CREATE FUNCTION cuckoo_add_all(filter cuckoo, elements anycompatiblearray) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_add_all'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_add_all(cuckoo, anycompatiblearray)
	IS 'filter with the elements of the array added';

CREATE FUNCTION cuckoo_add_all_unique(filter cuckoo, elements anycompatiblearray) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_add_all_unique'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_add_all_unique(cuckoo, anycompatiblearray)
	IS 'filter with those elements of the array added that seem not to be in; not for filters from which elements are removed';

CREATE FUNCTION cuckoo_remove(filter cuckoo, element anycompatible) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_remove'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_remove(cuckoo, anycompatible)
	IS 'filter with the element removed once; it must have been added before';

CREATE FUNCTION cuckoo_remove_all(filter cuckoo, elements anycompatiblearray) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_remove_all'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_remove_all(cuckoo, anycompatiblearray)
	IS 'filter with the elements of the array removed; they must have been added before';

CREATE FUNCTION cuckoo_replace(filter cuckoo, old anycompatible, new anycompatible) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_replace'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_replace(cuckoo, anycompatible, anycompatible)
	IS 'filter with one element removed and another added';

CREATE FUNCTION cuckoo_union(filter cuckoo, other cuckoo) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_union'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_union(cuckoo, cuckoo)
	IS 'sum of two compatible filters';

CREATE FUNCTION cuckoo_compact(filter cuckoo) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_compact'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_compact(cuckoo)
	IS 'filter with the same elements in fewer layers, if they fit';

CREATE FUNCTION cuckoo_clear(filter cuckoo) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_clear'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION cuckoo_clear(cuckoo)
	IS 'filter with the same parameters and class, and no elements';

-- ------------------------------------------------------------------------
-- cuckoo: looking elements up
-- ------------------------------------------------------------------------

CREATE FUNCTION cuckoo_contains(filter cuckoo, element anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contains'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT _bloom_support;
COMMENT ON FUNCTION cuckoo_contains(cuckoo, anycompatible)
	IS 'is the element in the filter? False is certain, true is probable';

CREATE FUNCTION _cuckoo_contained(element anycompatible, filter cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contained'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT _bloom_support;
COMMENT ON FUNCTION _cuckoo_contained(anycompatible, cuckoo)
	IS 'implementation of <@ operator';

CREATE FUNCTION cuckoo_contains_any(filter cuckoo, elements anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_any'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION cuckoo_contains_any(cuckoo, anycompatiblearray)
	IS 'is any element of the array in the filter?';

CREATE FUNCTION cuckoo_contains_all(filter cuckoo, elements anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION cuckoo_contains_all(cuckoo, anycompatiblearray)
	IS 'are all elements of the array in the filter?';

CREATE FUNCTION cuckoo_contains_each(filter cuckoo, elements anycompatiblearray) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'bloomfilter_contains_each'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION cuckoo_contains_each(cuckoo, anycompatiblearray)
	IS 'is it in the filter? One answer for each element of the array';

CREATE FUNCTION cuckoo_count(filter cuckoo, element anycompatible) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_count'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION cuckoo_count(cuckoo, anycompatible)
	IS 'upper bound of how often the element is in the filter; 4 means four or more';

-- ------------------------------------------------------------------------
-- cuckoo: inspecting filters
-- ------------------------------------------------------------------------

CREATE FUNCTION cuckoo_info(filter cuckoo,
	OUT layout text, OUT element_class text,
	OUT capacity bigint, OUT error_rate float8, OUT growth integer,
	OUT seed bigint, OUT layers integer, OUT fingerprint_bits integer,
	OUT bits bigint, OUT load float8, OUT bytes bigint,
	OUT elements bigint, OUT estimated_error_rate float8,
	OUT bits_per_element float8) RETURNS record
	AS 'MODULE_PATHNAME', 'bloomfilter_info'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION cuckoo_info(cuckoo)
	IS 'requested parameters and current state of a filter';

CREATE FUNCTION cuckoo_cardinality(filter cuckoo) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION cuckoo_cardinality(cuckoo)
	IS 'number of additions that have not been removed';

CREATE FUNCTION cuckoo_error_rate(filter cuckoo) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloomfilter_error_rate'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION cuckoo_error_rate(cuckoo)
	IS 'estimated error rate (false-positive rate) as the filter is now';

CREATE FUNCTION cuckoo_compatible(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_compatible'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION cuckoo_compatible(cuckoo, cuckoo)
	IS 'can the filters be combined?';

-- ------------------------------------------------------------------------
-- cuckoo: identity
-- ------------------------------------------------------------------------

CREATE FUNCTION _cuckoo_eq(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_eq'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_eq(cuckoo, cuckoo)
	IS 'implementation of = operator';

CREATE FUNCTION _cuckoo_ne(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_ne'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_ne(cuckoo, cuckoo)
	IS 'implementation of <> operator';

CREATE FUNCTION _cuckoo_lt(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_lt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_lt(cuckoo, cuckoo)
	IS 'implementation of < operator';

CREATE FUNCTION _cuckoo_le(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_le'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_le(cuckoo, cuckoo)
	IS 'implementation of <= operator';

CREATE FUNCTION _cuckoo_ge(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_ge'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_ge(cuckoo, cuckoo)
	IS 'implementation of >= operator';

CREATE FUNCTION _cuckoo_gt(filter cuckoo, other cuckoo) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_gt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_gt(cuckoo, cuckoo)
	IS 'implementation of > operator';

CREATE FUNCTION _cuckoo_cmp(filter cuckoo, other cuckoo) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_cmp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_cmp(cuckoo, cuckoo)
	IS 'less than, equal, or greater than, by the filters'' bytes';

CREATE FUNCTION _cuckoo_hash_value(filter cuckoo) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_hash_value'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_hash_value(cuckoo)
	IS 'hash of the filter''s bytes';

CREATE FUNCTION _cuckoo_hash_value_extended(filter cuckoo, seed bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_hash_value_extended'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _cuckoo_hash_value_extended(cuckoo, bigint)
	IS 'hash of the filter''s bytes';

-- ------------------------------------------------------------------------
-- cuckoo: operators
-- ------------------------------------------------------------------------

CREATE OPERATOR @> (
	FUNCTION = cuckoo_contains, LEFTARG = cuckoo, RIGHTARG = anycompatible,
	COMMUTATOR = <@,
	RESTRICT = _bloom_contains_sel, JOIN = positionjoinsel
);
COMMENT ON OPERATOR @> (cuckoo, anycompatible)
	IS 'probably contains';

CREATE OPERATOR <@ (
	FUNCTION = _cuckoo_contained, LEFTARG = anycompatible, RIGHTARG = cuckoo,
	COMMUTATOR = @>,
	RESTRICT = _bloom_contains_sel, JOIN = positionjoinsel
);
COMMENT ON OPERATOR <@ (anycompatible, cuckoo)
	IS 'is probably contained in';

CREATE OPERATOR | (
	FUNCTION = cuckoo_union, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (cuckoo, cuckoo)
	IS 'sum';

CREATE OPERATOR = (
	FUNCTION = _cuckoo_eq, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (cuckoo, cuckoo)
	IS 'same bytes';

CREATE OPERATOR <> (
	FUNCTION = _cuckoo_ne, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (cuckoo, cuckoo)
	IS 'different bytes';

CREATE OPERATOR < (
	FUNCTION = _cuckoo_lt, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (cuckoo, cuckoo)
	IS 'bytes come before';

CREATE OPERATOR <= (
	FUNCTION = _cuckoo_le, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (cuckoo, cuckoo)
	IS 'bytes come before, or are the same';

CREATE OPERATOR >= (
	FUNCTION = _cuckoo_ge, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (cuckoo, cuckoo)
	IS 'bytes come after, or are the same';

CREATE OPERATOR > (
	FUNCTION = _cuckoo_gt, LEFTARG = cuckoo, RIGHTARG = cuckoo,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (cuckoo, cuckoo)
	IS 'bytes come after';

CREATE OPERATOR FAMILY cuckoo_ops USING hash;
COMMENT ON OPERATOR FAMILY cuckoo_ops USING hash IS 'identity of filters';
CREATE OPERATOR CLASS cuckoo_ops DEFAULT FOR TYPE cuckoo USING hash
	FAMILY cuckoo_ops AS
	OPERATOR 1 =,
	FUNCTION 1 _cuckoo_hash_value(cuckoo),
	FUNCTION 2 _cuckoo_hash_value_extended(cuckoo, bigint);
COMMENT ON OPERATOR CLASS cuckoo_ops USING hash IS 'identity of filters';

-- For count(DISTINCT f), ORDER BY and statistics; the order has no other meaning
CREATE OPERATOR FAMILY cuckoo_ops USING btree;
COMMENT ON OPERATOR FAMILY cuckoo_ops USING btree IS 'order of filters by their bytes';
CREATE OPERATOR CLASS cuckoo_ops DEFAULT FOR TYPE cuckoo USING btree
	FAMILY cuckoo_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 _cuckoo_cmp(cuckoo, cuckoo);
COMMENT ON OPERATOR CLASS cuckoo_ops USING btree IS 'order of filters by their bytes';

-- ------------------------------------------------------------------------
-- cuckoo: aggregates
-- ------------------------------------------------------------------------

CREATE FUNCTION _cuckoo_agg_trans(cuckoo, anycompatible) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_agg_trans'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _cuckoo_agg_trans(cuckoo, anycompatible)
	IS 'transition function of cuckoo_agg';

CREATE FUNCTION _cuckoo_agg_trans(cuckoo, anycompatible, bigint, float8) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_agg_trans_sized'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _cuckoo_agg_trans(cuckoo, anycompatible, bigint, float8)
	IS 'transition function of cuckoo_agg';

CREATE FUNCTION _cuckoo_agg_trans(cuckoo, hashed_element) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_hashed_agg_trans'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _cuckoo_agg_trans(cuckoo, hashed_element)
	IS 'transition function of cuckoo_agg';

CREATE FUNCTION _cuckoo_agg_trans(cuckoo, hashed_element, bigint, float8) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_hashed_agg_trans_sized'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION _cuckoo_agg_trans(cuckoo, hashed_element, bigint, float8)
	IS 'transition function of cuckoo_agg';

CREATE FUNCTION _cuckoo_agg_combine(cuckoo, cuckoo) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_agg_combine'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _cuckoo_agg_combine(cuckoo, cuckoo)
	IS 'combine function of cuckoo_agg';

CREATE FUNCTION _cuckoo_agg_final(cuckoo) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_cuckoo_agg_final'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _cuckoo_agg_final(cuckoo)
	IS 'final function of cuckoo_agg';

CREATE AGGREGATE cuckoo_agg(element anycompatible) (
	SFUNC = _cuckoo_agg_trans, STYPE = cuckoo, SSPACE = 1024,
	COMBINEFUNC = _cuckoo_agg_combine, FINALFUNC = _cuckoo_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE cuckoo_agg(anycompatible)
	IS 'cuckoo filter of the distinct elements, sized to their number, with error rate 0.01';

CREATE AGGREGATE cuckoo_agg(element anycompatible, capacity bigint, error_rate float8) (
	SFUNC = _cuckoo_agg_trans, STYPE = cuckoo, SSPACE = 1024,
	COMBINEFUNC = _cuckoo_agg_combine, FINALFUNC = _cuckoo_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE cuckoo_agg(anycompatible, bigint, float8)
	IS 'cuckoo filter of the distinct elements; a capacity or error rate that is NULL has its default';

CREATE AGGREGATE cuckoo_agg(element hashed_element) (
	SFUNC = _cuckoo_agg_trans, STYPE = cuckoo, SSPACE = 1024,
	COMBINEFUNC = _cuckoo_agg_combine, FINALFUNC = _cuckoo_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE cuckoo_agg(hashed_element)
	IS 'cuckoo filter of the distinct elements, sized to their number, with error rate 0.01';

CREATE AGGREGATE cuckoo_agg(element hashed_element, capacity bigint, error_rate float8) (
	SFUNC = _cuckoo_agg_trans, STYPE = cuckoo, SSPACE = 1024,
	COMBINEFUNC = _cuckoo_agg_combine, FINALFUNC = _cuckoo_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE cuckoo_agg(hashed_element, bigint, float8)
	IS 'cuckoo filter of the distinct elements; a capacity or error rate that is NULL has its default';

CREATE FUNCTION _cuckoo_final(cuckoo) RETURNS cuckoo
	AS 'MODULE_PATHNAME', 'bloomfilter_final'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _cuckoo_final(cuckoo)
	IS 'final function of aggregates of filters';

-- INITCOND is the empty filter: its sum with a filter is that filter
CREATE AGGREGATE cuckoo_union_agg(filter cuckoo) (
	SFUNC = cuckoo_union, STYPE = cuckoo, SSPACE = 8192,
	COMBINEFUNC = cuckoo_union, FINALFUNC = _cuckoo_final,
	INITCOND = 'Y2tvAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPAAAAAAAAAAAAAAAYS+81ajBQ64=',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE cuckoo_union_agg(cuckoo)
	IS 'sum of the filters';

-- ------------------------------------------------------------------------
-- Aggregates, from PostgreSQL 19 on
-- ------------------------------------------------------------------------

-- bloom_agg gets planner support, which earlier versions do not know.  A negative SSPACE
-- prevents eager aggregation, which they do not have: it would copy states, which grow
-- with the number of elements, from node to node.  Before 19 it would only make the
-- planner assume 32 bytes.
DO $$
DECLARE
	path text := pg_catalog.current_setting('search_path');
	aggregate record;
BEGIN
	-- the schema of the extension may be the user's, with operators of theirs
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	IF current_setting('server_version_num')::integer >= 190000 THEN
		FOR aggregate IN
			SELECT pronamespace::regnamespace::text AS schema, proname, pg_get_function_arguments(p.oid) AS arguments,
				aggtransfn, aggtranstype::regtype AS type, aggcombinefn, aggfinalfn, agginitval
			FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid
				JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
				JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
			WHERE extname = 'bloomfilter'
		LOOP
			EXECUTE format('CREATE OR REPLACE AGGREGATE %s.%I(%s) (SFUNC = %s, STYPE = %s, SSPACE = -1, COMBINEFUNC = %s, FINALFUNC = %s, PARALLEL = SAFE %s%s)',
						   aggregate.schema, aggregate.proname, aggregate.arguments, aggregate.aggtransfn, aggregate.type,
						   aggregate.aggcombinefn, aggregate.aggfinalfn,
						   CASE WHEN aggregate.agginitval IS NOT NULL THEN format(', INITCOND = %L', aggregate.agginitval) END,
						   CASE WHEN aggregate.proname ~ '^bloom_agg' THEN format(', SUPPORT = %s._bloom_support', aggregate.schema) END);
		END LOOP;
	END IF;
	PERFORM set_config('search_path', path, true);
END $$;

-- ------------------------------------------------------------------------
-- membership: the index access method
-- ------------------------------------------------------------------------

CREATE FUNCTION _membership_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_handler'
	LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _membership_handler(internal)
	IS 'handler of the index access method membership';

CREATE ACCESS METHOD membership TYPE INDEX HANDLER _membership_handler;
COMMENT ON ACCESS METHOD membership
	IS 'Bloom filter of a column, kept current by the server: "certainly no such row" or "probably one"';

-- One for every type of PostgreSQL 15 that docs/dev/format.md hashes.  Other types with a hash
-- operator class get one by CREATE OPERATOR CLASS ... USING membership AS OPERATOR 1 =.

CREATE OPERATOR FAMILY integer_ops USING membership;
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE int2 USING membership
	FAMILY integer_ops AS OPERATOR 1 =;
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int4 USING membership
	FAMILY integer_ops AS OPERATOR 1 =;
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE int8 USING membership
	FAMILY integer_ops AS OPERATOR 1 =;
ALTER OPERATOR FAMILY integer_ops USING membership ADD
	OPERATOR 1 = (int2, int4),
	OPERATOR 1 = (int2, int8),
	OPERATOR 1 = (int4, int2),
	OPERATOR 1 = (int4, int8),
	OPERATOR 1 = (int8, int2),
	OPERATOR 1 = (int8, int4);

CREATE OPERATOR FAMILY float_ops USING membership;
CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE float4 USING membership
	FAMILY float_ops AS OPERATOR 1 =;
CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE float8 USING membership
	FAMILY float_ops AS OPERATOR 1 =;
ALTER OPERATOR FAMILY float_ops USING membership ADD
	OPERATOR 1 = (float4, float8),
	OPERATOR 1 = (float8, float4);

CREATE OPERATOR FAMILY text_ops USING membership;
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING membership
	FAMILY text_ops AS OPERATOR 1 =;
CREATE OPERATOR CLASS name_ops DEFAULT FOR TYPE name USING membership
	FAMILY text_ops AS OPERATOR 1 =;
ALTER OPERATOR FAMILY text_ops USING membership ADD
	OPERATOR 1 = (text, name),
	OPERATOR 1 = (name, text);

CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE bpchar USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE bool USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char" USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS money_ops DEFAULT FOR TYPE money USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS macaddr_ops DEFAULT FOR TYPE macaddr USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS macaddr8_ops DEFAULT FOR TYPE macaddr8 USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS timetz_ops DEFAULT FOR TYPE timetz USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS interval_ops DEFAULT FOR TYPE interval USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS bit_ops DEFAULT FOR TYPE bit USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS varbit_ops DEFAULT FOR TYPE varbit USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS inet_ops DEFAULT FOR TYPE inet USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS array_ops DEFAULT FOR TYPE anyarray USING membership AS OPERATOR 1 =;
-- not the default: the elements of arrays, instead of the arrays
CREATE OPERATOR CLASS array_elements_ops FOR TYPE anyarray USING membership AS
	OPERATOR 2 @>, OPERATOR 3 &&, STORAGE anyelement;
COMMENT ON OPERATOR CLASS array_elements_ops USING membership IS 'membership of the elements of arrays';
COMMENT ON OPERATOR FAMILY array_elements_ops USING membership IS 'membership of the elements of arrays';
CREATE OPERATOR CLASS range_ops DEFAULT FOR TYPE anyrange USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS multirange_ops DEFAULT FOR TYPE anymultirange USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS record_ops DEFAULT FOR TYPE record USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS jsonb_ops DEFAULT FOR TYPE jsonb USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS pg_lsn_ops DEFAULT FOR TYPE pg_lsn USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS xid8_ops DEFAULT FOR TYPE xid8 USING membership AS OPERATOR 1 =;
CREATE OPERATOR CLASS aclitem_ops DEFAULT FOR TYPE aclitem USING membership AS OPERATOR 1 =;

COMMENT ON OPERATOR CLASS int2_ops USING membership IS 'membership of int2';
COMMENT ON OPERATOR CLASS int4_ops USING membership IS 'membership of int4';
COMMENT ON OPERATOR CLASS int8_ops USING membership IS 'membership of int8';
COMMENT ON OPERATOR CLASS float4_ops USING membership IS 'membership of float4';
COMMENT ON OPERATOR CLASS float8_ops USING membership IS 'membership of float8';
COMMENT ON OPERATOR CLASS text_ops USING membership IS 'membership of text';
COMMENT ON OPERATOR CLASS name_ops USING membership IS 'membership of name';
COMMENT ON OPERATOR CLASS numeric_ops USING membership IS 'membership of numeric';
COMMENT ON OPERATOR CLASS bpchar_ops USING membership IS 'membership of bpchar';
COMMENT ON OPERATOR CLASS bytea_ops USING membership IS 'membership of bytea';
COMMENT ON OPERATOR CLASS uuid_ops USING membership IS 'membership of uuid';
COMMENT ON OPERATOR CLASS bool_ops USING membership IS 'membership of bool';
COMMENT ON OPERATOR CLASS char_ops USING membership IS 'membership of char';
COMMENT ON OPERATOR CLASS oid_ops USING membership IS 'membership of oid';
COMMENT ON OPERATOR CLASS money_ops USING membership IS 'membership of money';
COMMENT ON OPERATOR CLASS macaddr_ops USING membership IS 'membership of macaddr';
COMMENT ON OPERATOR CLASS macaddr8_ops USING membership IS 'membership of macaddr8';
COMMENT ON OPERATOR CLASS date_ops USING membership IS 'membership of date';
COMMENT ON OPERATOR CLASS time_ops USING membership IS 'membership of time';
COMMENT ON OPERATOR CLASS timetz_ops USING membership IS 'membership of timetz';
COMMENT ON OPERATOR CLASS timestamp_ops USING membership IS 'membership of timestamp';
COMMENT ON OPERATOR CLASS timestamptz_ops USING membership IS 'membership of timestamptz';
COMMENT ON OPERATOR CLASS interval_ops USING membership IS 'membership of interval';
COMMENT ON OPERATOR CLASS bit_ops USING membership IS 'membership of bit';
COMMENT ON OPERATOR CLASS varbit_ops USING membership IS 'membership of varbit';
COMMENT ON OPERATOR CLASS inet_ops USING membership IS 'membership of inet';
COMMENT ON OPERATOR CLASS enum_ops USING membership IS 'membership of anyenum';
COMMENT ON OPERATOR CLASS array_ops USING membership IS 'membership of anyarray';
COMMENT ON OPERATOR CLASS range_ops USING membership IS 'membership of anyrange';
COMMENT ON OPERATOR CLASS multirange_ops USING membership IS 'membership of anymultirange';
COMMENT ON OPERATOR CLASS record_ops USING membership IS 'membership of record';
COMMENT ON OPERATOR CLASS jsonb_ops USING membership IS 'membership of jsonb';
COMMENT ON OPERATOR CLASS pg_lsn_ops USING membership IS 'membership of pg_lsn';
COMMENT ON OPERATOR CLASS xid8_ops USING membership IS 'membership of xid8';
COMMENT ON OPERATOR CLASS aclitem_ops USING membership IS 'membership of aclitem';

COMMENT ON OPERATOR FAMILY integer_ops USING membership IS 'membership of integers';
COMMENT ON OPERATOR FAMILY float_ops USING membership IS 'membership of floating-point numbers';
COMMENT ON OPERATOR FAMILY text_ops USING membership IS 'membership of text and name';
COMMENT ON OPERATOR FAMILY numeric_ops USING membership IS 'membership of numeric';
COMMENT ON OPERATOR FAMILY bpchar_ops USING membership IS 'membership of bpchar';
COMMENT ON OPERATOR FAMILY bytea_ops USING membership IS 'membership of bytea';
COMMENT ON OPERATOR FAMILY uuid_ops USING membership IS 'membership of uuid';
COMMENT ON OPERATOR FAMILY bool_ops USING membership IS 'membership of bool';
COMMENT ON OPERATOR FAMILY char_ops USING membership IS 'membership of char';
COMMENT ON OPERATOR FAMILY oid_ops USING membership IS 'membership of oid';
COMMENT ON OPERATOR FAMILY money_ops USING membership IS 'membership of money';
COMMENT ON OPERATOR FAMILY macaddr_ops USING membership IS 'membership of macaddr';
COMMENT ON OPERATOR FAMILY macaddr8_ops USING membership IS 'membership of macaddr8';
COMMENT ON OPERATOR FAMILY date_ops USING membership IS 'membership of date';
COMMENT ON OPERATOR FAMILY time_ops USING membership IS 'membership of time';
COMMENT ON OPERATOR FAMILY timetz_ops USING membership IS 'membership of timetz';
COMMENT ON OPERATOR FAMILY timestamp_ops USING membership IS 'membership of timestamp';
COMMENT ON OPERATOR FAMILY timestamptz_ops USING membership IS 'membership of timestamptz';
COMMENT ON OPERATOR FAMILY interval_ops USING membership IS 'membership of interval';
COMMENT ON OPERATOR FAMILY bit_ops USING membership IS 'membership of bit';
COMMENT ON OPERATOR FAMILY varbit_ops USING membership IS 'membership of varbit';
COMMENT ON OPERATOR FAMILY inet_ops USING membership IS 'membership of inet';
COMMENT ON OPERATOR FAMILY enum_ops USING membership IS 'membership of anyenum';
COMMENT ON OPERATOR FAMILY array_ops USING membership IS 'membership of anyarray';
COMMENT ON OPERATOR FAMILY range_ops USING membership IS 'membership of anyrange';
COMMENT ON OPERATOR FAMILY multirange_ops USING membership IS 'membership of anymultirange';
COMMENT ON OPERATOR FAMILY record_ops USING membership IS 'membership of record';
COMMENT ON OPERATOR FAMILY jsonb_ops USING membership IS 'membership of jsonb';
COMMENT ON OPERATOR FAMILY pg_lsn_ops USING membership IS 'membership of pg_lsn';
COMMENT ON OPERATOR FAMILY xid8_ops USING membership IS 'membership of xid8';
COMMENT ON OPERATOR FAMILY aclitem_ops USING membership IS 'membership of aclitem';

-- ------------------------------------------------------------------------
-- membership: looking elements up
-- ------------------------------------------------------------------------

CREATE FUNCTION _membership_contains_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_support'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _membership_contains_support(internal)
	IS 'planner support of membership_contains';

CREATE FUNCTION membership_contains(index regclass, element anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_contains'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2
	SUPPORT _membership_contains_support;
COMMENT ON FUNCTION membership_contains(regclass, anycompatible)
	IS 'may the table have a row with this element? False is certain';

CREATE FUNCTION membership_contains_any(index regclass, elements anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_contains_any'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _membership_contains_support;
COMMENT ON FUNCTION membership_contains_any(regclass, anycompatiblearray)
	IS 'may the table have a row with any of these elements? False is certain';

CREATE FUNCTION membership_contains_all(index regclass, elements anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_contains_all'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _membership_contains_support;
COMMENT ON FUNCTION membership_contains_all(regclass, anycompatiblearray)
	IS 'may the table have rows with all of these elements? False is certain';

CREATE FUNCTION membership_contains_each(index regclass, elements anycompatiblearray) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_contains_each'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _membership_contains_support;
COMMENT ON FUNCTION membership_contains_each(regclass, anycompatiblearray)
	IS 'may the table have a row with it? One answer for each element of the array';

CREATE FUNCTION membership_filter(index regclass) RETURNS bloom
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_filter'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000
	SUPPORT _membership_contains_support;
COMMENT ON FUNCTION membership_filter(regclass)
	IS 'content of a membership index as a filter';

CREATE FUNCTION membership_info(index regclass,
	OUT index regclass, OUT layers integer, OUT elements bigint,
	OUT capacity bigint, OUT error_rate float8, OUT estimated_error_rate float8,
	OUT bytes bigint, OUT dead_elements bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_info'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10 ROWS 1;
COMMENT ON FUNCTION membership_info(regclass)
	IS 'requested parameters and current state of a membership index';

CREATE FUNCTION membership_check(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_membership_check'
	LANGUAGE C STABLE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION membership_check(regclass)
	IS 'check that the index has every visible row, and return their number';
