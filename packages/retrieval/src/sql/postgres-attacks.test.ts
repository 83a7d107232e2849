/** What a model could write to do harm: refused or bounded, and the data as it was. P1 to P4 of postgres-query.ts. */
import type { Database } from "@superstep/engine/patterns"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { postgresDatabase } from "./postgres.ts"
import { cleanUp, runReadOnly } from "./postgres-query.ts"
import { type PostgresServer, startPostgres } from "./postgres-server.test-support.ts"

const LIMITS = { rows: 50, bytes: 20_000, timeout: 400 }

let server: PostgresServer
let database: Database
let before: unknown

beforeAll(async () => {
  server = await startPostgres()
  await server.run(`
    CREATE TABLE accounts (id int PRIMARY KEY, name text, balance int);
    INSERT INTO accounts SELECT i, 'person ' || i, i * 10 FROM generate_series(1, 100) i;
    CREATE TABLE secrets (word text);
    INSERT INTO secrets VALUES ('swordfish');
    CREATE SEQUENCE tickets;
    CREATE EXTENSION dblink;
    CREATE FUNCTION remote() RETURNS text LANGUAGE sql AS $$ SELECT dblink_connect('host=127.0.0.1') $$;
    CREATE FUNCTION any_sql(sql text) RETURNS text LANGUAGE plpgsql AS
      $$ DECLARE found text; BEGIN EXECUTE sql INTO found; RETURN found; END $$;
    CREATE ROLE boss LOGIN PASSWORD 'boss';
    GRANT ALL ON ALL TABLES IN SCHEMA public TO boss;
    CREATE FUNCTION make_rich() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS
      $$ BEGIN UPDATE accounts SET balance = 1000000; RETURN 1; END $$;
    CREATE FUNCTION peek() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT word FROM secrets';
    CREATE ROLE reader LOGIN PASSWORD 'reader';
    GRANT SELECT ON accounts TO reader;
    CREATE VIEW sleeper AS SELECT pg_sleep(30)::text AS slept;
    GRANT SELECT ON sleeper TO reader;`)
  database = postgresDatabase({
    id: "bank",
    connectionString: server.url("reader", "reader"),
    limits: LIMITS,
  })
  before = await everything()
})
afterAll(async () => {
  await database?.close?.()
  await server?.stop()
})

/** All that an attack could have changed. */
function everything(): Promise<unknown> {
  return server.run(`SELECT
    (SELECT md5(string_agg(a::text, '|' ORDER BY id)) FROM accounts a) AS accounts,
    (SELECT string_agg(word, '|') FROM secrets) AS secrets,
    (SELECT last_value || ' ' || is_called FROM tickets) AS sequence,
    (SELECT string_agg(oid::regclass::text, ' ' ORDER BY oid) FROM pg_class WHERE oid >= 16384) AS relations,
    (SELECT string_agg(proname, ' ' ORDER BY oid) FROM pg_proc WHERE oid >= 16384) AS functions,
    (SELECT string_agg(r::text, ' ' ORDER BY r.rolname) FROM pg_roles r) AS roles,
    (SELECT string_agg(extname, ' ' ORDER BY extname) FROM pg_extension) AS extensions,
    (SELECT count(*)::int FROM pg_largeobject_metadata) AS objects,
    (SELECT count(*)::int FROM pg_db_role_setting) AS settings,
    (SELECT count(*)::int FROM pg_prepared_xacts) AS transactions,
    (SELECT count(*)::int FROM pg_replication_slots) AS slots,
    (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory') AS locks`)
}

