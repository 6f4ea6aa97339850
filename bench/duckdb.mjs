// bench/duckdb.mjs FOLDER ROUNDS: the queries of script/bench few in DuckDB, in memory and by one
// thread, on the rows in FOLDER/list.csv and FOLDER/visits.csv.  Prints "form round cpu_ns answer".
import { createRequire } from 'node:module';

const [folder, rounds] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(folder + '/')('@duckdb/node-api');
const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
const duckdb = await instance.connect();
const partner = '(SELECT 1 FROM list b WHERE b.url = v.url)';
const forms = {
	join: 'FROM visits v JOIN list b ON b.url = v.url',
	exists: `FROM visits v WHERE EXISTS ${partner}`,
	not_exists: `FROM visits v WHERE NOT EXISTS ${partner}`,
};

await duckdb.run(`CREATE TABLE list AS SELECT * FROM read_csv('${folder}/list.csv', header = false, columns = {'url': 'VARCHAR'})`);
await duckdb.run(`CREATE TABLE visits AS SELECT * FROM read_csv('${folder}/visits.csv', header = false, columns = {'id': 'BIGINT', 'url': 'VARCHAR'})`);
for (const [form, from] of Object.entries(forms)) {
	// the first run is not counted
	for (let round = 0; round <= Number(rounds); round++) {
		const since = process.cpuUsage();
		const rows = await duckdb.runAndReadAll(`SELECT (count(*) + sum(v.id))::BIGINT ${from}`);
		const { user, system } = process.cpuUsage(since);

		if (round > 0)
			console.log(form, round, (user + system) * 1000, String(rows.getRows()[0][0]));
	}
}
