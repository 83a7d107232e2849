import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { mysqlDatabase } from "./mysql.ts"
import { MYSQLD, type MysqlServer, startMysql } from "./mysql-server.test-support.ts"

let server: MysqlServer | undefined

beforeAll(async () => {
  if (MYSQLD === undefined) {
    process.stderr.write("No mariadbd or mysqld is installed: MySQL is not tested.\n")
    return
  }
  server = await startMysql(MYSQLD)
  await server.run(
    "CREATE DATABASE shop",
    "CREATE TABLE shop.customers (id INT PRIMARY KEY COMMENT 'their number', name VARCHAR(40) NOT NULL) COMMENT 'who buys'",
    `CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT, amount DECIMAL(20,4), placed DATE, \`for\` TEXT, scan BLOB,
      FOREIGN KEY (customer) REFERENCES shop.customers (id)) ENGINE=InnoDB`,
    "CREATE VIEW shop.big AS SELECT * FROM shop.orders WHERE amount > 10",
    "CREATE FUNCTION shop.bonus(x INT) RETURNS INT DETERMINISTIC RETURN x",
    "INSERT INTO shop.customers VALUES (1, 'Ann'), (2, 'Bob')",
    "INSERT INTO shop.orders VALUES (9007199254740993, 1, 10.5000, '2026-01-02', 'me', x'00ff'), (2, 2, 20, '2026-01-03', NULL, NULL)",
    "CREATE USER 'reader'@'%'; GRANT SELECT ON shop.* TO 'reader'@'%'",
    "CREATE USER 'writer'@'%'; GRANT SELECT, INSERT ON shop.* TO 'writer'@'%'",
    "CREATE ROLE editors; GRANT DELETE ON shop.* TO editors",
    "CREATE USER 'member'@'%'; GRANT SELECT ON shop.* TO 'member'@'%'; GRANT editors TO 'member'@'%'; SET DEFAULT ROLE editors FOR 'member'@'%'",
  )
}, 120_000)
afterAll(() => server?.stop())

describe.skipIf(MYSQLD === undefined)("a real MySQL or MariaDB server (needs mariadbd or mysqld)", () => {
  const open = (user?: string, more = {}) =>
    mysqlDatabase({ id: "shop", connectionString: (server as MysqlServer).url(user), ...more })

  test("has its tables and views with types, comments, keys and rows", async () => {
    const shop = open()
    const tables = await shop.schema()
    expect(tables.map(({ name }) => name)).toEqual(["big", "customers", "orders"])
    expect(tables[1]).toMatchObject({
      description: "who buys",
      primaryKey: ["id"],
      columns: [
        { name: "id", description: "their number" },
        { name: "name", type: "varchar(40)" },
      ],
    })
    expect(tables[2]).toMatchObject({
      foreignKeys: [{ columns: ["customer"], table: "customers", references: ["id"] }],
    })
    expect(tables[2]?.columns.map(({ name }) => name)).toContain("`for`")
    const { tables: profiled, incomplete } = (await shop.profile?.()) ?? { tables: [] }
    expect(incomplete).toBeUndefined()
    expect(profiled[1]).toMatchObject({ rowCount: 2 })
    expect(profiled[1]?.columns[1]).toMatchObject({ values: ["Ann", "Bob"] })
    await shop.close?.()
  })

  test("returns numbers without losing digits, dates unchanged, and bytes as hexadecimals", async () => {
    const shop = open()
    const sql =
      "SELECT o.id, c.name, o.amount, o.placed, o.scan, o.`for`, SUM(o.amount) OVER () AS total FROM orders o JOIN customers c ON c.id = o.customer ORDER BY c.id"
    expect(await shop.query(sql)).toEqual({
      columns: ["id", "name", "amount", "placed", "scan", "for", "total"],
      rows: [
        ["9007199254740993", "Ann", 10.5, "2026-01-02", "\\x00ff", "me", 30.5],
        [2, "Bob", 20, "2026-01-03", null, null, 30.5],
      ],
      isTruncated: false,
    })
    expect(await shop.query("SELECT id FROM customers ORDER BY id", { rows: 1 })).toMatchObject({
      rows: [[1]],
      isTruncated: true,
    })
    expect((await shop.query("SELECT 1 AS n")).rows).toEqual([[1]])
    await expect(shop.query("SELECT nome FROM customers")).rejects.toMatchObject({
      code: "QUERY_FAILED",
      message: expect.stringContaining("Unknown column 'nome'"),
    })
    await shop.close?.()
    await expect(shop.query("SELECT 1")).rejects.toMatchObject({ code: "DATABASE_CLOSED" })
  })

  test("ends a query at its time limit, and when it is aborted, and answers the next", async () => {
    const shop = open()
    const slow =
      "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c"
    await expect(shop.query(slow, { timeout: 200 })).rejects.toMatchObject({ code: "QUERY_TIMEOUT" })
    const stop = new AbortController()
    const asked = shop.query(slow, { signal: stop.signal })
    setImmediate(() => stop.abort(new Error("enough")))
    await expect(asked).rejects.toThrow("enough")
    expect((await shop.query("SELECT 1")).rows).toEqual([[1]])
    await shop.close?.()
  })

  test("refuses a user who can write, also through a role, with the SQL that creates a reader", async () => {
    for (const [user, fault] of [
      ["writer", "INSERT"],
      ["member", "DELETE"],
      ["root", "ALL PRIVILEGES"],
    ] as const) {
      const shop = open(user)
      await expect(shop.schema()).rejects.toMatchObject({
        code: "DATABASE_ROLE_UNSAFE",
        message: expect.stringMatching(new RegExp(`${fault}[\\s\\S]*GRANT SELECT ON \`shop\``)),
      })
      await shop.close?.()
    }
    const allowed = open("writer", { allowUnsafeRole: true })
    expect((await allowed.query("SELECT COUNT(*) FROM orders")).rows).toEqual([[2]])
    await allowed.close?.()
  })

  test("runs no query that writes, even as a user who may", async () => {
    const shop = open("root", { allowUnsafeRole: true })
    for (const sql of [
      "SELECT * FROM orders WHERE id IN (SELECT 1 INTO OUTFILE '/tmp/superstep-outfile')",
      "SELECT bonus(1)",
      "WITH x AS (SELECT 1) DELETE FROM orders",
      "SELECT SLEEP(5)",
    ]) {
      await expect(shop.query(sql)).rejects.toMatchObject({ code: expect.stringMatching(/^QUERY_/) })
    }
    expect((await shop.query("SELECT COUNT(*) FROM orders")).rows).toEqual([[2]])
    await shop.close?.()
  })
})
