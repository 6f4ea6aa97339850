-- bench/dated/tables.sql: orders and lineitem of schema tpch as a shop has them: the keys are those
-- of a sequence, so the rows are stored in the order of the keys, and the days follow it.  In schema
-- dated with BRIN indexes, in schema unskipped with BRIN indexes of ranges that are too small for
-- join filters to skip blocks by them; PostgreSQL uses both for conditions.

CREATE SCHEMA dated;
CREATE SCHEMA unskipped;

CREATE TABLE dated.orders AS
SELECT row_number() OVER (ORDER BY o_orderdate, o_orderkey) AS o_orderkey, o_custkey, o_orderstatus, o_totalprice,
	o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment, o_orderkey AS drawn
FROM tpch.orders
ORDER BY 1;
ANALYZE dated.orders;

CREATE TABLE dated.lineitem AS
SELECT o.o_orderkey AS l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
	l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment
FROM tpch.lineitem JOIN dated.orders o ON l_orderkey = drawn
ORDER BY 1, l_linenumber;
ALTER TABLE dated.orders DROP drawn;

CREATE TABLE unskipped.orders AS SELECT * FROM dated.orders ORDER BY o_orderkey;
CREATE TABLE unskipped.lineitem AS SELECT * FROM dated.lineitem ORDER BY l_orderkey, l_linenumber;
CREATE INDEX ON dated.orders USING brin (o_orderkey, o_orderdate) WITH (pages_per_range = 16);
CREATE INDEX ON dated.lineitem USING brin (l_orderkey, l_shipdate, l_receiptdate) WITH (pages_per_range = 16);
CREATE INDEX ON unskipped.orders USING brin (o_orderkey, o_orderdate) WITH (pages_per_range = 4);
CREATE INDEX ON unskipped.lineitem USING brin (l_orderkey, l_shipdate, l_receiptdate) WITH (pages_per_range = 4);
VACUUM (FREEZE, ANALYZE) dated.orders, dated.lineitem, unskipped.orders, unskipped.lineitem;