const REFUSED: Record<string, string> = {
  "a plain write": "UPDATE accounts SET balance = 0",
  "an insert": "INSERT INTO accounts VALUES (999, 'x', 1)",
  "a delete": "DELETE FROM accounts",
  "a truncation": "TRUNCATE accounts",
  "a drop": "DROP TABLE accounts",
  "a write in a CTE": "WITH gone AS (DELETE FROM accounts RETURNING *) SELECT * FROM gone",
  "an insert in a CTE":
    "WITH new AS (INSERT INTO accounts VALUES (7777, 'x', 1) RETURNING id) SELECT * FROM new",
  "a merge in a CTE":
    "WITH m AS (MERGE INTO accounts a USING (SELECT 1 AS id) s ON a.id = s.id WHEN MATCHED THEN DELETE RETURNING a.id) SELECT * FROM m",
  "SELECT INTO a new table": "SELECT * INTO stolen FROM accounts",
  "a temporary table": "CREATE TEMP TABLE t AS SELECT 1",
  "SELECT INTO a temporary table": "SELECT 1 AS a INTO TEMP t",
  "COPY to a program": "COPY accounts TO PROGRAM 'cat > /srv/stolen'",
  "COPY from a program": "COPY accounts FROM PROGRAM 'id'",
  "COPY to a file": "COPY (SELECT * FROM accounts) TO '/srv/stolen.csv'",
  "COPY from a file": "COPY accounts FROM '/etc/passwd'",
  "COPY to the client": "COPY accounts TO STDOUT",
  "reading a file": "SELECT pg_read_file('/etc/passwd')",
  "reading a file as bytes": "SELECT pg_read_binary_file('/etc/passwd')",
  "listing a folder": "SELECT * FROM pg_ls_dir('/')",
  "importing a file as a large object": "SELECT lo_import('/etc/passwd')",
  "making a large object": "SELECT lo_from_bytea(0, 'abc')",
  "a DO block": "DO $$ BEGIN DELETE FROM accounts; END $$",
  "SET ROLE": "SET ROLE postgres",
  "RESET ROLE": "RESET ROLE",
  "SET SESSION AUTHORIZATION": "SET SESSION AUTHORIZATION postgres",
  "taking on a role by a function": "SELECT set_config('role', 'postgres', false)",
  "taking on another login": "SELECT set_config('session_authorization', 'boss', false)",
  "making the transaction a writing one": "SELECT set_config('transaction_read_only', 'off', true)",
  "writing by default": "SELECT set_config('default_transaction_read_only', 'off', false)",
  "lifting the time-out": "SELECT set_config('statement_timeout', '0', false), pg_sleep(30)",
  committing: "COMMIT",
  "committing, then writing": "SELECT 1; COMMIT; DELETE FROM accounts",
  "rolling back, then writing": "ROLLBACK; DELETE FROM accounts",
  "several statements": "SELECT 1; DELETE FROM accounts",
  "a statement behind a comment": "SELECT 1 /* ; */ ; -- nothing\nDELETE FROM accounts",
  "a statement behind nested comments": "SELECT 1 /* /* */ ' */ ; DELETE FROM accounts; --'",
  "a statement behind a string with a backslash": "SELECT 'a\\'; DELETE FROM accounts; --'",
  "a statement behind dollar quotes": "SELECT $a$ $b$ $a$; DELETE FROM accounts; SELECT $b$ $b$",
  "closing the cursor": "SELECT 1; CLOSE superstep_query; DELETE FROM accounts",
  "a cursor that stays": "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
  "locking rows": "SELECT * FROM accounts FOR UPDATE",
  "locking a table": "LOCK TABLE accounts",
  "an advisory lock": "SELECT pg_advisory_lock(1)",
  "ten thousand advisory locks": "SELECT count(pg_advisory_lock(i)) FROM generate_series(1, 10000) i",
  "a lock by a quoted name": 'SELECT "pg_advisory_lock"(1)',
  "a lock by a name with a comment": "SELECT pg_catalog . pg_advisory_lock /* */ (1)",
  "a lock by a name with escapes": 'SELECT U&"pg_\\0061dvisory_lock"(1)',
  "a lock inside a string": "SELECT query_to_xml('SELECT pg_advisory_lock(1)', true, true, '')",
  "a notification": "SELECT pg_notify('channel', 'x')",
  NOTIFY: "NOTIFY channel",
  LISTEN: "LISTEN channel",
  "writing by dblink, as another role":
    "SELECT dblink_exec('host=127.0.0.1 port=PORT dbname=postgres user=boss password=boss', 'DELETE FROM accounts')",
  "calling out by dblink":
    "SELECT * FROM dblink('host=127.0.0.1 port=PORT dbname=postgres user=boss password=boss', 'SELECT 1') AS t(a int)",
  "making an extension": "CREATE EXTENSION file_fdw",
  "making a function": "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
  "a function with its owner's rights": "SELECT make_rich()",
  "a function that reads with its owner's rights": "SELECT public.peek()",
  nextval: "SELECT nextval('tickets')",
  setval: "SELECT setval('tickets', 1000)",
  "ending other sessions":
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user",
  "preparing a statement": "PREPARE p AS DELETE FROM accounts",
  "executing a prepared statement": "EXECUTE p",
  "explaining with a run": "EXPLAIN ANALYZE DELETE FROM accounts",
  "calling a procedure": "CALL nothing()",
  granting: "GRANT ALL ON accounts TO PUBLIC",
  "changing one's own role": "ALTER ROLE reader SET statement_timeout = 0",
  "a table that may not be read": "SELECT * FROM secrets",
  passwords: "SELECT * FROM pg_authid",
  "writing to the log of changes": "SELECT pg_logical_emit_message(false, 'x', 'y')",
  "exporting a large object": "SELECT lo_export(1, '/srv/stolen')",
  "reading a large object": "SELECT loread(lo_open(1, 262144), 10)",
  "a file's size and times": "SELECT pg_stat_file('/etc/passwd')",
  "where the log is": "SELECT pg_current_logfile()",
  "reading the settings again": "SELECT pg_reload_conf()",
  "a new log file": "SELECT pg_rotate_logfile()",
  "cancelling others": "SELECT pg_cancel_backend(pid) FROM pg_stat_activity",
  "a transaction of its own number": "SELECT txid_current()",
  "the same by its new name": "SELECT pg_current_xact_id()",
  "sharing a snapshot": "SELECT pg_export_snapshot()",
  "a lock that ends with the transaction": "SELECT pg_advisory_xact_lock(1)",
  "a lock that is only tried": "SELECT pg_try_advisory_lock_shared(1)",
  "a lock by a function of the database": "SELECT any_sql('SELECT pg_advisory_lock(1)')",
  "a write by a function of the database": "SELECT any_sql('DELETE FROM accounts RETURNING 1')",
  "calling out by a function of the database": "SELECT remote()",
  "a table to XML": "SELECT table_to_xml('secrets', true, true, '')",
  "a search's own SQL": "SELECT * FROM ts_stat('SELECT to_tsvector(word) FROM secrets')",
  "a query's own SQL": "SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')",
  "SQL in an XPath": "SELECT * FROM xpath_table('id', 'name', 'accounts', '/', 'true') AS t(id int)",
  "locking rows weakly": "SELECT * FROM accounts FOR KEY SHARE",
  "locking rows in a subquery": "SELECT * FROM (SELECT * FROM accounts FOR SHARE) a",
  "SELECT INTO, unlogged": "SELECT 1 AS a INTO UNLOGGED t",
  "explaining a write that runs": "EXPLAIN (ANALYZE) INSERT INTO accounts VALUES (8888, 'x', 1)",
  "discarding everything": "DISCARD ALL",
  vacuuming: "VACUUM accounts",
  "a comment on a table": "COMMENT ON TABLE accounts IS 'x'",
  "importing a schema": "IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public",
  "fetching from our own cursor": "FETCH ALL FROM superstep_query",
  "the row our own cursor is at": "SELECT * FROM accounts WHERE CURRENT OF superstep_query",
  "half of a statement, ended by ours": "SELECT 1) TO PROGRAM 'id' --",
  "a parameter": "SELECT $1::int",
  nothing: "  -- nothing\n ;",
  "a string that does not end": "SELECT 'abc",
  "a NUL character": "SELECT '\0'",
}

