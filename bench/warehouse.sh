#!/bin/bash
#
# bench/warehouse.sh: star joins of a fact table of 20 million rows with three
# dimensions, which docs/joins.md explains: as PostgreSQL plans them, with filters
# that are written into the query, and with those that bloomfilter.join_filter = on adds.
# Builds, starts a throw-away server (see script/lib.sh), and prints CSV.  The three ways
# of each query alternate, in one session without workers; gains are of CPU time.
#
#     bench/warehouse.sh >bench/results/warehouse.csv     five minutes
#     bench/warehouse.sh --rows 1000000                   fewer rows
#     bench/warehouse.sh --rounds 9                       more runs of each (default 3)
#
# It needs 8 GB of memory and 4 GB of disk in TMPDIR (default /tmp).

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rows=20000000
rounds=3

read_numbers "rows rounds" "$@"

# What is asked of each dimension, "" if it is not joined: products, customers, stores
names=(three one large all none)
products=("p.brand < 10" "p.brand = 7" "" "p.brand < 900" "p.brand < 10")
customers=("c.country < 10" "" "c.country < 10" "c.country < 90" "")
stores=("t.region < 10" "" "" "t.region < 45" "")
texts=("three dimensions, 1 % 10 % and 20 % of their rows" "one dimension, 0.1 %"
	"one large dimension, 10 %" "three dimensions, 90 % each" "one dimension, 1 %, anti join")

# query NUMBER HAND: with "by hand" filters, or without
query()
{
	local i=$1 hand=$2 from="FROM sales s" where="WHERE true"

	if [ "${names[i]}" = none ]; then
		echo "SELECT sum(amount) FROM sales s WHERE NOT EXISTS
			(SELECT FROM products p WHERE p.product = s.product AND ${products[i]})"
		return
	fi
	add products product p "${products[i]}"
	add customers customer c "${customers[i]}"
	add stores store t "${stores[i]}"
	echo "SELECT sum(amount) $from $where"
}

# add TABLE KEY ALIAS CONDITION: to the "from" and "where" of query
add()
{
	[ -n "$4" ] || return 0
	from+=" JOIN $1 $3 USING ($2)"
	where+=" AND $4"
	[ "$hand" = no ] ||
		where+=" AND bloom_contains((SELECT bloom_agg($2) FROM $1 $3 WHERE $4), s.$2)"
}

# one NUMBER METHOD ROUND: what a session does for one run
one()
{
	local i=$1 method=$2 hand=no setting=off

	case $method in
		"by hand") hand=yes ;;
		automatic) setting=on ;;
	esac
	echo "SET bloomfilter.join_filter = $setting;"
	[ "$3" -gt 1 ] ||
		echo "INSERT INTO methods (part, cell, method, rows, plan) VALUES
			('warehouse', '${names[i]}', '$method', $rows, plan_of(\$q\$$(query "$i" "$hand")\$q\$));"
	echo "SELECT measure('warehouse', '${names[i]}', '$method', $3, \$q\$$(query "$i" "$hand")\$q\$);"
}

session()
{
	local i round method

	echo "LOAD 'bloomfilter'; SET work_mem = '64MB';"
	for i in "${!names[@]}"; do
		for round in $(seq "$rounds"); do
			for method in plain "by hand" automatic; do
				# no filter can be written into an anti join
				[ "${names[i]}/$method" = "none/by hand" ] || one "$i" "$method" "$round"
			done
		done
	done
}

warehouse()
{
	local wrong i

	build_extension
	start_bench_server
	sql -f "$here/bench.sql"
	sql -v rows="$rows" -f "$here/warehouse.sql"
	session | sql -f - >"$work/log/session"
	wrong=$(sql -c "SELECT string_agg(cell, ', ') FROM (SELECT cell FROM runs
		GROUP BY cell HAVING count(DISTINCT answer) <> 1 OR bool_or(status <> 'ok')) c")
	[ -z "$wrong" ] || die "THE ANSWERS OF $wrong DIFFER; this is a bug"
	{
		echo "# machine: $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) cores"
		echo "# software: PostgreSQL $("$PG_CONFIG" --version | awk '{ print $2 }'), $(gcc --version | head -n 1)"
		echo "# date: $(date -u '+%Y-%m-%d %H:%M') UTC, load average $(cut -d ' ' -f 1-3 /proc/loadavg)"
		echo "# command: bench/warehouse.sh; work_mem 64MB, $rows rows ($(sql -c "SELECT pg_size_pretty(pg_table_size('sales'))")), medians of $rounds runs"
		for i in "${!names[@]}"; do
			echo "# ${names[i]}: ${texts[i]}"
		done
		sql -c "COPY (SELECT cell AS query, method,
				round(median(array_agg(cpu))::numeric / 1e6) AS cpu_ms,
				round(min(cpu)::numeric / 1e6) AS least, round(max(cpu)::numeric / 1e6) AS most,
				round(median(array_agg(elapsed))::numeric / 1e6) AS elapsed_ms,
				round((median(array_agg(plain / cpu)))::numeric, 2) AS gain,
				round(min(plain / cpu)::numeric, 2) AS gain_least, round(max(plain / cpu)::numeric, 2) AS gain_most,
				min(answer) AS answer, min(plan) AS plan
			FROM runs JOIN methods m USING (part, cell, method)
				JOIN (SELECT part, cell, round, cpu AS plain FROM runs WHERE method = 'plain') p USING (part, cell, round)
			GROUP BY cell, method ORDER BY min(m.place)) TO stdout CSV HEADER"
	} >&3
}

exec 3>&1 1>&2
need_packages
in_workplace warehouse
