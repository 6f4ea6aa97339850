SELECT sum(l_extendedprice) / 7.0 AS yearly
FROM lineitem, part, (SELECT l_partkey AS partkey, 0.2 * avg(l_quantity) AS low
	FROM lineitem GROUP BY l_partkey) lows
WHERE p_partkey = l_partkey AND partkey = l_partkey
	AND p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < low
