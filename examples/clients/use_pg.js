// node pg: it sends all values without a type, so cast all but text.
const { Client } = require('pg');

(async () => {
    const client = new Client();
    await client.connect();
    const one = async (query, ...parameters) =>
        Object.values((await client.query(query, parameters)).rows[0])[0];
    const numbers = (what) => `SELECT ${what} FROM filters WHERE name = 'numbers'`;
    const hosts = (what) => `SELECT ${what} FROM filters WHERE name = 'hosts'`;

    console.log(await one(numbers('bloom_contains(seen, $1::integer)'), 7));
    console.log(await one(hosts('bloom_contains(seen, $1)'), 'host-7'));
    console.log(await one(numbers('bloom_contains_each(seen, $1::integer[])'), [7, 100001]));
    const f = await one(hosts('seen'));
    console.log(typeof f, await one('SELECT bloom_contains($1::bloom, $2)', f, 'host-7'));
    try {
        await one(numbers('bloom_contains(seen, $1)'), 7);
    } catch (error) {
        console.log(error.code, error.message);
        console.log(error.hint);
    }
    await client.end();
})();

// Output:
// true
// true
// [ true, false ]
// string true
// 42804 filter holds elements of class integer, not text
// Cast the element, for example value::bigint, or the array, value::bigint[].
