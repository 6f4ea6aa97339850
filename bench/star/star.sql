-- bench/star/star.sql: how script/bench star measures.  Builds on bench.sql.

-- Rows of an answer; the answer that is compared is a checksum
CREATE TABLE star_answers (cell text PRIMARY KEY, rows bigint NOT NULL);

-- Nanoseconds that ended workers were running on a core, by the cutime and cstime of
-- the postmaster, which /proc tells in hundredths of a second.  A parallel query ends
-- after the postmaster has noticed the end of each of its workers.
CREATE FUNCTION ended_ns() RETURNS float8 VOLATILE
RETURN CASE WHEN current_setting('max_parallel_workers_per_gather') = '0' THEN 0
	ELSE (SELECT (f[16]::float8 + f[17]::float8) * 1e7
		FROM string_to_array(pg_read_file('/proc/' ||
			split_part(pg_read_file('postmaster.pid'), E'\n', 1) || '/stat'), ' ') f) END;

-- measure() with the workers' CPU time; no other session may end meanwhile.  A
-- failure is an error.
CREATE FUNCTION measure_parallel(part text, cell text, method text, round int, query text)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	since float8 := ended_ns();
	status text := measure(part, cell, method, round, query);
	workers float8 := ended_ns() - since;
BEGIN
	IF status <> 'ok' THEN
		RAISE '% of %: %', method, cell, status;
	END IF;
	UPDATE runs r SET cpu = r.cpu + workers
	WHERE (r.part, r.cell, r.method, r.round) = ($1, $2, $3, $4);
END
$$;
