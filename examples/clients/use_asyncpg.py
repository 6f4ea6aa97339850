# asyncpg: it asks the server for the types of parameters, so cast all but text.
import asyncio
import asyncpg

async def main():
    connection = await asyncpg.connect()
    one = connection.fetchval
    numbers = "SELECT {} FROM filters WHERE name = 'numbers'"
    hosts = "SELECT {} FROM filters WHERE name = 'hosts'"

    print(await one(numbers.format("bloom_contains(seen, $1::integer)"), 7))
    print(await one(hosts.format("bloom_contains(seen, $1)"), "host-7"))
    print(await one(numbers.format("bloom_contains_each(seen, $1::integer[])"), [7, 100001]))
    f = await one(hosts.format("seen"))
    print(type(f), await one("SELECT bloom_contains($1::bloom, $2)", f, "host-7"))
    try:
        await one(numbers.format("bloom_contains(seen, $1)"), 7)
    except asyncpg.DataError as error:
        print(error)
    await connection.close()

asyncio.run(main())

# Output:
# True
# True
# [True, False]
# <class 'str'> True
# invalid input for query argument $1: 7 (expected str, got int)
