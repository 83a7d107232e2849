/**
 * A real MariaDB or MySQL server for tests, if one is installed: `mariadbd` or `mysqld` in the PATH, or the path in
 * SUPERSTEP_MYSQLD. No npm package has a maintained version for this platform.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { dirname, join, resolve } from "node:path"
import { createConnection } from "mysql2/promise"

export interface MysqlServer {
  url(user?: string, database?: string): string
  /** As the administrator. */
  run(...statements: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** Undefined if none is installed. */
export const MYSQLD: string | undefined = [
  process.env.SUPERSTEP_MYSQLD ?? "",
  ...(process.env.PATH ?? "")
    .split(":")
    .flatMap((folder) => [join(folder, "mariadbd"), join(folder, "mysqld")]),
  "/usr/sbin/mariadbd",
  "/usr/sbin/mysqld",
].find((path) => path !== "" && existsSync(path))

export async function startMysql(program: string): Promise<MysqlServer> {
  const folder = mkdtempSync(join(tmpdir(), "superstep-mysql-"))
  const data = join(folder, "data")
  const user = userInfo().username
  const share =
    [resolve(dirname(program), "../share/mysql"), "/usr/share/mysql"].find((path) => existsSync(path)) ?? ""
  const common = ["--no-defaults", `--datadir=${data}`, `--user=${user}`, `--lc-messages-dir=${share}`]
  initialize(program, common, share, data)
  const port = await freePort()
  const server = spawn(
    program,
    [
      ...common,
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      `--socket=${join(folder, "s")}`,
      "--skip-log-bin",
      "--innodb-buffer-pool-size=16M",
    ],
    { stdio: "ignore" },
  )
  const admin = { host: "127.0.0.1", port, user: "root", multipleStatements: true }
  await untilUp(server, () => createConnection(admin).then((connection) => connection.end()))
  return {
    url: (name = "reader", database = "shop") => `mysql://${name}@127.0.0.1:${port}/${database}`,
    async run(...statements) {
      const connection = await createConnection(admin)
      for (const statement of statements) await connection.query(statement)
      await connection.end()
    },
    async stop() {
      const ended = new Promise((done) => server.once("exit", done))
      server.kill("SIGKILL")
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function initialize(program: string, common: readonly string[], share: string, data: string): void {
  execFileSync("mkdir", ["-p", data])
  if (/mysqld$/.test(program) && !existsSync(join(share, "mysql_system_tables.sql"))) {
    execFileSync(program, [...common, "--initialize-insecure"], { stdio: "ignore" })
    return
  }
  const scripts = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"]
  const input = [
    // One statement a line.
    "CREATE DATABASE IF NOT EXISTS mysql;",
    "USE mysql;",
    "SET @auth_root_socket=NULL;",
    "SET @skip_auth_anonymous=1;",
    ...scripts.map((name) => readFileSync(join(share, name), "utf8")),
  ].join("\n")
  execFileSync(program, [...common, "--bootstrap", "--skip-log-bin"], {
    input,
    stdio: ["pipe", "ignore", "ignore"],
  })
}

/** The server does not report that it is ready, so it is polled. */
async function untilUp(server: ChildProcess, ask: () => Promise<void>): Promise<void> {
  let isOver = false
  server.once("exit", () => {
    isOver = true
  })
  for (;;) {
    const isUp = await ask().then(
      () => true,
      () => false,
    )
    if (isUp) return
    if (isOver) throw new Error("The MySQL server ended.")
    await new Promise((next) => setTimeout(next, 100))
  }
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })
}
