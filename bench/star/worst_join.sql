SELECT count(*), sum(lo_revenue)
FROM lineorder, part
WHERE lo_partkey = p_partkey AND left(p_brand1, 7) = p_category
