/** Options and servers that cannot be used: errors name what to do, and never a password. */
import { createServer } from "node:net"
import pg from "pg"
import { expect, onTestFinished, test } from "vitest"
import { type PostgresStoreOptions, postgresStore } from "./open-store.ts"
import { freshStore, newSchema, sql, url } from "./stores.test-support.ts"

const INVALID: readonly [unknown, RegExp][] = [
  [undefined, /the options are an object such as \{ url: "postgres:\/\/…" \}/],
  [{}, /give either url or pool/],
  [{ url, pool: {} }, /give either url or pool/],
  [{ url: 5 }, /url is a string such as postgres:\/\/user:password@host:5432\/database, not number/],
  [{ url: "mysql://u:secret@h/d" }, /url does not begin with postgres:\/\//],
  [{ url: "postgres://u:sec#ret@h:x/d" }, /url cannot be read; .*encodeURIComponent/],
  [{ url, shema: "x" }, /unknown option "shema"; did you mean "schema"\?/],
  [{ url, schema: 'x"; DROP' }, /schema is a name of lower-case letters, digits and underscores/],
  [{ url, tls: "yes" }, /tls is true, false or an object such as \{ ca \}, not "yes"/],
  [{ url, tls: { cert_: "" } }, /tls has no "cert_"; it has ca, cert/],
  [{ url, connections: 1 }, /connections is a number from 2 on, not 1/],
  [{ url, prepare: 1 }, /prepare is true or false, not 1/],
  [{ url, retryTimeout: -1 }, /retryTimeout is a number of milliseconds, not -1/],
  [{ url, listenUrl: "http://u:secret@h" }, /listenUrl does not begin with postgres:\/\//],
]

test.each(INVALID)("options %j are refused with what to write instead", (options, message) => {
  let error: unknown
  try {
    postgresStore(options as PostgresStoreOptions)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ code: "OPTION_INVALID", message: expect.stringMatching(message) })
  expect(allTextOf(error)).not.toContain("secret")
})

test.each(["repeatable read", "serializable"])(
  "a database whose transactions are %s by default is refused, with what to do about it",
  async (isolation) => {
    const [database, role] = [newSchema(), newSchema()]
    await sql(`CREATE DATABASE ${database}`)
    await sql(`ALTER DATABASE ${database} SET default_transaction_isolation = '${isolation}'`)
    await sql(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'secret'`)
    onTestFinished(async () => {
      await sql(`DROP DATABASE ${database} WITH (FORCE)`)
      await sql(`DROP ROLE ${role}`)
    })
    const address = new URL(url)
    Object.assign(address, { pathname: `/${database}`, username: role, password: "secret" })
    const use = async () => {
      const store = postgresStore({ url: address.href, retryTimeout: 0 })
      try {
        return await store.run("r")
      } finally {
        await store.close()
      }
    }
    await expect(use()).rejects.toMatchObject({
      code: "STORE_UNUSABLE",
      message: expect.stringMatching(
        new RegExp(`are ${isolation} by default, and Superstep needs read committed: ALTER ROLE … SET`),
      ),
    })
    await sql(
      `ALTER ROLE ${role} IN DATABASE ${database} SET default_transaction_isolation = 'read committed'`,
    )
    expect(await use()).toBeUndefined()
  },
)

/** Everything that a logger could print of it. */
function allTextOf(error: unknown): string {
  const parts: string[] = []
  for (let one = error as Error | undefined; one !== undefined; one = one.cause as Error | undefined) {
    parts.push(one.message, one.stack ?? "", JSON.stringify(one))
  }
  return parts.join("\n")
}

async function failure(options: Partial<PostgresStoreOptions>): Promise<Error> {
  const store = postgresStore({ url, retryTimeout: 0, ...options })
  onTestFinished(() => store.close())
  return await store.run("r").then(
    () => new Error("It can be used."),
    (error: Error) => error,
  )
}

function addressed(change: (address: URL) => void): string {
  const address = new URL(url)
  change(address)
  return address.href
}

test("a server that cannot be used is reported with what to do, and without its password", async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve))
  const { port } = closed.address() as { port: number }
  await new Promise((resolve) => closed.close(resolve))
  const cases: [Partial<PostgresStoreOptions>, RegExp][] = [
    [
      { url: addressed((address) => (address.port = String(port))) },
      /could not be reached.*Check that the server runs/,
    ],
    [
      { url: addressed((address) => (address.password = "very-secret")) },
      /refuses the password: check the user and the password/,
    ],
    [
      { url: addressed((address) => (address.pathname = "/nowhere")) },
      /has no such database .*create it, or correct the URL/,
    ],
    [{ tls: true }, /do not agree on TLS .*set the option tls/],
  ]
  for (const [options, message] of cases) {
    const error = await failure(options)
    expect(error).toMatchObject({ code: "STORE_UNUSABLE", message: expect.stringMatching(message) })
    expect(error.message).toContain("postgres@127.0.0.1")
    expect(allTextOf(error)).not.toContain("secret")
  }
})

test("a user without the right to create or use the schema gets an error that names the rights to grant", async () => {
  const [role, schema] = [newSchema(), newSchema()]
  await sql(`CREATE ROLE "${role}" LOGIN PASSWORD 'x'`)
  onTestFinished(async () => void (await sql(`DROP ROLE "${role}"`)))
  const error = await failure({
    schema,
    url: addressed((address) => {
      address.username = role
      address.password = "x"
    }),
  })
  expect(error).toMatchObject({
    code: "STORE_UNUSABLE",
    message: expect.stringMatching(
      `denies a permission .*grant the user USAGE and CREATE on schema "${schema}"`,
    ),
  })
})

test("a role that may only use a schema that its owner made needs no right to create schemas", async () => {
  const owner = freshStore()
  await owner.report()
  const role = newSchema()
  const { schema } = owner
  await sql(`CREATE ROLE "${role}" LOGIN PASSWORD 'x';
    GRANT USAGE ON SCHEMA "${schema}" TO "${role}";
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}"`)
  onTestFinished(async () => void (await sql(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)))
  const store = postgresStore({
    schema,
    url: addressed((address) => {
      address.username = role
      address.password = "x"
    }),
  })
  onTestFinished(() => store.close())
  await store.append({ runId: "r", holder: "h", token: 1 }, 0, [], { created: { workflow: "w", graph: "g" } })
  expect((await store.run("r"))?.status).toBe("running")
})

test("a pool of the driver is used, and stays open", async () => {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const store = postgresStore({ pool, schema: freshStore().schema })
  await store.append({ runId: "r", holder: "h", token: 1 }, 0, [], { created: { workflow: "w", graph: "g" } })
  await store.close()
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }])
  await pool.end()
})

test("a closed store says so, and what was appended before it is there", async () => {
  const store = freshStore()
  const appended = store.append({ runId: "r", holder: "h", token: 1 }, 0, [], {
    created: { workflow: "w", graph: "g" },
  })
  await store.close()
  await appended
  await expect(store.run("r")).rejects.toMatchObject({ code: "STORE_CLOSED" })
  expect((await freshStore({ schema: store.schema }).run("r"))?.runId).toBe("r")
})
