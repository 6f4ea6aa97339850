-- bench/lib.sql: what the benchmarks with a server measure by, and URLs.

CREATE EXTENSION bloomfilter;
CREATE EXTENSION pg_prewarm;

-- Nanoseconds that this backend was running on a core
CREATE FUNCTION cpu_ns() RETURNS float8
RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8;

CREATE FUNCTION wall_ns() RETURNS float8 VOLATILE
RETURN extract(epoch FROM clock_timestamp()) * 1e9;

CREATE FUNCTION median(float8[]) RETURNS float8
RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest($1) x);

-- Median time, in ns, of one statement, planned anew each time, as the server
-- sees it; each looks up another element.  The query has $1, a number.
CREATE FUNCTION look_up(query text, times int, first int) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
	spent float8[];
	since float8;
	found boolean;
BEGIN
	FOR i IN first + 1 .. first + times LOOP
		since := wall_ns();
		EXECUTE query INTO found USING i * 7919::bigint;
		spent := spent || (wall_ns() - since);
	END LOOP;
	RETURN median(spent);
END
$$;

-- URLs of 70 bytes, all distinct, in no order
CREATE FUNCTION url(n bigint) RETURNS text
RETURN 'https://www.example.com/articles/2024/' || md5(n::text);

-- Bring all tables and indexes into shared buffers, as far as there is room.
CREATE FUNCTION prewarm() RETURNS boolean
RETURN (SELECT sum(pg_prewarm(oid::regclass)) > 0 FROM pg_class
	WHERE relkind IN ('r', 't', 'i') AND oid >= 16384
		AND pg_relation_size(oid::regclass) > 0);
