# psycopg 3, asynchronously, with a binary cursor: a filter as bytes, and a binary COPY.
import asyncio
import psycopg

async def main():
    async with await psycopg.AsyncConnection.connect() as connection:
        cursor = connection.cursor(binary=True)
        await cursor.execute("SELECT seen FROM filters WHERE name = 'hosts'")
        f = (await cursor.fetchone())[0]
        await cursor.execute("SELECT bloom_contains(%b::bloom, %s)", [f, "host-7"])
        print(type(f), await cursor.fetchone())
        async with cursor.copy("COPY filters FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["text", "bytea"])
            await copy.write_row(["copied", f])
        await cursor.execute("SELECT count(*) FROM filters WHERE seen @> 'host-7'::text AND name <> 'numbers'")
        print(await cursor.fetchone())
        await connection.rollback()

asyncio.run(main())

# Output:
# <class 'bytes'> (True,)
# (2,)