const BOUNDED: Record<string, string> = {
  "a sleep": "SELECT pg_sleep(30)",
  "a sleep in a view": "SELECT * FROM sleeper",
  "a regular expression that backtracks":
    "SELECT count(*) FROM generate_series(1, 100000) i WHERE repeat('a', 2000) || i ~ '^((a*)*b)*(\\w+)\\1$'",
  "an aggregate of gigabytes": "SELECT string_agg(repeat('x', 1000000), '') FROM generate_series(1, 100000)",
  "an array without end": "SELECT array_agg(i) FROM generate_series(1, 100000000000) i",
  "JSON that is very deep":
    "SELECT (repeat('[', 9000) || repeat(']', 9000))::json FROM generate_series(1, 60)",
  "a number with many digits": "SELECT 2::numeric ^ 100000, i FROM generate_series(1, 1000) i",
  "a sleep per row": "SELECT pg_sleep(0.05) FROM generate_series(1, 100000)",
  "a huge result": "SELECT * FROM generate_series(1, 1000000000)",
  "a huge count": "SELECT count(*) FROM generate_series(1, 100000000000)",
  "rows without end": "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r",
  "a count without end":
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
  "a product of tables":
    "SELECT count(*) FROM accounts a, accounts b, accounts c, accounts d, accounts e, accounts f",
  "one row of 200 MB": "SELECT repeat('x', 200000000)",
  "many rows of 1 MB": "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
  "many columns of 1 MB": `SELECT ${Array.from({ length: 200 }, () => "repeat('x', 1000000)").join(", ")}`,
}

