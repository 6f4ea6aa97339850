--
-- Golden vectors: what docs/dev/format.md promises to clients, byte for byte.
--
-- The canonical bytes were written down by hand from that page, and the hashes
-- come from XXH3_64bits_withSeed of the libxxhash library over these bytes,
-- not from this extension.  "xxhsum -H3" gives the same for seed 0.  A changed
-- line here means that filters made before no longer find their elements.
--
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
SET lc_monetary = 'C';
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE "long name" AS ENUM ('x');
CREATE TYPE pair AS (a integer, b bigint);
CREATE DOMAIN posint AS integer CHECK (VALUE > 0);

-- A type that hashes as its own function does
SET client_min_messages = warning;
CREATE TYPE dial;
CREATE FUNCTION dial_in(cstring) RETURNS dial LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION dial_out(dial) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE TYPE dial (INPUT = dial_in, OUTPUT = dial_out, LIKE = bigint);
CREATE FUNCTION dial_eq(dial, dial) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION dial_hash(dial) RETURNS integer LANGUAGE sql IMMUTABLE STRICT AS 'SELECT 1';
CREATE FUNCTION dial_hash(dial, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT x''0123456789abcdef''::bigint + $2';
CREATE OPERATOR = (LEFTARG = dial, RIGHTARG = dial, FUNCTION = dial_eq, HASHES);
CREATE OPERATOR CLASS dial_ops DEFAULT FOR TYPE dial USING hash AS
	OPERATOR 1 =, FUNCTION 1 dial_hash(dial), FUNCTION 2 dial_hash(dial, bigint);
RESET client_min_messages;

CREATE TEMP TABLE vectors
(
	id			integer GENERATED ALWAYS AS IDENTITY,
	class		text,
	value		text,			-- an SQL expression
	canonical	text,			-- its canonical bytes, in hex
	seed		bigint,
	hash		text			-- unsigned, in hex
);

INSERT INTO vectors (class, value, canonical, seed, hash) VALUES
	('integer', $$1::smallint$$,
		'0100000000000000', 0, '2fbc593564db792e'),
	('integer', $$1::integer$$,
		'0100000000000000', 0, '2fbc593564db792e'),
	('integer', $$(-2)::bigint$$,
		'feffffffffffffff', 0, '77f9923217301859'),
	('integer', $$9223372036854775807$$,
		'ffffffffffffff7f', 0, 'a233cf376558df46'),
	('float', $$1.5::real$$,
		'000000000000f83f', 0, '2561a4889ff63458'),
	('float', $$'-0'::float8$$,
		'0000000000000000', 0, 'c77b3abb6f87acd9'),
	('float', $$'NaN'::float8$$,
		'000000000000f87f', 0, '0aa61dcfa381c167'),
	('float', $$'-Infinity'::float8$$,
		'000000000000f0ff', 0, '966b04ab6a2f4836'),
	('numeric', $$12.3400::numeric$$,
		'31322e3334', 0, '7e92dc2c8a3dda9b'),
	('numeric', $$'-100'::numeric$$,
		'2d313030', 0, '8a08f355154d1a3d'),
	('numeric', $$0.00$$,
		'30', 0, '1982e3a7bb241055'),
	('numeric', $$-0.50$$,
		'2d302e35', 0, 'f84bb0a44d2e67d6'),
	('numeric', $$1e20::numeric$$,
		'313030303030303030303030303030303030303030', 0, '75ce07df5dd88648'),
	('numeric', $$'NaN'::numeric$$,
		'4e614e', 0, '43de75858bed490b'),
	('text', $$''::text$$,
		'', 0, '2d06800538d394c2'),
	('text', $$'abc'::text$$,
		'616263', 0, '78af5f94892f3950'),
	('text', $$'abc '::varchar$$,
		'61626320', 0, 'f6d698d099d515f8'),
	('text', $$'abc'::char(5)$$,
		'616263', 0, '78af5f94892f3950'),
	('text', $$'abc'::name$$,
		'616263', 0, '78af5f94892f3950'),
	('text', $$U&'\017Elu\0165ou\010Dk\00FD'::text$$,
		'c5be6c75c5a56f75c48d6bc3bd', 0, '1d8e10ff5c6e732e'),
	('text', $$repeat('0123456789', 3)$$,
		'303132333435363738393031323334353637383930313233343536373839', 0, 'e2b9b52ff8938058'),
	('text', $$repeat('0123456789', 15)$$,
		repeat('30313233343536373839', 15), 0, '13f5ead77584ffb8'),
	('text', $$repeat('0123456789', 25)$$,
		repeat('30313233343536373839', 25), 0, 'baa80fc00b9b7d9e'),
	('text', $$repeat('0123456789', 300)$$,
		repeat('30313233343536373839', 300), 0, '4f71a4f498fa41a2'),
	('bytea', $$'\x00ff10'::bytea$$,
		'00ff10', 0, 'a4379406eab41d2f'),
	('uuid', $$'00112233-4455-6677-8899-aabbccddeeff'::uuid$$,
		'00112233445566778899aabbccddeeff', 0, 'c56cde21e711bf96'),
	('boolean', $$true$$,
		'01', 0, 'e12ef9d2eb86ceeb'),
	('boolean', $$false$$,
		'00', 0, 'c44bdff4074eecdb'),
	('"char"', $$'A'::"char"$$,
		'41', 0, 'd0d496e05c553485'),
	('oid', $$4294967295::oid$$,
		'ffffffff', 0, 'cd6b1c920d3f662c'),
	('money', $$123::bigint::money$$,
		'0c30000000000000', 0, '73ce00f40f5009f5'),
	('macaddr', $$'08:00:2b:01:02:03'::macaddr$$,
		'08002b010203', 0, 'd6f980e14eff2ef8'),
	('macaddr8', $$'08:00:2b:01:02:03:04:05'::macaddr8$$,
		'08002b0102030405', 0, '2a5f33b8573bdb93'),
	('date', $$'2000-01-02'::date$$,
		'01000000', 0, 'db02334e96d65708'),
	('date', $$'infinity'::date$$,
		'ffffff7f', 0, '55506669e60fb0ff'),
	('time', $$'00:00:01'::time$$,
		'40420f0000000000', 0, '2c27ac0713086960'),
	('time with time zone', $$'00:00:01+02'::timetz$$,
		'40420f0000000000e0e3ffff', 0, '4db151d29831184e'),
	('timestamp', $$'2000-01-01 00:00:01'::timestamp$$,
		'40420f0000000000', 0, '2c27ac0713086960'),
	('timestamp', $$'infinity'::timestamp$$,
		'ffffffffffffff7f', 0, 'a233cf376558df46'),
	('timestamp with time zone', $$'2000-01-01 00:00:01+00'::timestamptz$$,
		'40420f0000000000', 0, '2c27ac0713086960'),
	('interval', $$'1 month 2 days 3 seconds'::interval$$,
		'c0c619bb830200000000000000000000', 0, 'c9f120cd94726fef'),
	('interval', $$'-1 microsecond'::interval$$,
		'ffffffffffffffffffffffffffffffff', 0, '722a202f07a4b313'),
	('interval', $$'-178000000 years'::interval$$,
		'000080a0b21576ddd3feffffffffffff', 0, '49cadd75b5cc12b8'),
	('interval', $$'178000000 years -1 day -1 microsecond'::interval$$,
		'ff9fa84139ea89222c01000000000000', 0, '7cac9ff692b4e207'),
	('bit string', $$B'101'$$,
		'03000000a0', 0, '15410b15fe9a993d'),
	('bit string', $$B'1010000000000001'::varbit$$,
		'10000000a001', 0, 'bafea77600c55533'),
	('network address', $$'10.1.2.3/8'::inet$$,
		'04080a010203', 0, '581b9bb3efb36801'),
	('network address', $$'10.1.0.0/16'::cidr$$,
		'04100a010000', 0, '4029f089cd816b84'),
	('network address', $$'2001:db8::1'::inet$$,
		'068020010db8000000000000000000000001', 0, '2f100c88244ddd49'),
	('enum mood', $$'ok'::mood$$,
		'6f6b', 0, '38af4cfed25a8222'),
	('jsonb', $$'null'::jsonb$$,
		'6e', 0, 'cbaa0f6724ae8b0a'),
	('jsonb', $$'1.0'::jsonb$$,
		'640100000031', 0, 'b5ab8de943cb52f8'),
	('jsonb', $$'"a"'::jsonb$$,
		'730100000061', 0, '0dc8d51e46fdc9a2'),
	('jsonb', $$'[]'::jsonb$$,
		'5b00000000', 0, 'fd93d6e1b96eb8a2'),
	('jsonb', $$'[1, true, false]'::jsonb$$,
		'5b030000006401000000317466', 0, 'b79f7e2820dec18d'),
	('jsonb', $$'{"bb": {}, "c": ["x"], "a": null}'::jsonb$$,
		'7b0300000001000000616e01000000635b010000007301000000780200000062627b00000000', 0, '6712abfeafa405fa'),
	('integer[]', $$array[1, null, 3]$$,
		'010000000300000001000000080000000100000000000000ffffffff080000000300000000000000', 0, 'f84e1f147a4d0b7b'),
	('integer[]', $$'{}'::smallint[]$$,
		'00000000', 0, '48b2c92616fc193d'),
	('integer[]', $$'[0:1][2:2]={{1},{2}}'::integer[]$$,
		'0200000002000000000000000100000002000000080000000100000000000000080000000200000000000000', 0, '5b0427b98d243a86'),
	('text[]', $$array['a', '']$$,
		'010000000200000001000000010000006100000000', 0, '87f7e559dcc4c158'),
	('range of integer', $$'[1,5]'::int4range$$,
		'02080000000100000000000000080000000600000000000000', 0, 'c47e7dcb1bc0bd04'),
	('range of integer', $$'empty'::int8range$$,
		'01', 0, 'e12ef9d2eb86ceeb'),
	('range of numeric', $$'(,1.50]'::numrange$$,
		'0c03000000312e35', 0, 'b1fa445d9ec4bddf'),
	('range of date', $$'(,)'::daterange$$,
		'18', 0, '83e4e2ca690d8fcf'),
	('(range of integer)[]', $$array['[1,2)'::int4range]$$,
		'0100000001000000010000001900000002080000000100000000000000080000000200000000000000', 0, '2d92f07713c5d219'),
	('multirange of integer', $$'{[1,2),[5,)}'::int4multirange$$,
		'0200000019000000020800000001000000000000000800000002000000000000000d00000012080000000500000000000000', 0, '99cceea9593e2cf3'),
	('multirange of integer', $$'{}'::int8multirange$$,
		'00000000', 0, '48b2c92616fc193d'),
	('(integer, text)', $$row(1, 'a'::text)$$,
		'020000000800000001000000000000000100000061', 0, '0b31eeee703f86b2'),
	('(integer, text)', $$row(null::integer, 'a')$$,
		'02000000ffffffff0100000061', 0, '5b5c6ebbfff247c5'),
	('()', $$row()$$,
		'00000000', 0, '48b2c92616fc193d'),
	('record[]', $$'{}'::record[]$$,
		'00000000', 0, '48b2c92616fc193d'),
	('(integer)[]', $$array[row(1)]$$,
		'0100000001000000010000001000000001000000080000000100000000000000', 0, '52c1f1915e7c142d'),
	('(integer, integer)', $$'(1,2)'::pair$$,
		'02000000080000000100000000000000080000000200000000000000', 0, '64385a44141ddc12'),
	('integer', $$7::posint$$,
		'0700000000000000', 0, '81671e58d6b596af'),
	('(integer, (text, boolean[]))', $$row(1, row('a'::text, array[true, null]))$$,
		'0200000008000000010000000000000022000000020000000100000061150000000100000002000000010000000100000001ffffffff', 0, 'df82e1a103ee3cf7'),
	('structure #f6553d7fd921a4', $$row(1, row('a'::text, array[true], 1.5::float8))$$,
		'020000000800000001000000000000002a00000003000000010000006111000000010000000100000001000000010000000108000000000000000000f83f', 0, 'd0cfe85ce0641dbb'),
	('enum long name', $$'x'::"long name"$$,
		'78', 0, 'eaf06c6480b2cd11'),
	('dial', $$'7'::dial$$,
		'efcdab8967452301', 0, 'b78df414284277a6'),
	('integer', $$1$$,
		'0100000000000000', 1, '85671091eda75eb5'),
	('text', $$'abc'::text$$,
		'616263', 42, 'd8438def21bbdcc3'),
	('text', $$'abc'::text$$,
		'616263', -1, '291c3db09146c9c9'),
	('text', $$repeat('0123456789', 15)$$,
		repeat('30313233343536373839', 15), 42, 'e0ae13f82a241ecb'),
	('text', $$repeat('0123456789', 300)$$,
		repeat('30313233343536373839', 300), 42, 'c180f74daa107056'),
	('uuid', $$'00112233-4455-6677-8899-aabbccddeeff'::uuid$$,
		'00112233445566778899aabbccddeeff', 42, 'fd81c9b98a39af6a'),
	('(integer, text)', $$row(1, 'a'::text)$$,
		'020000000800000001000000000000000100000061', 42, 'b69dec9cd82d124a');
\set ON_ERROR_STOP off

-- The canonical bytes of bytea are its own: so the two columns of the table
-- agree, whatever the values are
SELECT id, value
FROM vectors
WHERE lpad(to_hex(bloom_hash(decode(canonical, 'hex'), seed)), 16, '0') <> hash;

-- The values themselves
CREATE FUNCTION hash_of(value text, seed bigint) RETURNS text
LANGUAGE plpgsql AS
$$
DECLARE
	hash		bigint;
BEGIN
	EXECUTE format('SELECT bloom_hash(%s, %s)', value, seed) INTO hash;
	RETURN lpad(to_hex(hash), 16, '0');
END
$$;
CREATE FUNCTION class_of(value text) RETURNS text
LANGUAGE plpgsql AS
$$
DECLARE
	class		text;
BEGIN
	EXECUTE format('SELECT (bloom_info(bloom_add(bloom_create(100), %s))).element_class',
				   value) INTO class;
	RETURN class;
END
$$;

SELECT id, value, seed, hash AS expected, hash_of(value, seed) AS got
FROM vectors
WHERE hash_of(value, seed) IS DISTINCT FROM hash
ORDER BY id;

SELECT id, value, class AS expected, class_of(value) AS got
FROM vectors
WHERE class_of(value) IS DISTINCT FROM class
ORDER BY id;

SELECT count(*) AS vectors, count(DISTINCT class) AS classes FROM vectors;

-- A class's eight bytes in the header: the description that docs/dev/format.md gives
-- of the type, or the hash of a long one.  And all vectors of a class in filters
-- of both types: the bytes never change.
CREATE TEMP TABLE classes (class text PRIMARY KEY, description text);
INSERT INTO classes VALUES
	('integer', 'i'), ('float', 'f'), ('numeric', 'n'), ('text', 't'), ('bytea', 'y'),
	('uuid', 'u'), ('boolean', 'b'), ('"char"', 'c'), ('oid', 'o'), ('money', 'm'),
	('macaddr', 'a'), ('macaddr8', 'A'), ('date', 'd'), ('time', 'h'),
	('time with time zone', 'H'), ('timestamp', 's'), ('timestamp with time zone', 'S'),
	('interval', 'v'), ('bit string', 'B'), ('network address', 'w'), ('jsonb', 'j'),
	('enum mood', 'E"mood"'), ('integer[]', '[i'), ('text[]', '[t'),
	('range of integer', 'Ri'), ('range of numeric', 'Rn'), ('range of date', 'Rd'),
	('(range of integer)[]', '[Ri'), ('multirange of integer', 'Mi'), ('()', '()'),
	('(integer, text)', '(it)'), ('(integer, integer)', '(ii)'), ('record[]', '[r'),
	('(integer)[]', '[(i)'), ('(integer, (text, boolean[]))', '(i(t[b))'),
	('structure #f6553d7fd921a4', '(i(t[bf))'), ('enum long name', 'E"long name"'),
	('dial', 'X"dial"');
CREATE FUNCTION filter_of(type text, class text) RETURNS bytea
LANGUAGE plpgsql AS
$$
DECLARE
	filter		text := format('%s_create(100)', type);
	element		text;
	bytes		bytea;
BEGIN
	FOR element IN SELECT value FROM vectors v WHERE v.class = filter_of.class AND seed = 0 ORDER BY id
	LOOP
		filter := format('%s_add(%s, %s)', type, filter, element);
	END LOOP;
	EXECUTE format('SELECT %s::bytea', filter) INTO bytes;
	RETURN bytes;
END
$$;
CREATE TEMP TABLE filters AS
SELECT class, description, filter_of('bloom', class) AS bloom, filter_of('cuckoo', class) AS cuckoo,
	CASE WHEN length(description) <= 8 THEN rpad(encode(description::bytea, 'hex'), 16, '0')
		 ELSE '23' || (SELECT string_agg(substr(hash, 15 - 2 * i, 2), '' ORDER BY i)
					   FROM generate_series(0, 6) AS i, lpad(to_hex(bloom_hash(description::bytea)), 16, '0') AS hash)
	END AS expected
FROM classes FULL JOIN (SELECT DISTINCT class FROM vectors) AS v USING (class);
SELECT class, description, expected, substr(bloom, 9, 8) AS bloom, substr(cuckoo, 9, 8) AS cuckoo
FROM filters
WHERE substr(bloom, 9, 8) IS DISTINCT FROM decode(expected, 'hex')
   OR substr(cuckoo, 9, 8) IS DISTINCT FROM decode(expected, 'hex');
SELECT class, substr(bloom, 9, 8) AS bytes, md5(bloom) AS bloom, md5(cuckoo) AS cuckoo
FROM filters ORDER BY class COLLATE "C";

-- Filters of all layouts, made in all ways
CREATE AGGREGATE cuckoo_state(anycompatible) (SFUNC = _cuckoo_agg_trans, STYPE = cuckoo);
CREATE FUNCTION words(first int, last int) RETURNS text[] LANGUAGE sql IMMUTABLE AS
$$ SELECT array_agg('word ' || i ORDER BY i) FROM generate_series(first, last) AS i $$;
-- A filter with as many words, added ten at a time so that it gets several layers
CREATE FUNCTION grown(f bloom, last int) RETURNS bloom LANGUAGE plpgsql IMMUTABLE AS
$$
BEGIN
	FOR i IN 1 .. last BY 10 LOOP
		f := bloom_add_all(f, words(i, i + 9));
	END LOOP;
	RETURN f;
END
$$;
SELECT what, (bloom_info(f)).layout, (bloom_info(f)).layers, length(f::bytea) AS bytes, md5(f::bytea) AS sum
FROM (VALUES
	(1, 'empty', (SELECT bloom_agg(1) WHERE false)),
	(2, 'explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), words(1, 50))),
	(3, 'small, without elements', bloom_create(100)),
	(4, 'small, for one element', bloom_add_all(bloom_create(1, 0.1, 0), words(1, 1))),
	(5, 'small, fixed', bloom_add_all(bloom_create(1000, 0.01, 0), words(1, 1000))),
	(6, 'small, growing', bloom_add_all(bloom_create(1000), words(1, 1000))),
	(7, 'small, keyed', bloom_add_all(bloom_create(1000, 0.01, 2, -42), words(1, 1000))),
	(8, 'small, the largest', bloom_add_all(bloom_create(1500, 1e-7, 0), words(1, 1500))),
	(9, 'one block', bloom_add_all(bloom_create(1501, 0.01, 0), words(1, 1500))),
	(10, 'one block, growing and keyed', bloom_add_all(bloom_create(2000, 0.01, 2, -42), words(1, 2000))),
	(11, 'two blocks, fixed', bloom_add_all(bloom_create(2000, 1e-4, 0), words(1, 2000))),
	(12, 'two blocks, growing', bloom_add_all(bloom_create(2000, 1e-6), words(1, 2000))),
	(13, 'classic', bloom_add_all(bloom_create_bits(6045, 8), words(1, 500))),
	(14, 'classic, keyed', bloom_add_all(bloom_create_bits(6045, 8, 12345), words(1, 500))),
	(15, 'grown by a batch', bloom_add_all(bloom_create(100, 0.1, 1), words(1, 1000))),
	(16, 'grown by one', grown(bloom_create(100, 0.1, 1), 1000)),
	(17, 'grown by two', grown(bloom_create(50), 1500)),
	(18, 'grown to blocks', grown(bloom_create(500), 8000)),
	(19, 'grown to two blocks', grown(bloom_create(20, 0.001, 4, 7), 8000)),
	(20, 'grown from blocks', grown(bloom_create(2000), 8000)),
	(21, 'aggregate', (SELECT bloom_agg(w) FROM unnest(words(1, 1000)) AS w)),
	(22, 'aggregate of many', (SELECT bloom_agg(w) FROM unnest(words(1, 2000)) AS w)),
	(23, 'aggregate of a capacity', (SELECT bloom_agg(w, 100, NULL) FROM unnest(words(1, 1000)) AS w)),
	(24, 'aggregate, keyed', (SELECT bloom_agg(bloom_element(w, 5), 2000, 0.001) FROM unnest(words(1, 1000)) AS w)),
	(25, 'aggregate, grown', grown((SELECT bloom_agg(w) FROM unnest(words(1, 50)) AS w), 200)),
	(26, 'union', bloom_union(bloom_add_all(bloom_create(100), words(1, 40)), bloom_add_all(bloom_create(100), words(31, 70)))),
	(27, 'side by side', bloom_union(bloom_add_all(bloom_create(100), words(1, 100)), bloom_add_all(bloom_create(100), words(101, 200)))),
	(28, 'small and grown', bloom_union(bloom_add_all(bloom_create(100), words(1, 40)), grown(bloom_create(100), 500))),
	(29, 'blocks united', bloom_union(bloom_add_all(bloom_create(2000), words(1, 800)), bloom_add_all(bloom_create(2000), words(701, 1500)))),
	(30, 'explicit united', bloom_union(bloom_add_all((SELECT bloom_agg(1) WHERE false), words(1, 50)), bloom_add_all(bloom_create(100), words(41, 90)))),
	(31, 'intersection', bloom_intersection(bloom_add_all(bloom_create(1000), words(1, 900)), bloom_add_all(bloom_create(1000), words(101, 1000)))),
	(32, 'intersection of blocks', bloom_intersection(bloom_add_all(bloom_create(2000), words(1, 900)), bloom_add_all(bloom_create(2000), words(101, 1000)))),
	(33, 'cleared', bloom_clear(grown(bloom_create(50), 1500)))
) AS v(id, what, f) ORDER BY id;
SELECT what, (cuckoo_info(f)).layout, (cuckoo_info(f)).layers, length(f::bytea) AS bytes, md5(f::bytea) AS sum
FROM (VALUES
	(1, 'empty', (SELECT cuckoo_agg(1) WHERE false)),
	(2, 'explicit', (SELECT cuckoo_state(w) FROM unnest(words(1, 50)) AS w)),
	(3, 'without elements', cuckoo_create(100)),
	(4, 'fixed', cuckoo_add_all(cuckoo_create(1000, 0.01, 0), words(1, 990))),
	(5, 'growing', cuckoo_add_all(cuckoo_create(1000), words(1, 1000))),
	(6, 'keyed', cuckoo_add_all(cuckoo_create(1000, 0.01, 2, -42), words(1, 1000))),
	(7, 'grown by one', cuckoo_add_all(cuckoo_create(100, 0.1, 1), words(1, 1000))),
	(8, 'grown by two', cuckoo_add_all(cuckoo_create(50), words(1, 1500))),
	(9, 'grown by three, keyed', cuckoo_add_all(cuckoo_create(20, 1e-6, 3, 7), words(1, 1000))),
	(10, 'repeated elements', cuckoo_add_all(cuckoo_create(1000), words(1, 500) || words(1, 300) || words(1, 10))),
	(11, 'unique elements', cuckoo_add_unique(cuckoo_add_unique(cuckoo_create(1000), 'a'), 'a')),
	(12, 'saturated', cuckoo_add_all(cuckoo_create(100), array_fill('word 1'::text, ARRAY[10]))),
	(13, 'aggregate', (SELECT cuckoo_agg(w) FROM unnest(words(1, 1000)) AS w)),
	(14, 'aggregate of a capacity', (SELECT cuckoo_agg(w, 100, NULL) FROM unnest(words(1, 1000)) AS w)),
	(15, 'aggregate, keyed', (SELECT cuckoo_agg(bloom_element(w, 5), 2000, 0.001) FROM unnest(words(1, 1000)) AS w)),
	(16, 'with removals', cuckoo_remove_all(cuckoo_add_all(cuckoo_create(50), words(1, 1500)), words(101, 1500))),
	(17, 'compacted', cuckoo_compact(cuckoo_remove_all(cuckoo_add_all(cuckoo_create(50), words(1, 1500)), words(101, 1500)))),
	(18, 'replaced', cuckoo_replace(cuckoo_add_all(cuckoo_create(50), words(1, 40)), 'word 1', 'word 0')),
	(19, 'union', cuckoo_union(cuckoo_add_all(cuckoo_create(1000), words(1, 600)), cuckoo_add_all(cuckoo_create(1000), words(401, 700)))),
	(20, 'side by side', cuckoo_union(cuckoo_add_all(cuckoo_create(100), words(1, 100)), cuckoo_add_all(cuckoo_create(100), words(101, 200)))),
	(21, 'cleared', cuckoo_clear(cuckoo_add_all(cuckoo_create(50), words(1, 1500))))
) AS v(id, what, f) ORDER BY id;

-- Whole filters, with the checksums that XXH3_64bits of libxxhash gives
SELECT what, f::bytea = expected AS same, expected::bloom = f AS back, CASE WHEN f::bytea <> expected THEN f::bytea END AS got
FROM (VALUES
	(1, 'empty', (SELECT bloom_agg(1) WHERE false),
		'\x626c6d01000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000003c0000000000000000000000bb409c650acc694d'::bytea),
	(2, 'explicit', bloom_add((SELECT bloom_agg(1) WHERE false), 1),
		'\x626c6d01010000006900000000000000000000000000000000000000000000000000000000000000'
		'01000000000000004400000000000000000000002e79db643559bc2f1da525cdeb1b967c'::bytea),
	(3, 'compact', bloom_create(1),
		'\x626c6d0106000201000000000000000000000000000000007b14ae47e17a843f0100020001000300'
		'002540200142b85ad8'::bytea),
	(4, 'compact, fixed', bloom_add(bloom_create(3, 0.1, 0, 5), 'abc'::text),
		'\x626c6d0106000001740000000000000005000000000000009a9999999999b93f0300030006000200'
		'01082e0ed67f994c1c7e'::bytea),
	(5, 'compact, exact', (SELECT bloom_agg(x) FROM unnest(ARRAY['a', 'b', 'c']) AS x),
		'\x626c6d0106020201740000000000000000000000000000007b14ae47e17a843f030004000d000563'
		'843b10ba81efaf245a7925'::bytea),
	(6, 'two small layers', bloom_add_all(bloom_create(2), ARRAY['a', 'b', 'c', 'd']),
		'\x626c6d0102000202740000000000000000000000000000007b14ae47e17a843f0200000000000000'
		'0000000000000000bc01000000000000000000000603000000000000200000000000000002000000'
		'00000000ce70033e3f8c803f06000000000000000400000000000000bc0000000000000000000000'
		'00000000060b000000000000c80400000000000040000000000000006f5995af9145363f16000000'
		'000000004602000000000000fc000000000000000000000000000000600430100000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000001000000100000000000000000000000000000000008000000000000'
		'0000000c000000000000000000400000000000040000004000000000000000000000000000000000'
		'00010000400000000080000040000840000800000000000000000000000000000001000000000000'
		'00001000008000000000000000000000000000000000000000000000000000000000000000830000'
		'00000400000000000000000000000000000000000000000000000000000000000000000000000000'
		'000000000eb2e01b4094522c'::bytea),
	(7, 'blocks', bloom_add(bloom_create(1501, 0.5, 0), 'abc'::text),
		'\x626c6d010200000174000000000000000000000000000000000000000000e03fdd05000000000000'
		'0000000000000000bc010000000000000000000002010000000000000500000000000000dd050000'
		'00000000000000000000e03f01000000000000003f050000000000007c0000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000010000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'00000000c41e4670f511e620'::bytea),
	(8, 'classic', bloom_add(bloom_create_bits(100, 3), true),
		'\x626c6d01040000016200000000000000000000000000000000000000000000000000000000000000'
		'0000000000000000bc00000000000000000000000403000000000000640000000000000000000000'
		'000000000000000000000000030000000000000000000000000000007c0000000000000000000000'
		'00000000000000000000000000008240000000000000000000000000000000000000000000000000'
		'000000000000000000000000000000000000000000000000000000000a78eec9d067c6e7'::bytea)
) AS v(id, what, f, expected) ORDER BY id;
SELECT cuckoo_create(1)::bytea = expected AS same, expected::cuckoo = cuckoo_create(1) AS back
FROM (VALUES ('\x636b6f0105000201000000000000000000000000000000007b14ae47e17a843f0100000000000000'
		'0000000000000000bc0000000000000000000000050700000000000038000000000000001d000000'
		'0000000096987e12e6a2803f00000000000000001d000000000000007c0000000000000001000000'
		'00000000000000000000000000000000000000000000000000000000000000000000000000000000'
		'000000000000000000000000000000000000000000000000000000003cc5d13a34348507'::bytea)) AS v(expected);

-- Cuckoo filters, byte for byte.  A reader that knows no more than the layout:
-- all numbers are unsigned, and products of two have 128 bits.
CREATE FUNCTION get64(bytes bytea, at int) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT sum(get_byte(bytes, at + i) * 256::numeric ^ i) FROM generate_series(0, 7) AS i $$;
CREATE FUNCTION low64(n numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT n % 18446744073709551616 $$;
CREATE FUNCTION high64(n numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT div(n, 18446744073709551616) $$;
CREATE FUNCTION xor_upper_half(n numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT div(n, 4294967296) * 4294967296 + (div(n, 4294967296)::bigint # (n % 4294967296)::bigint) $$;
CREATE FUNCTION remix(n numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT low64(xor_upper_half(n) * 13787848793156543929) $$;
-- How often an element of this hash is in the filter
CREATE FUNCTION read_cuckoo(bytes bytea, hash bigint) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$
DECLARE
	h			numeric := CASE WHEN hash < 0 THEN 18446744073709551616 + hash::numeric ELSE hash END;
	word		numeric := low64(h * 11400714819323198485);
	bits_0		int := get_byte(bytes, 61);
	windows_0	numeric := get64(bytes, 68);
	first		numeric := 1 + high64(word * (2 ^ bits_0::numeric - 1));
	rest		numeric := remix(word);
	-- the fingerprint, and below it what mixes it
	spread		numeric := first * 2 ^ (64 - bits_0)::numeric + div(remix(low64(first * 11400714819323198485)), 2 ^ bits_0::numeric);
	total		numeric := high64(spread * (windows_0 / 2));
	at			int;
	bits		int;
	windows		numeric;
	place		numeric;
	fingerprint	numeric;
	slot		numeric;
	entry		numeric;
	count		int := 0;
BEGIN
	FOR layer IN 0 .. get_byte(bytes, 7) - 1
	LOOP
		at := 60 + 64 * layer;
		bits := get_byte(bytes, at + 1);
		windows := get64(bytes, at + 8);
		fingerprint := first * 2 ^ (bits - bits_0)::numeric + div(rest, 2 ^ (64 - (bits - bits_0))::numeric);
		FOR side IN 0 .. 1
		LOOP
			-- one in either half; both places within their halves add up
			IF side = 0 THEN
				place := high64(h * windows);
			ELSE
				place := ((get64(bytes, at + 56) * (total + 1) - 1 - place % (windows / 2)) + windows) % (windows / 2)
					+ CASE WHEN place < windows / 2 THEN windows / 2 ELSE 0 END;
			END IF;
			FOR offs IN 0 .. 1
			LOOP
				slot := (place + offs) * (bits + 1);
				entry := div(get64(bytes, (get64(bytes, at + 48) + div(slot, 8))::int), 2 ^ (slot % 8)) % 2 ^ (bits + 1)::numeric;
				IF entry = 2 * fingerprint + offs THEN
					count := count + 1;
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
	RETURN count;
END
$$;
SELECT what, count(*) FILTER (WHERE read_cuckoo(f::bytea, bloom_hash(x, (cuckoo_info(f)).seed)) <> cuckoo_count(f, x)) AS differ, count(*) FILTER (WHERE cuckoo_count(f, x) > 0) > 39 AS many_in
FROM (VALUES ('one layer', cuckoo_add_all(cuckoo_create(50), ARRAY(SELECT generate_series(1, 40)) || ARRAY[1, 1, 2, 3, 3, 3, 3])),
			 ('fixed and keyed', cuckoo_add_all(cuckoo_create(50, 1e-5, 0, 42), ARRAY(SELECT generate_series(1, 40)))),
			 ('layers', cuckoo_add_all(cuckoo_create(10, 0.05), ARRAY(SELECT generate_series(1, 150)))),
			 ('layers by one', cuckoo_add_all(cuckoo_create(10, 0.05, 1), ARRAY(SELECT generate_series(1, 150)))),
			 ('layers by three', cuckoo_add_all(cuckoo_create(10, 0.05, 3), ARRAY(SELECT generate_series(1, 150))))) AS v(what, f), generate_series(-30, 150) AS x
GROUP BY what ORDER BY what COLLATE "C";

DROP FUNCTION get64, low64, high64, xor_upper_half, remix, read_cuckoo;
DROP FUNCTION hash_of, class_of, filter_of, words, grown;
DROP TYPE mood, "long name", pair;
DROP AGGREGATE cuckoo_state(anycompatible);
SET client_min_messages = warning;
DROP TYPE dial CASCADE;
DROP DOMAIN posint;
