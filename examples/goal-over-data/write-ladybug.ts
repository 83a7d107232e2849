/** Makes a Ladybug file with Cypher statements. */
import { spawnSync } from "node:child_process"

const WRITER = `
const { Database, Connection } = require("@ladybugdb/core")
const [path, statements] = JSON.parse(require("node:fs").readFileSync(0, "utf8"))
const database = new Database(path)
const connection = new Connection(database)
for (const statement of statements) connection.querySync(statement).close()
connection.closeSync()
database.closeSync()`

/** In a process of its own: in ours Ladybug would write to the file once more, whenever its objects are collected. */
export function writeLadybug(packagesOf: string, path: string, statements: readonly string[]): void {
  const { status, stderr, error } = spawnSync(process.execPath, ["-e", WRITER], {
    cwd: packagesOf,
    input: JSON.stringify([path, statements]),
    encoding: "utf8",
  })
  if (status !== 0) throw error ?? new Error(stderr)
}
