--
-- bloom_compatible and cuckoo_compatible: true exactly if the filters can be combined.
--
\set ON_ERROR_STOP on
CREATE TABLE blooms (id int PRIMARY KEY, what text, f bloom);
INSERT INTO blooms VALUES
	(1, 'plain', bloom_create(1000)),
	(2, 'integers', bloom_add(bloom_create(1000), 1)),
	(3, 'texts', bloom_add(bloom_create(1000), 'a'::text)),
	(4, 'capacity', bloom_create(2000)),
	(5, 'rate', bloom_create(1000, 0.02)),
	(6, 'growth', bloom_create(1000, growth => 0)),
	(7, 'seed', bloom_create(1000, seed => 1)),
	(8, 'large', bloom_create(100000)),
	(9, 'large, with elements', bloom_add_all(bloom_create(100000), ARRAY(SELECT generate_series(1, 1000)))),
	(10, 'layers', bloom_add_all(bloom_create(1000), ARRAY(SELECT generate_series(1, 5000)))),
	(11, 'classic', bloom_create_bits(5000, 5)),
	(12, 'classic of other bits', bloom_create_bits(5001, 5)),
	(13, 'classic of other hashes', bloom_create_bits(5000, 6)),
	(14, 'classic of texts', bloom_add(bloom_create_bits(5000, 5), 'a'::text)),
	(15, 'empty', (SELECT bloom_agg(1) WHERE false)),
	(16, 'explicit', bloom_add((SELECT bloom_agg(1) WHERE false), 1)),
	(17, 'explicit texts', bloom_add((SELECT bloom_agg(1) WHERE false), 'a'::text));
CREATE FUNCTION can_unite(a bloom, b bloom) RETURNS boolean LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM bloom_union(a, b);
	RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN false;
END
$$;
\set ON_ERROR_STOP off
SELECT a.id, b.id FROM blooms AS a, blooms AS b WHERE bloom_compatible(a.f, b.f) <> can_unite(a.f, b.f);
SELECT a.id, array_agg(b.id ORDER BY b.id) AS compatible_with FROM blooms AS a, blooms AS b WHERE bloom_compatible(a.f, b.f) GROUP BY a.id ORDER BY a.id;

CREATE TABLE cuckoos (id int PRIMARY KEY, what text, f cuckoo);
INSERT INTO cuckoos VALUES
	(1, 'plain', cuckoo_create(1000)),
	(2, 'integers', cuckoo_add(cuckoo_create(1000), 1)),
	(3, 'texts', cuckoo_add(cuckoo_create(1000), 'a'::text)),
	(4, 'capacity', cuckoo_create(2000)),
	(5, 'rate', cuckoo_create(1000, 0.001)),
	(6, 'growth', cuckoo_create(1000, growth => 0)),
	(7, 'seed', cuckoo_create(1000, seed => 1)),
	(8, 'large', cuckoo_create(100000)),
	(9, 'large, with elements', cuckoo_add_all(cuckoo_create(100000), ARRAY(SELECT generate_series(1, 1000)))),
	(10, 'layers', cuckoo_add_all(cuckoo_create(1000), ARRAY(SELECT generate_series(1, 5000)))),
	(15, 'empty', (SELECT cuckoo_agg(1) WHERE false));
CREATE FUNCTION can_unite(a cuckoo, b cuckoo) RETURNS boolean LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM cuckoo_union(a, b);
	RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN false;
END
$$;
SELECT a.id, b.id FROM cuckoos AS a, cuckoos AS b WHERE cuckoo_compatible(a.f, b.f) <> can_unite(a.f, b.f);
SELECT a.id, array_agg(b.id ORDER BY b.id) AS compatible_with FROM cuckoos AS a, cuckoos AS b WHERE cuckoo_compatible(a.f, b.f) GROUP BY a.id ORDER BY a.id;

-- NULL; in memory, computed and expanded
SELECT bloom_compatible(NULL, bloom_create(10)) IS NULL AS first, bloom_compatible(bloom_create(10), NULL) IS NULL AS second,
	   bloom_compatible(bloom_add(bloom_add(bloom_create(20000), 1), 2), bloom_add(bloom_add(bloom_create(20000), 3), 4)) AS expanded,
	   bloom_compatible(bloom_add(bloom_add(bloom_create(20000), 1), 2), bloom_add(bloom_add(bloom_create(20000), 3::text), 4::text)) AS other_class;

-- Of stored filters only the header is read
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
INSERT INTO blooms VALUES (20, 'very large', bloom_create(2000000));
SELECT buffers('SELECT bloom_compatible(f, f) FROM blooms WHERE id = 20') < 60 AS few,
	   buffers('SELECT length(f::bytea) FROM blooms WHERE id = 20') > 200 AS of_many;
DROP TABLE blooms, cuckoos;
DROP FUNCTION can_unite(bloom, bloom), can_unite(cuckoo, cuckoo);
