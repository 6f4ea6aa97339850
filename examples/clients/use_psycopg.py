# psycopg 3: elements, arrays and a filter as parameters.
import psycopg

with psycopg.connect() as connection:
    def one(query, *parameters):
        return connection.execute(query, parameters).fetchone()[0]

    numbers = "SELECT {} FROM filters WHERE name = 'numbers'"
    hosts = "SELECT {} FROM filters WHERE name = 'hosts'"

    print(one(numbers.format("bloom_contains(seen, %s)"), 7))
    print(one(hosts.format("bloom_contains(seen, %s)"), "host-7"))
    print(one(numbers.format("bloom_contains_each(seen, %s)"), [7, 100001]))
    f = one(hosts.format("seen"))
    print(type(f), one("SELECT bloom_contains(%s::bloom, %s)", f, "host-7"))
    connection.execute("UPDATE filters SET seen = bloom_add(seen, %s) WHERE name = 'hosts'", ["new"])
    print(one(hosts.format("bloom_contains(seen, %s)"), "new"))
    try:
        one(numbers.format("bloom_contains(seen, %s)"), "7")
    except psycopg.errors.DatatypeMismatch as error:
        print(error)

# Output:
# True
# True
# [True, False]
# <class 'str'> True
# True
# filter holds elements of class integer, not text
# DETAIL:  The element is of type text.
# HINT:  Cast the element, for example value::bigint, or the array, value::bigint[].
