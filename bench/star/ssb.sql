-- bench/star/ssb.sql: a star as the Star Schema Benchmark has it: lineorder,
-- four dimensions, their keys.  :orders orders have four lines each, on average.
-- Builds on tpch.sql, which has the nations and the functions that draw.

CREATE SCHEMA ssb;
SET search_path = ssb, tpch;

-- 2,556 days, seven years
CREATE TABLE date AS
SELECT to_char(d, 'YYYYMMDD')::int AS d_datekey,
	to_char(d, 'FMMonth DD, YYYY') AS d_date,
	to_char(d, 'FMDay') AS d_dayofweek,
	to_char(d, 'FMMonth') AS d_month,
	extract(year FROM d)::int AS d_year,
	to_char(d, 'YYYYMM')::int AS d_yearmonthnum,
	to_char(d, 'MonYYYY') AS d_yearmonth,
	extract(doy FROM d)::int AS d_daynuminyear,
	extract(month FROM d)::int AS d_monthnuminyear,
	((extract(doy FROM d) - 1)::int / 7) + 1 AS d_weeknuminyear
FROM (SELECT day(n) AS d FROM generate_series(0, 2555) n) days;

CREATE TABLE customer AS
SELECT n::int AS c_custkey, 'Customer#' || lpad(n::text, 9, '0') AS c_name,
	substr(md5(n::text), 1, 15) AS c_address,
	city(n_name, draw(n, 1, 10)) AS c_city, n_name AS c_nation, r_name AS c_region,
	(ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[draw(n, 2, 5) + 1] AS c_mktsegment
FROM generate_series(1, :orders::bigint / 50) n
	JOIN nation ON n_nationkey = draw(n, 3, 25) JOIN region ON r_regionkey = n_regionkey
ORDER BY n;

CREATE TABLE supplier AS
SELECT n::int AS s_suppkey, 'Supplier#' || lpad(n::text, 9, '0') AS s_name,
	substr(md5(n::text), 1, 15) AS s_address,
	city(n_name, draw(n, 4, 10)) AS s_city, n_name AS s_nation, r_name AS s_region
FROM generate_series(1, :orders::bigint / 750) n
	JOIN nation ON n_nationkey = draw(n, 5, 25) JOIN region ON r_regionkey = n_regionkey
ORDER BY n;

-- A brand is one of 40 in its category, which is one of five of its manufacturer
CREATE TABLE part AS
SELECT n::int AS p_partkey, two_colours(n) AS p_name,
	'MFGR#' || brand / 200 + 1 AS p_mfgr,
	'MFGR#' || brand / 200 + 1 || brand / 40 % 5 + 1 AS p_category,
	'MFGR#' || brand / 200 + 1 || brand / 40 % 5 + 1 || lpad((brand % 40 + 1)::text, 2, '0') AS p_brand1,
	colour(draw(n, 7, 40)) AS p_color,
	(draw(n, 8, 50) + 1)::int AS p_size
FROM (SELECT n, draw(n, 6, 1000) AS brand FROM generate_series(1, :orders::bigint * 2 / 15) n) brands;

CREATE TABLE lineorder AS
SELECT o::int AS lo_orderkey, i::int AS lo_linenumber, custkey AS lo_custkey,
	partkey AS lo_partkey, (draw(l, 14, :orders::bigint / 750) + 1)::int AS lo_suppkey,
	orderdate AS lo_orderdate, priority AS lo_orderpriority, '0' AS lo_shippriority,
	quantity AS lo_quantity, extended AS lo_extendedprice, total AS lo_ordtotalprice,
	discount AS lo_discount, extended / 100 * (100 - discount) AS lo_revenue,
	(extended / quantity * 6 / 10)::int AS lo_supplycost,
	draw(l, 15, 9)::int AS lo_tax,
	to_char(day(ordered + 30 + draw(l, 16, 61)), 'YYYYMMDD')::int AS lo_commitdate,
	ship_mode(draw(l, 17, 7)) AS lo_shipmode
FROM (SELECT o, ordered, to_char(day(ordered), 'YYYYMMDD')::int AS orderdate,
		(draw(o, 9, :orders::bigint / 50) + 1)::int AS custkey,
		priority(draw(o, 10, 5)) AS priority,
		(draw(o, 11, 40000000) + 1000000)::int AS total
	FROM (SELECT o, draw(o, 12, 2556) AS ordered FROM generate_series(1, :orders::bigint) o OFFSET 0) days
	OFFSET 0) orders,
	LATERAL generate_series(1, lines(o)) i,
	LATERAL (SELECT o * 8 + i AS l OFFSET 0) line,
	LATERAL (SELECT (draw(l, 13, :orders::bigint * 2 / 15) + 1)::int AS partkey,
		(draw(l, 18, 50) + 1)::int AS quantity, draw(l, 19, 11)::int AS discount OFFSET 0) drawn,
	LATERAL (SELECT quantity * price(partkey) AS extended OFFSET 0) priced;

ALTER TABLE date ADD PRIMARY KEY (d_datekey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE lineorder ADD PRIMARY KEY (lo_orderkey, lo_linenumber);
ANALYZE date, customer, supplier, part, lineorder;
ALTER TABLE lineorder ADD FOREIGN KEY (lo_orderdate) REFERENCES date;
ALTER TABLE lineorder ADD FOREIGN KEY (lo_custkey) REFERENCES customer;
ALTER TABLE lineorder ADD FOREIGN KEY (lo_suppkey) REFERENCES supplier;
ALTER TABLE lineorder ADD FOREIGN KEY (lo_partkey) REFERENCES part;
VACUUM (FREEZE, ANALYZE) date, customer, supplier, part, lineorder;
