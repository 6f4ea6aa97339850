-- What io.sql and cuckoo_io.sql share: functions that make, damage and use the bytes of
-- filters of :type.  No error may come from here: psql would tell this file's path.
\set ECHO none
\set stopped :ON_ERROR_STOP
\set ON_ERROR_STOP on
SELECT replace($shared$
-- Little-endian numbers, as the format has them
CREATE FUNCTION le(n numeric) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT string_agg(set_byte('\x00', 0, (div(n, 256::numeric ^ i) % 256)::int), '' ORDER BY i) FROM generate_series(0, 7) AS i $$;
CREATE FUNCTION le(x float8) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT string_agg(substr(float8send(x), 8 - i, 1), '' ORDER BY i) FROM generate_series(0, 7) AS i $$;
CREATE FUNCTION le(n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT string_agg(substr(int8send(n), 8 - i, 1), '' ORDER BY i) FROM generate_series(0, 7) AS i $$;

-- The image within the external form of a filter; and an image, valid or not, with
-- a right checksum behind it, so that the rest of the check is reached
CREATE FUNCTION image(f @type@) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT substr(f::bytea, 1, octet_length(f::bytea) - 8) $$;
CREATE FUNCTION sealed(image bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT image || le(bloom_hash(image)) $$;

-- The error that bytes raise, as bytea and as text; and that of an image
CREATE FUNCTION fault_of(bytes bytea) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	as_bytea	text;
	as_text		text;
BEGIN
	BEGIN
		PERFORM bytes::@type@;
		as_bytea := 'no error';
	EXCEPTION WHEN OTHERS THEN
		as_bytea := SQLSTATE || ' ' || SQLERRM;
	END;
	BEGIN
		PERFORM translate(encode(bytes, 'base64'), E'\n', '')::@type@;
		as_text := 'no error';
	EXCEPTION WHEN OTHERS THEN
		as_text := SQLSTATE || ' ' || SQLERRM;
	END;
	as_bytea := replace(as_bytea, '22P03 invalid @type@ filter: ', '');
	as_text := replace(as_text, '22P02 invalid input syntax for type @type@: ', '');
	IF as_bytea = as_text THEN
		RETURN as_bytea;
	END IF;
	RETURN format('bytea: %s, but text: %s', as_bytea, as_text);
END
$$;
CREATE FUNCTION fault(image bytea) RETURNS text LANGUAGE sql AS
$$ SELECT fault_of(sealed(image)) $$;

-- Use a filter with an inverted bit, if it still is one; use() is the caller's
CREATE FUNCTION use_flipped(f @type@, at int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	flipped	@type@;
BEGIN
	BEGIN
		flipped := sealed(set_bit(image(f), at, 1 - get_bit(image(f), at)))::@type@;
	EXCEPTION WHEN invalid_binary_representation THEN
		RETURN 'refused';
	END;
	PERFORM use(flipped, f);
	RETURN 'used';
EXCEPTION WHEN OTHERS THEN
	RETURN format('bit %s: %s %s', at, SQLSTATE, SQLERRM);
END
$$;
$shared$, '@type@', :'type') \gexec
\set ON_ERROR_STOP :stopped
\set ECHO all
