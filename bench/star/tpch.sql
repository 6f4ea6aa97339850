-- bench/star/tpch.sql: eight tables in the manner of TPC-H, with their keys.
-- :orders orders have four lines each, on average.  All is drawn by hash functions,
-- so that each run makes the same.

CREATE SCHEMA tpch;
SET search_path = tpch;

-- One of 0 to choices - 1; another salt draws another
CREATE FUNCTION draw(n bigint, salt bigint, choices bigint) RETURNS bigint IMMUTABLE
RETURN (hashint8extended(n, salt) & 9223372036854775807) % choices;

CREATE FUNCTION day(n bigint) RETURNS date IMMUTABLE
RETURN date '1992-01-01' + n::int;

-- How many lines an order has: 1 to 7
CREATE FUNCTION lines(o bigint) RETURNS bigint IMMUTABLE
RETURN draw(o, 0, 7) + 1;

-- In cents
CREATE FUNCTION price(partkey int) RETURNS int IMMUTABLE
RETURN 90000 + partkey / 10 % 20001 + 100 * (partkey % 1000);

CREATE FUNCTION city(nation text, n bigint) RETURNS text IMMUTABLE
RETURN rpad(nation, 9) || n;

CREATE FUNCTION priority(n bigint) RETURNS text IMMUTABLE
RETURN (ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])[n + 1];

CREATE FUNCTION ship_mode(n bigint) RETURNS text IMMUTABLE
RETURN (ARRAY['AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK'])[n + 1];

CREATE FUNCTION colour(n bigint) RETURNS text IMMUTABLE
RETURN (ARRAY['amber', 'aqua', 'azure', 'beige', 'black', 'blue', 'bronze', 'brown', 'copper', 'coral',
	'cream', 'crimson', 'cyan', 'ebony', 'emerald', 'gold', 'green', 'grey', 'indigo', 'ivory', 'jade',
	'khaki', 'lemon', 'lilac', 'magenta', 'maroon', 'mint', 'navy', 'olive', 'orange', 'orchid', 'pink',
	'plum', 'purple', 'red', 'rose', 'silver', 'violet', 'white', 'yellow'])[n + 1];

-- A part's name: one in twenty has a given colour
CREATE FUNCTION two_colours(n bigint) RETURNS text IMMUTABLE
RETURN colour(draw(n, 20, 40)) || ' ' || colour((draw(n, 20, 40) + 1 + draw(n, 21, 39)) % 40);

-- The i-th of four suppliers of a part
CREATE FUNCTION supplier_of(partkey bigint, i bigint, suppliers bigint) RETURNS int IMMUTABLE
RETURN ((draw(partkey, 22, suppliers) + i * (suppliers / 4)) % suppliers + 1)::int;

-- Some text that is in no condition
CREATE FUNCTION remark(n bigint, length int) RETURNS text IMMUTABLE
RETURN repeat('about it ', length / 9 + (n % 4)::int) || n % 1000;

