/** A bank's database on a real server, with everything that an attack could use. */
import type { Database } from "@superstep/engine/patterns"
import pg from "pg"
import { afterAll, beforeAll } from "vitest"
import { postgresDatabase } from "./postgres.ts"
import { cleanUp, runReadOnly } from "./postgres-query.ts"
import { type PostgresServer, startPostgres } from "./postgres-server.test-support.ts"

export const LIMITS = { rows: 50, bytes: 20_000, timeout: 400 }

export interface Bank {
  readonly server: PostgresServer
  /** As a role that may read the accounts. */
  readonly database: Database
  /** Everything that an attack could have changed, at first. */
  readonly before: unknown
  /** The same, now. */
  everything(): Promise<unknown>
  /** The server's own result for a query, without the guard. */
  withoutGuard(sql: string, limits?: typeof LIMITS): Promise<Awaited<ReturnType<typeof runReadOnly>> | Error>
}

/** Started before the tests of the file, and stopped after them. */
export function attackedBank(): Bank {
  let server: PostgresServer
  let database: Database
  let before: unknown
  beforeAll(async () => {
    server = await startPostgres()
    await server.run(SETUP)
    database = postgresDatabase({
      id: "bank",
      connectionString: server.url("reader", "reader"),
      limits: LIMITS,
    })
    before = await everything(server)
  })
  afterAll(async () => {
    await database?.close?.()
    await server?.stop()
  })
  return {
    get server() {
      return server
    },
    get database() {
      return database
    },
    get before() {
      return before
    },
    everything: () => everything(server),
    withoutGuard: (sql, limits = LIMITS) => withoutGuard(server, sql, limits),
  }
}

function everything(server: PostgresServer): Promise<unknown> {
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

async function withoutGuard(server: PostgresServer, sql: string, limits: typeof LIMITS) {
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
    // If the attack ended the connection, there is nothing to clean up.
    await cleanUp(client).catch(() => undefined)
    await client.end()
  }
}

const SETUP = `
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
    GRANT SELECT ON sleeper TO reader;`
