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
    CREATE TABLE calls (via text);
    CREATE FUNCTION called(via text) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
      PERFORM dblink_exec('host=127.0.0.1 port=' || current_setting('port') ||
        ' dbname=postgres user=postgres password=secret', format('INSERT INTO calls VALUES (%L)', via));
      RETURN 1; END $$;
    CREATE FUNCTION bonus(accounts) RETURNS int LANGUAGE sql AS $$ SELECT called('bonus') $$;
    CREATE FUNCTION "Bonus"(accounts) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT called('Bonus') $$;
    CREATE FUNCTION of_any_row(record) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN called('record'); END $$;
    CREATE FUNCTION of_text(text) RETURNS int LANGUAGE sql AS $$ SELECT called('of_text') $$;
    CREATE FUNCTION balance(text) RETURNS int LANGUAGE sql AS $$ SELECT called('balance') $$;
    CREATE FUNCTION liar() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT called('liar') $$;
    CREATE FUNCTION stable_liar() RETURNS int LANGUAGE sql STABLE AS $$ SELECT called('stable_liar') $$;
    CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n * 2';
    CREATE FUNCTION counted(accounts, int) RETURNS int LANGUAGE sql AS $$ SELECT called('operator') $$;
    CREATE FUNCTION matched(accounts, text) RETURNS boolean LANGUAGE sql AS $$ SELECT called('like') > 0 $$;
    CREATE FUNCTION same(accounts, int) RETURNS boolean LANGUAGE sql AS $$ SELECT called('equal') > 0 $$;
    CREATE FUNCTION minus(int) RETURNS int LANGUAGE sql AS $$ SELECT called('prefix') $$;
    CREATE FUNCTION ranged(point, text) RETURNS int LANGUAGE sql AS $$ SELECT called('built-in types') $$;
    CREATE OPERATOR + (LEFTARG = accounts, RIGHTARG = int, FUNCTION = counted);
    CREATE OPERATOR ~~ (LEFTARG = accounts, RIGHTARG = text, FUNCTION = matched);
    CREATE OPERATOR = (LEFTARG = accounts, RIGHTARG = int, FUNCTION = same);
    CREATE OPERATOR @!@ (RIGHTARG = bigint, FUNCTION = pg_try_advisory_lock);
    CREATE OPERATOR !!! (RIGHTARG = int, FUNCTION = minus);
    CREATE OPERATOR <%%> (LEFTARG = point, RIGHTARG = text, FUNCTION = ranged);
    CREATE FUNCTION to_number_of(accounts) RETURNS int LANGUAGE sql AS $$ SELECT called('cast') $$;
    CREATE CAST (accounts AS int) WITH FUNCTION to_number_of(accounts);
    CREATE TYPE mood AS ENUM ('good', 'bad');
    CREATE FUNCTION to_mood(int) RETURNS mood LANGUAGE plpgsql AS $$ BEGIN PERFORM called('enum'); RETURN 'good'; END $$;
    CREATE CAST (int AS mood) WITH FUNCTION to_mood(int);
    CREATE FUNCTION mood_text(mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM called('text'); RETURN 'x'; END $$;
    CREATE CAST (mood AS text) WITH FUNCTION mood_text(mood) AS IMPLICIT;
    CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM called('json'); RETURN '1'; END $$;
    CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
    CREATE FUNCTION is_email(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
      $$ BEGIN RETURN called('domain') > 0; END $$;
    CREATE DOMAIN email AS text CHECK (value IS NULL OR is_email(value));
    CREATE DOMAIN work_email AS email;
    CREATE TYPE contact AS (name text, address email);
    CREATE TABLE people (id int, email email, home contact, others email[]);
    INSERT INTO people VALUES (1);
    CREATE TABLE feelings (id int, feeling mood);
    INSERT INTO feelings VALUES (1, 'good');
    CREATE TYPE status AS ENUM ('new', 'paid');
    CREATE OPERATOR !#! (LEFTARG = accounts, RIGHTARG = int, FUNCTION = counted);
    CREATE DOMAIN positive AS int CHECK (value > 0);
    CREATE SCHEMA tools;
    CREATE FUNCTION tools.lower(jsonb) RETURNS int LANGUAGE sql AS $$ SELECT called('lower') $$;
    CREATE FUNCTION tools.tidy(text) RETURNS text LANGUAGE sql AS $$ SELECT called('tidy')::text $$;
    CREATE FUNCTION json_scalar_of(text) RETURNS text LANGUAGE sql AS $$ SELECT called('scalar')::text $$;
    CREATE AGGREGATE summed(int) (SFUNC = int4pl, STYPE = int);
    CREATE VIEW with_bonus AS SELECT id, twice(balance) AS bonus FROM accounts;
    GRANT SELECT ON people, feelings, with_bonus TO PUBLIC;
    GRANT USAGE ON SCHEMA tools TO PUBLIC;
    ALTER ROLE reader SET search_path = tools, public;
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
    (SELECT coalesce(string_agg(via, ' '), 'none') FROM calls) AS calls,
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

/** Functions of the database that are reached without their name before a bracket, or under the name of another. */
const HIDDEN_CALLS: Record<string, string> = {
  "a call": "SELECT bonus(a) FROM accounts a",
  "a call in FROM": "SELECT * FROM accounts a, bonus(a)",
  "an attribute": "SELECT a.bonus FROM accounts a",
  "an attribute in a condition": "SELECT 1 FROM accounts a WHERE a.bonus > 0",
  "an attribute of a table with its schema": "SELECT public.accounts.bonus FROM accounts",
  "an attribute in brackets": 'SELECT (a)."bonus" FROM accounts a',
  "an attribute with a quoted name": 'SELECT a."Bonus" FROM accounts a',
  "an attribute with a comment": "SELECT a /* */ . /* */ bonus FROM accounts a",
  "an attribute of a subquery's row": "SELECT (x.a).bonus FROM (SELECT a FROM accounts a) x",
  "an attribute of a row of a lateral join": "SELECT x.b FROM accounts a, LATERAL (SELECT a.bonus AS b) x",
  "an attribute of a CTE's row": "WITH x AS (SELECT a FROM accounts a) SELECT (x.a).bonus FROM x",
  "an attribute of any row": "SELECT x.of_any_row FROM (SELECT 1) x",
  "an attribute of a text": "SELECT (a.name).of_text FROM accounts a",
  "an attribute called like a column": "SELECT (a.name).balance FROM accounts a",
  "an attribute of a constant": "SELECT ('x'::text).of_text",
  "an attribute that is a lock": "SELECT (1::bigint).pg_try_advisory_lock",
  "an attribute that reads a file": "SELECT ('/etc/passwd'::text).pg_read_file",
  "a function that lies about being IMMUTABLE": "SELECT liar()",
  "a lie that the planner would run": "SELECT 1 FROM accounts WHERE liar() = 1",
  "a function that lies about being STABLE": "SELECT 1 FROM accounts WHERE id < stable_liar()",
  "an operator": "SELECT a + 1 FROM accounts a",
  "an operator with its schema": "SELECT a OPERATOR(public.+) 1 FROM accounts a",
  "an operator on a row with a star": "SELECT (a.*) + 1 FROM accounts a",
  "an operator on a row by a cast": "SELECT ROW(1, 'x', 2)::accounts + 1",
  "an operator of built-in types": "SELECT point(1, 2) <%%> 'x'",
  "an operator on a string": "SELECT '(1,x,2)' !#! 1",
  "an operator on a string, with its schema": "SELECT '(1,x,2)' OPERATOR(public.+) 1",
  "an operator on two strings": "SELECT '(1,x,2)' !#! '1'",
  "an operator that is a lock": "SELECT @!@ 1::bigint",
  "an operator before its operand": "SELECT !!! 1",
  LIKE: "SELECT 1 FROM accounts a WHERE a LIKE 'x'",
  "NOT LIKE": "SELECT 1 FROM accounts a WHERE NOT a LIKE 'x'",
  IN: "SELECT 1 FROM accounts a WHERE a IN (1, 2)",
  "IN a subquery": "SELECT 1 FROM accounts a WHERE a IN (SELECT 1)",
  ANY: "SELECT 1 FROM accounts a WHERE a = ANY (ARRAY[1])",
  CASE: "SELECT CASE a WHEN 1 THEN 2 END FROM accounts a",
  NULLIF: "SELECT NULLIF(a, 1) FROM accounts a",
  "a cast": "SELECT a::int FROM accounts a",
  "a cast as CAST": "SELECT CAST(a AS integer) FROM accounts a",
  "an implicit cast": "SELECT upper(feeling) FROM feelings",
  "a cast to a type of the database": "SELECT 1::mood",
  "a cast of arrays": "SELECT ARRAY[1, 2]::mood[]",
  "a cast that JSON calls": "SELECT to_json(feeling) FROM feelings",
  "a cast that JSON calls in an aggregate": "SELECT json_agg(f) FROM feelings f",
  "a domain's check": "SELECT 'x'::email",
  "a domain's check as CAST": "SELECT CAST(name AS public.email) FROM accounts",
  "a domain's check as a literal": "SELECT email 'x'",
  "a domain's check as a function": "SELECT email('x')",
  "a domain's check as an attribute": "SELECT (a.name).email FROM accounts a",
  "a domain of a domain": "SELECT 'x'::work_email",
  "an array of a domain": "SELECT '{x}'::email[]",
  "a domain in a row": "SELECT '(1,x)'::contact",
  "a domain in a row of values": "SELECT ROW('a', 'x')::contact",
  "a domain in columns of JSON": `SELECT * FROM jsonb_to_record('{"a": "x"}') AS t(a email)`,
  "a domain in JSON_TABLE": `SELECT * FROM JSON_TABLE('{"a": "x"}'::jsonb, '$' COLUMNS (a email PATH '$.a'))`,
  "a domain in JSON_VALUE": `SELECT JSON_VALUE('{"a": "x"}'::jsonb, '$.a' RETURNING email)`,
  "a domain in XMLTABLE":
    "SELECT * FROM XMLTABLE('/r' PASSING ('<r><a>x</a></r>'::xml) COLUMNS a email PATH 'a')",
  "a domain filled from JSON": `SELECT jsonb_populate_record(NULL::people, '{"email": "x"}')`,
  "a domain filled from JSON by a row": `SELECT jsonb_populate_record(p, '{"email": "x"}') FROM people p`,
  "a domain in a string beside an array": "SELECT 1 FROM people WHERE others = '{x}'",
  "a domain in a string in COALESCE": "SELECT COALESCE(home, '(a,x)') FROM people",
  "a domain's name in a string": "SELECT pg_input_is_valid('x', 'email')",
  "a domain's input function": "SELECT domain_in('x', 'email'::regtype, -1)",
  "a function named like a built-in": `SELECT lower('{}'::jsonb)`,
  "a function named like a built-in, as an attribute": `SELECT ('{}'::jsonb).lower`,
  "a function first in the search path": "SELECT tidy('x')",
  "a function by its schema": "SELECT tools.tidy('x')",
  "an aggregate": "SELECT summed(id) FROM accounts",
  "a function of a result that is not shown": "SELECT count(*) FROM (SELECT a.bonus FROM accounts a) x",
  "a function in ORDER BY": "SELECT id FROM accounts a ORDER BY a.bonus",
  "a function in a window": "SELECT sum(id) OVER (PARTITION BY a.bonus) FROM accounts a",
  "a function in LIMIT": "SELECT id FROM accounts LIMIT liar()",
  "a function in VALUES": "VALUES (liar())",
  "a function in a recursive CTE": "WITH RECURSIVE r AS (SELECT liar() AS i UNION SELECT i FROM r) TABLE r",
  "a function in the second half of a union": "SELECT 1 UNION SELECT liar()",
  "a function in FILTER": "SELECT count(*) FILTER (WHERE a.bonus > 0) FROM accounts a",
  "a function in a join's condition": "SELECT 1 FROM accounts a JOIN accounts b ON a.bonus = b.bonus",
  "a function in GROUPING SETS": "SELECT 1 FROM accounts a GROUP BY GROUPING SETS ((a.bonus), ())",
  "a function in an array": "SELECT ARRAY[liar()]",
  "a function in an index": "SELECT (ARRAY[1, 2])[liar()]",
  "a function in TABLESAMPLE": "SELECT 1 FROM accounts TABLESAMPLE system (liar())",
  "a function in a frame": "SELECT sum(id) OVER (ROWS liar() PRECEDING) FROM accounts",
  "a function in ROWS FROM": "SELECT * FROM ROWS FROM (liar(), generate_series(1, 2))",
  "a function with a named argument": "SELECT twice(n => 1)",
  "a function in a JSON constructor": "SELECT JSON_OBJECT('a': liar())",
}

/** What people ask every day, and must pass next to all of the above. */
const ALLOWED: Record<string, readonly [sql: string, first: unknown]> = {
  aggregates: ["SELECT count(*), sum(balance), avg(balance), min(name), max(id) FROM accounts", 100],
  "an operator that another type also has": ["SELECT a.balance + 1 FROM accounts a WHERE a.id = 1", 11],
  "all columns of a table": ["SELECT a.* FROM accounts a WHERE a.id = 1", 1],
  LIKE: ["SELECT count(*) FROM accounts WHERE name LIKE 'person 1%' AND name ILIKE 'PERSON%'", 12],
  "SIMILAR TO and regular expressions": ["SELECT 'abc' SIMILAR TO 'a%' AND 'abc' ~* 'B'", true],
  "IN, BETWEEN, CASE and NULLIF": [
    "SELECT CASE id WHEN 1 THEN 'a' ELSE 'b' END, NULLIF(id, 2) FROM accounts WHERE id IN (1, 2) AND id BETWEEN 1 AND 1",
    "a",
  ],
  "a column called like a function": ["SELECT a.balance, balance FROM accounts a WHERE id = 1", 10],
  "casts of values": [
    "SELECT '1'::int, 1.5::text, balance::numeric(10, 2), CAST('2026-01-02' AS date) FROM accounts LIMIT 1",
    1,
  ],
  "casts as functions": ["SELECT text(1), int4('1'), float8(1)", "1"],
  "typed literals": ["SELECT date '2026-01-02' + interval '1 day'", "2026-01-03 00:00:00"],
  "date functions": [
    "SELECT date_trunc('month', timestamp '2026-05-06'), now() > current_date, age(current_date)",
    "2026-05-01 00:00:00",
  ],
  EXTRACT: ["SELECT EXTRACT(year FROM date '2026-01-02'), date_part('day', date '2026-01-02')", 2026],
  "AT TIME ZONE": ["SELECT timestamptz '2026-01-02 00:00Z' AT TIME ZONE 'UTC'", "2026-01-02 00:00:00"],
  to_char: ["SELECT to_char(date '2026-01-02', 'YYYY-MM')", "2026-01"],
  "string functions": [
    "SELECT upper(name), split_part(name, ' ', 2), substring(name from 1 for 3), trim(both from name), position('n' in name) FROM accounts WHERE false",
    undefined,
  ],
  "a built-in by its schema": ["SELECT pg_catalog.lower('ABC')", "abc"],
  windows: [
    "SELECT row_number() OVER (ORDER BY id), rank() OVER w, lag(id, 1, 0) OVER w FROM accounts WINDOW w AS (PARTITION BY balance % 2 ORDER BY id)",
    1,
  ],
  "a frame": [
    "SELECT sum(balance) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM accounts",
    10,
  ],
  "ordered-set aggregates": [
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY balance) FROM accounts",
    505,
  ],
  string_agg: [
    "SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FILTER (WHERE id < 3) FROM accounts",
    "person 1, person 2",
  ],
  arrays: [
    "SELECT array_agg(id ORDER BY id) @> ARRAY[1], (ARRAY[1, 2])[1], cardinality('{1,2}'::int[]) FROM accounts",
    true,
  ],
  unnest: ["SELECT x FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS t(x, n) WHERE n = 2", 2],
  "ANY and ALL": ["SELECT 1 = ANY ('{1,2}'::int[]), 1 <> ALL (ARRAY[2])", true],
  generate_series: [
    "SELECT count(*) FROM generate_series(date '2026-01-01', date '2026-01-31', interval '1 day') d",
    31,
  ],
  "a CTE": ["WITH accounts AS (SELECT * FROM accounts WHERE id < 3) SELECT count(*) FROM accounts", 2],
  "a recursive CTE": [
    "WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT sum(i) FROM r",
    15,
  ],
  "a lateral join": [
    "SELECT x.b FROM accounts a CROSS JOIN LATERAL (SELECT a.balance * 2 AS b) x WHERE a.id = 1",
    20,
  ],
  "USING and NATURAL": [
    "SELECT count(*) FROM accounts JOIN accounts b USING (id) NATURAL JOIN (SELECT 1 AS id) c",
    1,
  ],
  "set operations": ["SELECT id FROM accounts WHERE id = 7 INTERSECT SELECT 7 EXCEPT SELECT 8", 7],
  "grouping sets": [
    "SELECT count(*), grouping(balance > 0) FROM accounts GROUP BY ROLLUP (balance > 0) HAVING count(*) > 1",
    100,
  ],
  "JSON operators": [
    `SELECT '{"a": {"b": [1, 2]}}'::jsonb #>> '{a,b,0}', '{"a": 1}'::jsonb ? 'a', '{"a": 1}'::json ->> 'a'`,
    "1",
  ],
  "JSON functions": [
    "SELECT jsonb_agg(name ORDER BY id) -> 0, jsonb_build_object('n', count(*)) FROM accounts",
    "person 1",
  ],
  "JSON as rows": [
    `SELECT t.a FROM jsonb_to_recordset('[{"a": 1}, {"a": 2}]') AS t(a int, b text) ORDER BY 1 DESC`,
    2,
  ],
  "a row as JSON": [
    "SELECT row_to_json(a) ->> 'name' FROM (SELECT name FROM accounts WHERE id = 1) a",
    "person 1",
  ],
  "SQL/JSON": [
    `SELECT JSON_VALUE('{"a": 1}'::jsonb, '$.a' RETURNING int), jsonb_path_query_first('[3]', '$[0]')`,
    1,
  ],
  "full text": [
    "SELECT to_tsvector('english', 'big dogs') @@ websearch_to_tsquery('english', 'dog'), ts_rank(to_tsvector('a'), to_tsquery('a')) > 0",
    true,
  ],
  ranges: [
    "SELECT int4range(1, 5) @> 3, daterange('2026-01-01', '2026-02-01') && daterange('2026-01-15', NULL)",
    true,
  ],
  "a domain whose check is built in": ["SELECT 1::positive, '2'::public.positive", 1],
  "an enum": ["SELECT 'new'::text::status::text, enum_range(NULL::status)::text", "new"],
  "a column of a domain": ["SELECT p.email, p.home, others FROM people p WHERE p.id = 1", null],
  "a subquery with a column called like a domain": ["SELECT x.email FROM (SELECT 'a' AS email) x", "a"],
  "an explicit row": ["SELECT (1, 2) = (1, 2), ROW(1, 'a') IS NOT NULL", true],
  "COALESCE, GREATEST and IS DISTINCT FROM": [
    "SELECT COALESCE(NULL, 1), GREATEST(1, 2), 1 IS DISTINCT FROM NULL",
    1,
  ],
  EXISTS: ["SELECT EXISTS (SELECT FROM accounts), NOT EXISTS (SELECT FROM accounts WHERE false)", true],
  "DISTINCT ON": ["SELECT DISTINCT ON (balance % 10) id FROM accounts ORDER BY balance % 10, id", 1],
  "chance and time": [
    "SELECT random() < 1, clock_timestamp() > now(), length(gen_random_uuid()::text)",
    true,
  ],
  "a sample": ["SELECT count(*) >= 0 FROM accounts TABLESAMPLE bernoulli (50) REPEATABLE (1)", true],
  "the catalog": ["SELECT count(*) FROM information_schema.tables WHERE table_name = 'accounts'", 1],
  "a size": ["SELECT pg_size_pretty(0::bigint), pg_total_relation_size('accounts') > 0", "0 bytes"],
  "a view that calls a function": ["SELECT bonus FROM with_bonus WHERE id = 1", 20],
  "a view's column called like a function": ["SELECT v.bonus FROM with_bonus v WHERE v.id = 1", 20],
  "an XML value": ["SELECT xmlelement(name a, 1)::text", "<a>1</a>"],
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

  test.each(Object.entries(HIDDEN_CALLS))("hidden call: %s is refused and runs nothing", async (_, sql) => {
    const error = await database.query(sql, { timeout: 20_000 }).then(
      () => undefined,
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: "QUERY_REFUSED" })
    expect(await everything()).toEqual(before)
  })

  test.each(Object.entries(ALLOWED))("%s can be asked", async (_, [sql, first]) => {
    const { rows } = await database.query(sql, { timeout: 20_000 })
    expect(rows[0]?.[0]).toEqual(first)
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

describe("with the functions allowed", () => {
  const named = [
    ...["bonus", "counted", "matched", "same", "to_number_of", "to_mood", "mood_json", "is_email", "twice"],
    ...["summed"],
  ].map((name) => `public.${name}`)
  const allowed: Record<string, string> = {
    "a call": "SELECT bonus(a) FROM accounts a LIMIT 1",
    "an attribute": "SELECT a.bonus FROM accounts a LIMIT 1",
    "an operator": "SELECT a + 1 FROM accounts a LIMIT 1",
    "a cast": "SELECT a::int FROM accounts a LIMIT 1",
    "a domain": "SELECT 1 FROM (SELECT 'x'::email) x",
    "an aggregate": "SELECT summed(id) - 5049 FROM accounts",
    "a built-in that is refused by default": "SELECT 1 FROM (SELECT txid_current()) x",
  }

  test.each(Object.entries(allowed))("%s runs", async (_, sql) => {
    const open = postgresDatabase({
      id: "bank",
      connectionString: server.url("reader", "reader"),
      allowFunctions: [...named, "pg_catalog.txid_current"],
    })
    try {
      expect((await open.query(sql)).rows).toEqual([[1]])
    } finally {
      await open.close?.()
      await server.run("DELETE FROM calls")
    }
  })

  test("a function is refused by its signature, with what allows it", async () => {
    const message = (sql: string) => database.query(sql, { timeout: 20_000 }).catch((error) => error.message)
    expect(await message("SELECT a.bonus FROM accounts a")).toBe(
      "The query was refused: the function public.bonus(public.accounts), which .bonus calls, is not allowed: it may have " +
        'effects (VOLATILE). To allow it, add "public.bonus" to `allowFunctions` of the database bank.',
    )
    expect(await message("SELECT twice(1)")).toContain("it is neither PostgreSQL's own nor an extension's")
    expect(await message("SELECT peek()")).toContain("with the rights of its owner (SECURITY DEFINER)")
    expect(await message("SELECT lower('{}'::jsonb)")).toContain(
      "own function of that name is pg_catalog.lower(…)",
    )
    expect(await message("SELECT a::int FROM accounts a")).toContain(
      "which a cast from public.accounts to integer calls",
    )
  })

  test("names without a schema are refused", () => {
    expect(() => postgresDatabase({ id: "bank", allowFunctions: ["bonus"] })).toThrow(
      'allowFunctions of the database bank has "bonus": write schema.name, such as "public.bonus".',
    )
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
  await expect(database.query(sql)).rejects.toMatchObject({
    code: "QUERY_REFUSED",
    message: expect.stringContaining("nested"),
  })
  const wide = `SELECT 1 WHERE 1 IN (${Array.from({ length: 5_000 }, (_, i) => i).join(", ")})`
  expect((await database.query(wide, { timeout: 20_000 })).rows).toEqual([[1]])
})

describe("without the guard", () => {
  /** They call something that leaves no trace, or that this role may not do anyway. */
  const traceless = new Set([
    "an attribute that is a lock",
    "an operator that is a lock",
    "an attribute that reads a file",
    "an aggregate",
    "a function with a named argument",
  ])

  test.each(Object.entries(HIDDEN_CALLS).filter(([name]) => !traceless.has(name)))(
    "hidden call: %s runs a function",
    async (_, sql) => {
      try {
        await withoutGuard(sql, { ...LIMITS, timeout: 20_000 })
        expect(await server.run("SELECT via FROM calls LIMIT 1")).toHaveLength(1)
      } finally {
        await server.run("DELETE FROM calls")
      }
    },
  )
})

async function withoutGuard(sql: string, limits = LIMITS) {
  const client = new pg.Client({ connectionString: server.url("reader", "reader") })
  client.on("error", () => undefined)
  await client.connect()
  const { processID } = client as unknown as { processID: number }
  try {
    const cancel = () => void server.run(`SELECT pg_cancel_backend(${processID})`)
    const line = { client, cancel, newQuery: (config: pg.QueryConfig) => new pg.Query(config) as never }
    return await runReadOnly(line, sql, limits)
  } catch (error) {
    return error as Error
  } finally {
    // Where the attack ended the connection there is nothing left to clean.
    await cleanUp(client).catch(() => undefined)
    await client.end()
  }
}
