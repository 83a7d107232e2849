import { type AddressInfo, connect, createServer } from "node:net"
import type { Database } from "@superstep/engine/patterns"
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { type PostgresOptions, postgresDatabase } from "./postgres.ts"
import { type PostgresServer, startPostgres } from "./postgres-server.test-support.ts"

const PATIENT = { timeout: 20_000 }
const RUNNING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'FETCH 500%' AND usename = 'reader'"

let server: PostgresServer
const open: Database[] = []

beforeAll(async () => {
  server = await startPostgres()
  await server.run(`
    CREATE TABLE orders (id bigint, customer text, amount numeric(10, 2), paid boolean, placed date, extra jsonb, weight float8);
    INSERT INTO orders VALUES
      (1, 'Ann', 10.50, true, '2026-01-02', '{"gift": [1, null]}', 1.5),
      (9007199254740993, NULL, 99999999.99, false, NULL, NULL, 'NaN');
    COMMENT ON TABLE orders IS 'What was sold.';
    COMMENT ON COLUMN orders.amount IS 'in euros';
    CREATE VIEW "Big Orders" AS SELECT id AS "Order Id" FROM orders WHERE amount > 100;
    CREATE TABLE hidden (word text);
    CREATE TABLE partly (shown int, kept int);
    CREATE TABLE days (day date) PARTITION BY RANGE (day);
    CREATE TABLE days_2026 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE SCHEMA stock;
    CREATE TABLE stock.items (sku text);
    CREATE SCHEMA empty;
    CREATE ROLE reader LOGIN PASSWORD 'reader';
    GRANT SELECT ON orders, "Big Orders", days, days_2026 TO reader;
    GRANT SELECT (shown) ON partly TO reader;
    GRANT USAGE ON SCHEMA stock, empty TO reader;
    GRANT SELECT ON stock.items TO reader;`)
})
afterEach(async () => {
  for (const database of open.splice(0)) await database.close?.()
})
afterAll(() => server?.stop())

function reader(options: Partial<PostgresOptions> = {}): Database {
  const database = postgresDatabase({
    id: "shop",
    connectionString: server.url("reader", "reader"),
    ...options,
  })
  open.push(database)
  return database
}

/** The error's message and code. The promise must reject. */
const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (thrown) => thrown,
  )

/** A proxy to the server that breaks, or goes silent, at these words. */
async function wayThat(does: "breaks" | "goes silent", words: string): Promise<number> {
  const way = createServer((near) => {
    const far = connect(server.port, "127.0.0.1")
    for (const socket of [near, far]) socket.on("error", () => undefined)
    near.on("data", (data) => {
      if (!data.includes(words)) far.write(data)
      else if (does === "breaks") near.destroy()
    })
    far.on("data", (data) => near.write(data))
    near.on("close", () => far.destroy())
  })
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    way.close()
  })
  return (way.address() as AddressInfo).port
}

const through = (port: number) =>
  reader({ connectionString: `postgres://reader:reader@127.0.0.1:${port}/postgres`, connectTimeout: 2_000 })

