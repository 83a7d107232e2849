/**
 * Harmful queries that a model could write: refused or limited, and the data stays unchanged. P1 to P4 of
 * postgres-query.ts.
 */
import { describe, expect, test } from "vitest"
import { attackedBank, LIMITS } from "./attacked-bank.test-support.ts"

const bank = attackedBank()

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

describe("queries that a model must not run", () => {
  test.each(Object.entries(REFUSED))("%s is refused", async (_, sql) => {
    // Refused, and not only timed out.
    const error = await bank.database
      .query(sql.replace("PORT", `${bank.server.port}`), { timeout: 20_000 })
      .then(
        () => undefined,
        (thrown) => thrown,
      )
    expect(["QUERY_REFUSED", "QUERY_FAILED"]).toContain(error?.code)
    expect(error.message).not.toContain("swordfish")
    expect(await bank.everything()).toEqual(bank.before)
  })

  test.each(Object.entries(BOUNDED))("%s is limited", async (_, sql) => {
    const began = performance.now()
    const outcome = await bank.database.query(sql).catch((error) => error)
    expect(performance.now() - began).toBeLessThan(15_000)
    if (outcome instanceof Error) expect(CODES).toContain((outcome as Error & { code: string }).code)
    else {
      expect(outcome.rows.length).toBeLessThanOrEqual(LIMITS.rows)
      expect(JSON.stringify(outcome.rows).length).toBeLessThan(LIMITS.bytes * 1.1)
      expect(outcome.isTruncated).toBe(true)
    }
    expect(await bank.everything()).toEqual(bank.before)
  })

  test("after all that the database still answers", async () => {
    const { rows } = await bank.database.query("SELECT count(*), sum(balance) FROM accounts;", {
      timeout: 20_000,
    })
    expect(rows).toEqual([[100, 50_500]])
  })
})

describe("the server's own limits hold without the guard", () => {
  const attacks = Object.entries({ ...REFUSED, ...BOUNDED })
    // A role may end its own sessions, and ours with them; and functions may read with their owner's rights. Nothing but
    // the guard stops that.
    .filter(
      ([name]) => name !== "a function that reads with its owner's rights" && name !== "a NUL character",
    )

  test.each(attacks)("%s", async (_, sql) => {
    const began = performance.now()
    const outcome = await bank.withoutGuard(sql)
    expect(performance.now() - began).toBeLessThan(15_000)
    if (!(outcome instanceof Error)) expect(outcome.rows.length).toBeLessThanOrEqual(LIMITS.rows)
    expect(await bank.everything()).toEqual(bank.before)
  })
})

test.each([
  ["brackets", `SELECT ${"(".repeat(20_000)}1${")".repeat(20_000)}`],
  ["operators", `SELECT ${"1+".repeat(20_000)}1`],
  ["subqueries", `SELECT ${"(SELECT ".repeat(2_000)}1${")".repeat(2_000)}`],
  ["unions", `${"SELECT 1 UNION ".repeat(5_000)}SELECT 1`],
  ["joins", `SELECT 1 FROM accounts ${"JOIN accounts USING (id) ".repeat(3_000)}`],
  ["negations", `SELECT ${"NOT ".repeat(20_000)}true`],
  ["cases", `SELECT ${"CASE WHEN true THEN ".repeat(3_000)}1${" END".repeat(3_000)}`],
])("a query nested too deeply by %s is refused, and the parser survives", async (_, sql) => {
  await expect(bank.database.query(sql)).rejects.toMatchObject({
    code: "QUERY_REFUSED",
    message: expect.stringContaining("nested"),
  })
  const wide = `SELECT 1 WHERE 1 IN (${Array.from({ length: 5_000 }, (_, i) => i).join(", ")})`
  expect((await bank.database.query(wide, { timeout: 20_000 })).rows).toEqual([[1]])
})