const CODES = ["QUERY_REFUSED", "QUERY_FAILED", "QUERY_TIMEOUT"]

describe("what a model may not ask", () => {
  test.each(Object.entries(REFUSED))("%s is refused", async (_, sql) => {
    // Refused, and not only out of time.
    const error = await database.query(sql.replace("PORT", `${server.port}`), { timeout: 20_000 }).then(
      () => undefined,
      (thrown) => thrown,
    )
    expect(["QUERY_REFUSED", "QUERY_FAILED"]).toContain(error?.code)
    expect(error.message).not.toContain("swordfish")
    expect(await everything()).toEqual(before)
  })

  test.each(Object.entries(BOUNDED))("%s is bounded", async (_, sql) => {
    const began = performance.now()
    const outcome = await database.query(sql).catch((error) => error)
    expect(performance.now() - began).toBeLessThan(15_000)
    if (outcome instanceof Error) expect(CODES).toContain((outcome as Error & { code: string }).code)
    else {
      expect(outcome.rows.length).toBeLessThanOrEqual(LIMITS.rows)
      expect(JSON.stringify(outcome.rows).length).toBeLessThan(LIMITS.bytes * 1.1)
      expect(outcome.isCut).toBe(true)
    }
    expect(await everything()).toEqual(before)
  })

  test("after all that the database still answers", async () => {
    const { rows } = await database.query("SELECT count(*), sum(balance) FROM accounts;", {
      timeout: 20_000,
    })
    expect(rows).toEqual([[100, 50_500]])
  })
})

describe("the server's walls hold without the guard", () => {
  const attacks = Object.entries({ ...REFUSED, ...BOUNDED })
    // A role may end its own sessions, and ours with them; and functions may read with their owner's rights. Nothing but
    // the guard stops that.
    .filter(
      ([name]) => name !== "a function that reads with its owner's rights" && name !== "a NUL character",
    )

  test.each(attacks)("%s", async (_, sql) => {
    const began = performance.now()
    const outcome = await withoutGuard(sql)
    expect(performance.now() - began).toBeLessThan(15_000)
    if (!(outcome instanceof Error)) expect(outcome.rows.length).toBeLessThanOrEqual(LIMITS.rows)
    expect(await everything()).toEqual(before)
  })
})

async function withoutGuard(sql: string) {
  const client = new pg.Client({ connectionString: server.url("reader", "reader") })
  client.on("error", () => undefined)
  await client.connect()
  const { processID } = client as unknown as { processID: number }
  try {
    const cancel = () => void server.run(`SELECT pg_cancel_backend(${processID})`)
    const line = { client, cancel, newQuery: (config: pg.QueryConfig) => new pg.Query(config) as never }
    return await runReadOnly(line, sql, LIMITS)
  } catch (error) {
    return error as Error
  } finally {
    // Where the attack ended the connection there is nothing left to clean.
    await cleanUp(client).catch(() => undefined)
    await client.end()
  }
}