describe("queries", () => {
  test("values are JSON, and numbers only if they are exact", async () => {
    const result = await reader().query("SELECT * FROM orders ORDER BY id; -- all")
    expect(result).toEqual({
      columns: ["id", "customer", "amount", "paid", "placed", "extra", "weight"],
      rows: [
        [1, "Ann", 10.5, true, "2026-01-02", { gift: [1, null] }, 1.5],
        ["9007199254740993", null, 99999999.99, false, null, null, "NaN"],
      ],
      isTruncated: false,
    })
  })

  test("a result without rows has its columns, and columns may share a name", async () => {
    const result = await reader().query("SELECT 1 AS a, 2 AS a WHERE false")
    expect(result).toEqual({ columns: ["a", "a"], rows: [], isTruncated: false })
  })

  test("a number that JSON cannot represent is text, also inside JSON", async () => {
    const { rows } =
      await reader().query(`SELECT 'NaN'::numeric, 'Infinity'::numeric, '-Infinity'::float8, 0.00,
      '{"id": 9007199254740993}'::jsonb, '[1e400]'::json, '["\\"9007199254740993", -1.50, 2e3]'::jsonb`)
    expect(rows).toEqual([
      [
        ...["NaN", "Infinity", "-Infinity", 0],
        ...['{"id": 9007199254740993}', "[1e400]", ['"9007199254740993', -1.5, 2_000]],
      ],
    ])
  })

  test("JSON that is too deep for recursive code is text", async () => {
    const deep = (depth: number) => `(repeat('[', ${depth}) || repeat(']', ${depth}))::json`
    const { rows } = await reader().query(`SELECT ${deep(2)}, ${deep(101)}, ${deep(6_000)}`)
    expect(rows).toEqual([[[[]], ...[101, 6_000].map((depth) => "[".repeat(depth) + "]".repeat(depth))]])
  })

  test("a table and VALUES can be queried too", async () => {
    expect((await reader().query("TABLE stock.items")).columns).toEqual(["sku"])
    expect((await reader().query("(VALUES (1), (2))")).rows).toEqual([[1], [2]])
  })

  test("rows are truncated at the limit, and not if they just fit", async () => {
    const series = (n: number) => `SELECT i FROM generate_series(1, ${n}) i`
    const fits = await reader().query(series(1_200), { rows: 1_200 })
    expect([fits.rows.length, fits.isTruncated]).toEqual([1_200, false])
    const cut = await reader({ limits: { rows: 700 } }).query(series(1_200))
    expect([cut.rows.length, cut.isTruncated, cut.rows.at(-1)]).toEqual([700, true, [700]])
    expect((await reader().query(series(2_000))).rows.length).toBe(1_000)
  })

  test("bytes are truncated at the limit", async () => {
    const { rows, isTruncated } = await reader().query(
      "SELECT repeat('x', 100) FROM generate_series(1, 50)",
      {
        bytes: 1_040,
      },
    )
    expect([rows.length, isTruncated]).toEqual([10, true])
  })

  test("a row of 100 MB is not received, and the next query has a connection", async () => {
    const database = reader({ connections: 1, limits: { timeout: 50_000 } })
    const before = process.memoryUsage().rss
    const result = await database.query("SELECT repeat('x', 100000000) AS big")
    expect(result).toEqual({ columns: ["big"], rows: [], isTruncated: true })
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    expect((await database.query("SELECT 1")).rows).toEqual([[1]])
  })

  test("the error for a mistake has its position, so that it can be corrected", async () => {
    const wrong = reader().query("SELECT custmer FROM orders")
    await expect(wrong).rejects.toMatchObject({ code: "QUERY_FAILED", retryable: false })
    await expect(wrong).rejects.toThrow('column "custmer" does not exist (at character 8). Perhaps you meant')
  })

  test("an aborted query is ended on the server", async () => {
    const database = reader()
    await database.schema()
    const controller = new AbortController()
    const asked = database.query("SELECT pg_sleep(30), 'to be aborted'", {
      signal: controller.signal,
      timeout: 40_000,
    })
    await expect.poll(() => server.run(RUNNING), PATIENT).toHaveLength(1)
    controller.abort(new Error("enough"))
    await expect(asked).rejects.toThrow("enough")
    await expect.poll(() => server.run(RUNNING), PATIENT).toHaveLength(0)
    expect((await database.query("SELECT 1")).rows).toEqual([[1]])
  })

  test("more queries than connections wait for their turn", async () => {
    // Those that wait do so for longer than the connection timeout.
    const database = reader({ connections: 2, connectTimeout: 2_000 })
    const slow = Promise.all([1, 2, 3, 4].map(() => database.query("SELECT pg_sleep(1.1)")))
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) => database.query(`SELECT ${i}, pg_backend_pid()`)),
    )
    expect(results.map(({ rows }) => rows[0]?.[0])).toEqual(Array.from({ length: 12 }, (_, i) => i))
    expect(await slow).toHaveLength(4)
    expect(new Set(results.map(({ rows }) => rows[0]?.[1])).size).toBeLessThanOrEqual(2)
  })

  test("a connection that the server ends is replaced", async () => {
    const database = reader()
    await database.query("SELECT 1")
    await server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    await expect
      .poll(
        () =>
          database.query("SELECT 1").then(
            ({ rows }) => rows,
            () => [],
          ),
        PATIENT,
      )
      .toEqual([[1]])
  })

  test("a query whose connection is lost can be asked again", async () => {
    const database = reader()
    await database.schema()
    const asked = errorOf(database.query("SELECT pg_sleep(30)", { timeout: 40_000 }))
    const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'FETCH 500%'"
    await expect.poll(() => server.run(end), PATIENT).toHaveLength(1)
    expect(await asked).toMatchObject({ code: "DATABASE_UNREACHABLE", retryable: true })
    expect((await asked).message).toContain("terminating connection due to administrator command")
    expect((await database.query("SELECT 1")).rows).toEqual([[1]])
  })

  test("a query on a silent server is ended anyway", async () => {
    const database = through(await wayThat("goes silent", "DECLARE"))
    const error = await errorOf(database.query("SELECT 1", { timeout: 300 }))
    expect(error).toMatchObject({ code: "QUERY_TIMEOUT" })
  })

  test("its rows are returned even if the server goes silent after them", async () => {
    const database = through(await wayThat("goes silent", "DISCARD ALL"))
    expect((await database.query("SELECT 1")).rows).toEqual([[1]])
  })

  test("functions of the database are called only if they are allowed by name", async () => {
    await server.run(`
      CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n * 2';
      CREATE FUNCTION round(x text) RETURNS text LANGUAGE sql AS 'SELECT x'`)
    const query = "SELECT twice(2), round(1.26, 1)"
    await expect(reader().query(query)).rejects.toMatchObject({ code: "QUERY_REFUSED" })
    expect((await reader({ allowFunctions: ["public.twice"] }).query(query)).rows).toEqual([[4, 1.3]])
    await server.run("DROP FUNCTION twice, round(text)")
  })

  test("invalid limits are refused", async () => {
    await expect(reader().query("SELECT 1", { rows: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" })
    for (const value of [0, -1, 1.5, Number.NaN]) {
      expect(() => reader({ connections: value })).toThrow("connections must be a whole number from 1 to")
      expect(() => reader({ connectTimeout: value })).toThrow(
        "connectTimeout must be a whole number from 1 to",
      )
    }
  })
})

describe("the profile", () => {
  const values = async (database: Database) =>
    (await database.profile?.())?.tables[0]?.columns.map((column) => column.values ?? column.range)

  test("has a sample of the data, and is created again when the data changes", async () => {
    onTestFinished(async () => void (await server.run("DROP SCHEMA look CASCADE")))
    await server.run(`CREATE SCHEMA look; GRANT USAGE ON SCHEMA look TO reader;
      CREATE TYPE look.state AS ENUM ('open', 'shut');
      CREATE TABLE look.gate (state look.state, since date, n int, password text);
      INSERT INTO look.gate VALUES ('shut', '2024-02-03', 7, 'hunter2'), ('shut', '2025-01-01', 9, 'x'), ('open', NULL, 8, 'y');
      GRANT SELECT ON look.gate TO reader`)
    const database = reader({ schemas: ["look"] })
    expect(await values(database)).toEqual([
      ["shut", "open"],
      ["2024-02-03", "2025-01-01"],
      [7, 9],
      undefined,
    ])
    const profile = await database.profile?.()
    expect(profile?.tables[0]?.rowCount).toBe(3)
    expect(JSON.stringify(profile)).not.toContain("hunter2")
    await server.run(`INSERT INTO look.gate SELECT 'open', NULL, 100, '' FROM generate_series(1, 200);
      SELECT pg_stat_force_next_flush()`)
    await expect
      .poll(() => values(database), PATIENT)
      .toEqual([["open", "shut"], ["2024-02-03", "2025-01-01"], [7, 100], undefined])
  })

  test("does not read excluded columns", async () => {
    const database = reader({ schemas: ["public"], profile: { excludeColumns: ["orders.customer"] } })
    const orders = (await database.profile?.())?.tables.find(({ name }) => name === "orders")
    expect(orders?.columns.find(({ name }) => name === "customer")?.values).toBeUndefined()
    expect(orders?.sample?.[0]).not.toHaveProperty("customer")
    expect(orders?.sample?.[0]).toMatchObject({ amount: 10.5, placed: "2026-01-02" })
  })
})

describe("the schema", () => {
  test("has what the role may read, named as a query names it, with comments", async () => {
    expect(await reader().schema()).toEqual([
      { name: '"Big Orders"', columns: [{ name: '"Order Id"', type: "bigint" }] },
      { name: "days", columns: [{ name: "day", type: "date" }] },
      {
        name: "orders",
        columns: [
          { name: "id", type: "bigint" },
          { name: "customer", type: "text" },
          { name: "amount", type: "numeric(10,2)", description: "in euros" },
          { name: "paid", type: "boolean" },
          { name: "placed", type: "date" },
          { name: "extra", type: "jsonb" },
          { name: "weight", type: "double precision" },
        ],
        description: "What was sold.",
      },
      { name: "partly", columns: [{ name: "shown", type: "integer" }] },
      { name: "stock.items", columns: [{ name: "sku", type: "text" }] },
    ])
  })

  test("has keys, of what the role may read", async () => {
    onTestFinished(async () => void (await server.run("DROP SCHEMA port CASCADE")))
    await server.run(`CREATE SCHEMA port; GRANT USAGE ON SCHEMA port TO reader;
      CREATE TABLE port.vsl (imo int PRIMARY KEY, nm text);
      CREATE TABLE port.closed (id int PRIMARY KEY);
      CREATE TABLE port.call (vsl int REFERENCES port.vsl, "No" int, c int REFERENCES port.closed, PRIMARY KEY ("No", vsl));
      GRANT SELECT ON port.vsl, port.call TO reader`)
    const [call, vsl] = await reader({ schemas: ["port"] }).schema()
    expect(call).toMatchObject({ name: "port.call", primaryKey: ['"No"', "vsl"] })
    expect(call?.foreignKeys).toEqual([{ columns: ["vsl"], table: "port.vsl", references: ["imo"] }])
    expect([vsl?.primaryKey, vsl?.foreignKeys]).toEqual([["imo"], undefined])
  })

  test("can be limited to some schemas, and may be empty", async () => {
    expect((await reader({ schemas: ["stock"] }).schema()).map(({ name }) => name)).toEqual(["stock.items"])
    expect(await reader({ schemas: ["empty"] }).schema()).toEqual([])
  })

  test("may have a thousand tables", async () => {
    await server.run(`CREATE SCHEMA many; GRANT USAGE ON SCHEMA many TO reader;
      DO $$ BEGIN FOR i IN 1..1000 LOOP
        EXECUTE format('CREATE TABLE many.t%s (id int, name text, a int, b int, c int, d int)', i);
      END LOOP; END $$;
      GRANT SELECT ON ALL TABLES IN SCHEMA many TO reader`)
    const tables = await reader({ schemas: ["many"] }).schema()
    expect(tables.length).toBe(1_000)
    expect(tables.every(({ columns }) => columns.length === 6)).toBe(true)
    await server.run("DROP SCHEMA many CASCADE")
  })
})

describe("the role", () => {
  const faults: Record<string, [setUp: string, reason: string]> = {
    "can insert": ["GRANT INSERT ON orders TO bad", "may write to orders"],
    "can update a column": ["GRANT UPDATE (customer) ON orders TO bad", "may write to columns of orders"],
    "owns a table": ["CREATE TABLE owned (a int); ALTER TABLE owned OWNER TO bad", "may write to owned"],
    "can create tables": ["GRANT CREATE ON SCHEMA public TO bad", "may create tables in the schema public"],
    "can create schemas": ["GRANT CREATE ON DATABASE postgres TO bad", "may create schemas in this database"],
    "can create databases": ["ALTER ROLE bad CREATEDB", "may make databases"],
    "can create roles": ["ALTER ROLE bad CREATEROLE", "may make roles"],
    "can replicate": ["ALTER ROLE bad REPLICATION", "may replicate"],
    "is a superuser": ["ALTER ROLE bad SUPERUSER", "is a superuser"],
    "can become a superuser": ["GRANT postgres TO bad WITH INHERIT FALSE", "is a superuser"],
    "can run programs": [
      "GRANT pg_execute_server_program TO bad",
      "is a member of pg_execute_server_program",
    ],
    "can read files": ["GRANT pg_read_server_files TO bad", "is a member of pg_read_server_files"],
    "can write through another role": [
      "CREATE ROLE writer; GRANT DELETE ON orders TO writer; GRANT writer TO bad WITH INHERIT FALSE",
      "may write to orders",
    ],
  }

  test.each(Object.entries(faults))("that %s is refused", async (_, [setUp, reason]) => {
    await server.run(`CREATE ROLE bad LOGIN PASSWORD 'bad'; GRANT SELECT ON orders TO bad; ${setUp}`)
    try {
      const asked = reader({ connectionString: server.url("bad", "bad") }).query("SELECT 1")
      await expect(asked).rejects.toMatchObject({ code: "DATABASE_ROLE_UNSAFE", retryable: false })
      await expect(asked).rejects.toThrow(
        `The role bad of the database shop can do more than read: it ${reason}`,
      )
      await expect(asked).rejects.toThrow("CREATE ROLE reader LOGIN")
    } finally {
      await Promise.all(open.splice(0).map((database) => database.close?.()))
      await server.run("DROP OWNED BY bad; DROP ROLE bad")
      await server
        .run("DROP ROLE IF EXISTS writer")
        .catch(() => server.run("DROP OWNED BY writer; DROP ROLE writer"))
    }
  })

  test("may be unsafe with allowUnsafeRole, and a write is still refused", async () => {
    const database = reader({ connectionString: server.url(), allowUnsafeRole: true })
    expect((await database.query("SELECT count(*) FROM orders")).rows).toEqual([[2]])
    await expect(database.query("SELECT setval('x', 1)")).rejects.toMatchObject({ code: "QUERY_REFUSED" })
  })

  test("that the printed SQL creates is accepted", async () => {
    const asked = reader({ connectionString: server.url() }).schema()
    const { message } = await asked.then(
      () => new Error("let in"),
      (error: Error) => error,
    )
    const [, sql = ""] = message.split("\n\n")
    await server.run(sql.replaceAll("reader", "second").replace("…", "second"))
    const database = reader({ connectionString: server.url("second", "second") })
    expect((await database.query("SELECT count(*) FROM orders")).rows).toEqual([[2]])
    await server.run("CREATE TABLE later (a int)")
    expect((await database.schema()).map(({ name }) => name)).toContain("later")
  })
})

describe("an unreachable database", () => {
  test("is reported with its host, and without the password", async () => {
    const lost = reader({ connectionString: "postgres://reader:pa55word@127.0.0.1:1/shop" })
    const error = await lost.schema().then(
      () => undefined,
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE", retryable: true })
    expect(error.message).toContain(
      "The database shop at 127.0.0.1:1/shop is unreachable: connect ECONNREFUSED",
    )
    expect(JSON.stringify([error.message, error.cause])).not.toContain("pa55word")
  })

  test("is reported if the name of the database is wrong", async () => {
    const error = await errorOf(reader({ connectionString: server.url("reader", "reader", "nope") }).schema())
    expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE", retryable: false })
    expect(error.message).toContain('does not exist: database "nope" does not exist. Check the name')
  })

  test("is reported if a file in its address is missing", async () => {
    const connectionString = `${server.url("reader", "pa55word")}?sslrootcert=/no/such.pem`
    const error = await errorOf(reader({ connectionString }).schema())
    expect(error).toMatchObject({ code: "OPTION_INVALID", retryable: false })
    expect(error.message).toContain("The connection of the database shop is invalid: ENOENT")
    expect(error.message).not.toContain("pa55word")
  })

  test.each(["breaks", "goes silent"] as const)(
    "during the role check is reported: the connection %s",
    async (does) => {
      const error = await errorOf(through(await wayThat(does, "aclexplode")).query("SELECT 1"))
      expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE", retryable: true })
    },
  )

  test("with a wrong password is reported as such", async () => {
    const shut = reader({ connectionString: server.url("reader", "pa55word") })
    const error = await shut.query("SELECT 1").then(
      () => undefined,
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE", retryable: false })
    expect(error.message).toContain('password authentication failed for user "reader"')
    expect(error.message).not.toContain("pa55word")
  })

  test("is tried again by the next query", async () => {
    await server.run("ALTER ROLE reader NOLOGIN")
    const database = reader()
    await expect(database.query("SELECT 1")).rejects.toMatchObject({ code: "DATABASE_UNREACHABLE" })
    await server.run("ALTER ROLE reader LOGIN")
    expect((await database.query("SELECT 1")).rows).toEqual([[1]])
  })

  test.each(["postgres://reader:pa55word@host:port/shop", "mysql://a:pa55word@b/c"])(
    "%s is not an address",
    async (connectionString) => {
      const error = await reader({ connectionString })
        .query("SELECT 1")
        .then(
          () => undefined,
          (thrown) => thrown,
        )
      expect(error).toMatchObject({ code: "OPTION_INVALID" })
      expect(error.message).not.toContain("pa55word")
    },
  )

  test("is an error after it was closed", async () => {
    const database = reader()
    await database.close?.()
    await expect(database.query("SELECT 1")).rejects.toMatchObject({ code: "DATABASE_CLOSED" })
  })

  test("finishes running queries when it is closed, refuses waiting ones, and can be closed twice", async () => {
    const database = reader({ connections: 1 })
    await database.schema()
    const running = database.query("SELECT 1, pg_sleep(1)")
    const waiting = errorOf(database.query("SELECT 2"))
    // It has its connection.
    await expect.poll(() => server.run(RUNNING), PATIENT).toHaveLength(1)
    await Promise.all([database.close?.(), database.close?.()])
    expect((await running).rows).toEqual([[1, ""]])
    expect(await waiting).toMatchObject({ code: "DATABASE_CLOSED", retryable: false })
  })
})
