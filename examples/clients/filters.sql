-- The table that these programs use; needs CREATE EXTENSION bloomfilter
CREATE TABLE filters (name text PRIMARY KEY, seen bloom NOT NULL);
INSERT INTO filters SELECT 'numbers', bloom_agg(n) FROM generate_series(1, 1000) n;
INSERT INTO filters SELECT 'hosts', bloom_agg('host-' || n) FROM generate_series(1, 1000) n;
