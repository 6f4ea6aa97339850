-- bench/warehouse.sql: the tables of bench/warehouse.sh.

CREATE TABLE products AS
	SELECT n AS product, n * 7919 % 1000 AS brand, 'product ' || n AS name FROM generate_series(1, 100000) n;
CREATE TABLE customers AS
	SELECT n AS customer, n * 7919::bigint % 100 AS country, 'customer ' || n AS name FROM generate_series(1, 1000000) n;
CREATE TABLE stores AS
	SELECT n AS store, n * 7919 % 50 AS region, 'store ' || n AS name FROM generate_series(1, 1000) n;
ALTER TABLE products ADD PRIMARY KEY (product);
ALTER TABLE customers ADD PRIMARY KEY (customer);
ALTER TABLE stores ADD PRIMARY KEY (store);

-- Keys in no order, the same on every run
CREATE TABLE sales AS
	SELECT n AS id, (hashint8extended(n, 1) & 2147483647)::int % 100000 + 1 AS product,
		(hashint8extended(n, 2) & 2147483647)::int % 1000000 + 1 AS customer,
		(hashint8extended(n, 3) & 2147483647)::int % 1000 + 1 AS store, (n % 100)::int AS amount
	FROM generate_series(1, :rows::bigint) n;
VACUUM ANALYZE;
SELECT prewarm();
