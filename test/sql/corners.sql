-- What is rare, and has its own lines in the source.
\set VERBOSITY terse

-- Names of types that are no identifiers: a filter of them can be stored, dumped
-- and read back, and names them
CREATE TYPE "a b" AS ENUM ('x');
CREATE TYPE "é" AS ENUM ('x');
CREATE TYPE "a""b" AS ENUM ('x');
CREATE TYPE U&"\0009" AS ENUM ('x');
CREATE TYPE "a name too long for eight bytes" AS ENUM ('x');
CREATE TABLE named (f bloom);
INSERT INTO named VALUES
	(bloom_add(bloom_create(10), 'x'::"a b")),
	(bloom_add(bloom_create(10), 'x'::"é")),
	(bloom_add(bloom_create(10), 'x'::"a""b")),
	(bloom_add(bloom_create(10), 'x'::U&"\0009")),
	(bloom_add(bloom_create(10), 'x'::"a name too long for eight bytes"));
SELECT (bloom_info(f)).element_class, f::text::bloom = f AS text, f::bytea::bloom = f AS bytea
FROM named;
SELECT bloom_contains(f::text::bloom, 'x'::"a b") FROM named LIMIT 1;
DROP TABLE named;
