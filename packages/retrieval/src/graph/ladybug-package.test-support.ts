/**
 * Installs Ladybug for tests, once, into a cache folder: it cannot be in the lock file, because its packages for other platforms
 * are not in every registry. If the installation fails, the tests are skipped with a message.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const VERSION = "0.19.1"
const CACHE = fileURLToPath(new URL("../../../../node_modules/.cache/ladybug/", import.meta.url))

export interface LadybugPackage {
  /** The folder that has the package installed. */
  readonly packagesOf: string
  /** Creates a database with these statements. */
  write(path: string, statements: readonly string[]): void
}

export function ladybugPackage(): LadybugPackage | undefined {
  const packagesOf = join(CACHE, VERSION)
  try {
    if (!existsSync(packagesOf)) install(packagesOf)
    createRequire(join(packagesOf, "package.json"))("@ladybugdb/core")
    return { packagesOf, write: (path, statements) => writeLadybug(packagesOf, path, statements) }
  } catch (error) {
    process.stderr.write(
      `Tests with Ladybug are skipped: @ladybugdb/core@${VERSION} cannot be used here: ${error}\n`,
    )
    return undefined
  }
}

/** Installs into a temporary folder first, because another test may do the same. */
function install(folder: string): void {
  mkdirSync(CACHE, { recursive: true })
  const made = mkdtempSync(join(CACHE, "new-"))
  try {
    const args = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--prefix", made]
    const { status, error, stderr } = spawnSync("npm", [...args, `@ladybugdb/core@${VERSION}`], {
      encoding: "utf8",
      timeout: 120_000,
      shell: process.platform === "win32",
    })
    if (status !== 0) throw error ?? new Error(stderr)
    renameSync(made, folder)
  } catch (error) {
    rmSync(made, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
}

const WRITER = `
const { Database, Connection } = require("@ladybugdb/core")
const [path, statements] = JSON.parse(require("node:fs").readFileSync(0, "utf8"))
const database = new Database(path)
const connection = new Connection(database)
for (const statement of statements) connection.querySync(statement).close()
connection.closeSync()
database.closeSync()`

/** In a separate process: in this one, Ladybug would write to the file again when its objects are garbage-collected. */
function writeLadybug(packagesOf: string, path: string, statements: readonly string[]): void {
  const input = JSON.stringify([path, statements])
  const options = { cwd: packagesOf, input, encoding: "utf8" } as const
  const { status, stderr, error } = spawnSync(process.execPath, ["-e", WRITER], options)
  if (status !== 0) throw error ?? new Error(stderr)
}

export const TOWN = [
  "CREATE NODE TABLE Person(id INT64 PRIMARY KEY, name STRING, born DATE, tags STRING[], big INT128)",
  "CREATE NODE TABLE City(name STRING PRIMARY KEY, country STRING)",
  "CREATE REL TABLE LivesIn(FROM Person TO City, since INT64)",
  "CREATE REL TABLE Knows(FROM Person TO Person)",
  "CREATE (:Person {id: 1, name: 'Ann Lee', born: date('1990-01-02'), tags: ['a', 'b'], big: cast(170141183460469231731687303715884105727 AS INT128)})",
  "CREATE (:Person {id: 2, name: 'Bob'}), (:Person {id: 3, name: 'Cy'})",
  "CREATE (:City {name: 'Paris', country: 'France'}), (:City {name: 'New York', country: 'USA'})",
  "MATCH (p:Person {id: 1}), (c:City {name: 'Paris'}) CREATE (p)-[:LivesIn {since: 2000}]->(c)",
  "MATCH (p:Person {id: 2}), (c:City {name: 'New York'}) CREATE (p)-[:LivesIn {since: 2010}]->(c)",
  "MATCH (p:Person {id: 1}), (q:Person {id: 2}) CREATE (p)-[:Knows]->(q)",
  "CHECKPOINT",
]