CREATE TABLE region AS
SELECT n::int - 1 AS r_regionkey, name AS r_name
FROM unnest(ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST']) WITH ORDINALITY r (name, n);

CREATE TABLE nation AS
SELECT (row_number() OVER (ORDER BY name))::int - 1 AS n_nationkey, name AS n_name, region::int AS n_regionkey
FROM (VALUES (0, ARRAY['ALGERIA', 'ETHIOPIA', 'KENYA', 'MOROCCO', 'MOZAMBIQUE']),
	(1, ARRAY['ARGENTINA', 'BRAZIL', 'CANADA', 'PERU', 'UNITED STATES']),
	(2, ARRAY['CHINA', 'INDIA', 'INDONESIA', 'JAPAN', 'VIETNAM']),
	(3, ARRAY['FRANCE', 'GERMANY', 'ROMANIA', 'RUSSIA', 'UNITED KINGDOM']),
	(4, ARRAY['EGYPT', 'IRAN', 'IRAQ', 'JORDAN', 'SAUDI ARABIA'])) r (region, names), unnest(names) name;

CREATE TABLE supplier AS
SELECT n::int AS s_suppkey, 'Supplier#' || lpad(n::text, 9, '0') AS s_name,
	substr(md5(n::text), 1, 20) AS s_address, draw(n, 1, 25)::int AS s_nationkey,
	(draw(n, 2, 1000000) / 100.0)::numeric(15, 2) AS s_acctbal, remark(n, 50) AS s_comment
FROM generate_series(1, :orders::bigint / 150) n;

CREATE TABLE customer AS
SELECT n::int AS c_custkey, 'Customer#' || lpad(n::text, 9, '0') AS c_name,
	substr(md5(n::text), 1, 20) AS c_address, draw(n, 3, 25)::int AS c_nationkey,
	'27-918-335-1736' AS c_phone, (draw(n, 4, 1000000) / 100.0)::numeric(15, 2) AS c_acctbal,
	(ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[draw(n, 5, 5) + 1] AS c_mktsegment,
	remark(n, 60) AS c_comment
FROM generate_series(1, :orders::bigint / 10) n;

CREATE TABLE part AS
SELECT n::int AS p_partkey, two_colours(n) AS p_name,
	'Manufacturer#' || brand / 5 + 1 AS p_mfgr,
	'Brand#' || brand / 5 + 1 || brand % 5 + 1 AS p_brand,
	(ARRAY['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'])[draw(n, 7, 6) + 1] || ' ' ||
		(ARRAY['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'])[draw(n, 8, 5) + 1] || ' ' ||
		(ARRAY['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'])[draw(n, 9, 5) + 1] AS p_type,
	(draw(n, 10, 50) + 1)::int AS p_size,
	(ARRAY['SM', 'LG', 'MED', 'JUMBO', 'WRAP'])[draw(n, 11, 5) + 1] || ' ' ||
		(ARRAY['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])[draw(n, 12, 8) + 1] AS p_container,
	(price(n::int) / 100.0)::numeric(15, 2) AS p_retailprice, remark(n, 10) AS p_comment
FROM (SELECT n, draw(n, 6, 25) AS brand FROM generate_series(1, :orders::bigint * 2 / 15) n) brands;

CREATE TABLE partsupp AS
SELECT n::int AS ps_partkey, supplier_of(n, i, :orders::bigint / 150) AS ps_suppkey,
	(draw(n * 4 + i, 13, 9999) + 1)::int AS ps_availqty,
	((draw(n * 4 + i, 14, 99900) + 100) / 100.0)::numeric(15, 2) AS ps_supplycost,
	remark(n, 40) AS ps_comment
FROM generate_series(1, :orders::bigint * 2 / 15) n, generate_series(0, 3) i;

-- Of each 32 keys, eight are used; every third customer has no orders.  The
-- days are those of seven years, but for the last 150.
CREATE TABLE orders AS
SELECT o / 8 * 32 + o % 8 AS o_orderkey, (customer / 2 * 3 + customer % 2 + 1)::int AS o_custkey,
	CASE WHEN orderdate + 121 <= date '1995-06-17' THEN 'F'
		WHEN orderdate < date '1995-06-17' THEN 'P' ELSE 'O' END AS o_orderstatus,
	((draw(o, 15, 40000000) + 100000) / 100.0)::numeric(15, 2) AS o_totalprice,
	orderdate AS o_orderdate, priority(draw(o, 16, 5)) AS o_orderpriority,
	'Clerk#' || lpad(draw(o, 17, 1000)::text, 9, '0') AS o_clerk, 0 AS o_shippriority,
	remark(o, 36) AS o_comment
FROM (SELECT o, day(draw(o, 18, 2406)) AS orderdate, draw(o, 19, :orders::bigint / 10 * 2 / 3) AS customer
	FROM generate_series(1, :orders::bigint) o OFFSET 0) drawn;

CREATE TABLE lineitem AS
SELECT o / 8 * 32 + o % 8 AS l_orderkey, partkey AS l_partkey,
	supplier_of(partkey, draw(l, 23, 4), :orders::bigint / 150) AS l_suppkey, i::int AS l_linenumber,
	quantity::numeric(15, 2) AS l_quantity,
	(quantity * price(partkey) / 100.0)::numeric(15, 2) AS l_extendedprice,
	(draw(l, 24, 11) / 100.0)::numeric(15, 2) AS l_discount,
	(draw(l, 25, 9) / 100.0)::numeric(15, 2) AS l_tax,
	CASE WHEN receiptdate > date '1995-06-17' THEN 'N'
		WHEN draw(l, 26, 2) = 0 THEN 'R' ELSE 'A' END AS l_returnflag,
	CASE WHEN shipdate > date '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
	shipdate AS l_shipdate, day(ordered + 30 + draw(l, 27, 61)) AS l_commitdate, receiptdate AS l_receiptdate,
	(ARRAY['COLLECT COD', 'DELIVER IN PERSON', 'NONE', 'TAKE BACK RETURN'])[draw(l, 28, 4) + 1] AS l_shipinstruct,
	ship_mode(draw(l, 29, 7)) AS l_shipmode, remark(l, 18) AS l_comment
FROM (SELECT o, draw(o, 18, 2406) AS ordered FROM generate_series(1, :orders::bigint) o OFFSET 0) orders,
	LATERAL generate_series(1, lines(o)) i,
	LATERAL (SELECT o * 8 + i AS l OFFSET 0) line,
	LATERAL (SELECT (draw(l, 30, :orders::bigint * 2 / 15) + 1)::int AS partkey,
		(draw(l, 31, 50) + 1)::int AS quantity, day(ordered + 1 + draw(l, 32, 121)) AS shipdate OFFSET 0) drawn,
	LATERAL (SELECT shipdate + 1 + draw(l, 33, 30)::int AS receiptdate OFFSET 0) received;

ALTER TABLE region ADD PRIMARY KEY (r_regionkey);
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey);
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);
ANALYZE region, nation, supplier, customer, part, partsupp, orders, lineitem;
ALTER TABLE nation ADD FOREIGN KEY (n_regionkey) REFERENCES region;
ALTER TABLE supplier ADD FOREIGN KEY (s_nationkey) REFERENCES nation;
ALTER TABLE customer ADD FOREIGN KEY (c_nationkey) REFERENCES nation;
ALTER TABLE partsupp ADD FOREIGN KEY (ps_partkey) REFERENCES part;
ALTER TABLE partsupp ADD FOREIGN KEY (ps_suppkey) REFERENCES supplier;
ALTER TABLE orders ADD FOREIGN KEY (o_custkey) REFERENCES customer;
ALTER TABLE lineitem ADD FOREIGN KEY (l_orderkey) REFERENCES orders;
ALTER TABLE lineitem ADD FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp;
VACUUM (FREEZE, ANALYZE) region, nation, supplier, customer, part, partsupp, orders, lineitem;
