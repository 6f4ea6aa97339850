// Drizzle: a column type, a query, and a membership index in a migration.
const { drizzle } = require('drizzle-orm/node-postgres');
const { customType, index, pgTable, text } = require('drizzle-orm/pg-core');
const { and, eq, sql } = require('drizzle-orm');
const { Client } = require('pg');

const bloom = customType({ dataType: () => 'bloom' });
const filters = pgTable('filters', { name: text('name').primaryKey(), seen: bloom('seen').notNull() });
const denied = pgTable('denied', { url: text('url').primaryKey() },
    (t) => [index('denied_filter').using('membership', t.url).with({ error_rate: 0.001 })]);
const contains = (f, element, type = 'text') =>
    sql`bloom_contains(${f}, ${element}::${sql.raw(type)})`;

(async () => {
    const client = new Client();
    await client.connect();
    const db = drizzle(client);
    console.log(await db.select({ name: filters.name }).from(filters)
        .where(and(eq(filters.name, 'hosts'), contains(filters.seen, 'host-7'))));
    console.log(await db.select({ found: contains(filters.seen, 7, 'integer') }).from(filters)
        .where(eq(filters.name, 'numbers')));
    const { generateDrizzleJson, generateMigration } = require('drizzle-kit/api');
    const [, create] = await generateMigration(generateDrizzleJson({}), generateDrizzleJson({ denied }));
    console.log(create);
    await client.end();
})();

// Output:
// [ { name: 'hosts' } ]
// [ { found: true } ]
// CREATE INDEX "denied_filter" ON "denied" USING membership ("url") WITH (error_rate=0.001);
