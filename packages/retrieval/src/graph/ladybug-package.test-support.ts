/**
 * Ladybug cannot be in the lock file, as its packages for other platforms are not in every registry. So tests install it into
 * a folder of its own, once, and are skipped with a word about it where that does not work.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { writeLadybug } from "../../../../examples/goal-over-data/write-ladybug.ts"

const VERSION = "0.19.1"
const CACHE = fileURLToPath(new URL("../../../../node_modules/.cache/ladybug/", import.meta.url))

export interface LadybugPackage {
  /** The folder that has it installed. */
  readonly packagesOf: string
  /** Makes a database with these statements. */
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

/** Elsewhere first: another test may do the same. */
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
