/** Harmful queries that a model could write for a Ladybug graph: refused or limited, and everything stays unchanged. */
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { CYPHER_ATTACKS, CYPHER_FLOODS } from "./cypher-attacks.test-support.ts"
import type { GraphDatabase } from "./graph-database.ts"
import { ladybugFile, ladybugGraph } from "./ladybug.ts"
import { ladybugPackage, TOWN } from "./ladybug-package.test-support.ts"

const LIMITS = { rows: 50, bytes: 20_000, timeout: 500 }
const ladybug = ladybugPackage()
const folder = mkdtempSync(join(tmpdir(), "superstep-attacks-"))
const options = {
  id: "town",
  path: join(folder, "town"),
  limits: LIMITS,
  memory: 200,
  packagesOf: ladybug?.packagesOf,
}
let graph: GraphDatabase
let before: unknown

/** The file, the other files in its folder, and the content of the graph. */
async function everything(): Promise<unknown> {
  const count = "MATCH (n) RETURN count(*), min(n.name), max(n.country)"
  const { rows } = await graph.query(count, { timeout: 10_000 })
  const hash = createHash("sha256").update(readFileSync(options.path)).digest("hex")
  return { rows, hash, files: readdirSync(folder) }
}

const filled = (cypher: string) => cypher.replaceAll("FOLDER", folder)

afterAll(async () => {
  await graph?.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(ladybug === undefined)("against Ladybug (needs @ladybugdb/core from a registry)", () => {
  beforeAll(async () => {
    ladybug?.write(options.path, TOWN)
    graph = ladybugGraph(options)
    before = await everything()
  })

  test.each(Object.entries(CYPHER_ATTACKS))("%s is refused", async (_, cypher) => {
    await expect(graph.query(filled(cypher))).rejects.toMatchObject({ code: "QUERY_REFUSED" })
    expect(await everything()).toEqual(before)
  })

  test.each(Object.entries(CYPHER_FLOODS))("%s is limited", async (_, cypher) => {
    const memory = process.memoryUsage().rss
    // The test's own time limit verifies that it ends; the machine determines how soon.
    const outcome = await graph.query(cypher).catch((error) => error)
    expect(process.memoryUsage().rss - memory).toBeLessThan(100_000_000)
    if (outcome instanceof Error) {
      expect(["QUERY_FAILED", "QUERY_TIMEOUT"]).toContain((outcome as Error & { code: string }).code)
    } else {
      expect(outcome.rows.length).toBeLessThanOrEqual(LIMITS.rows)
    }
    expect(await everything()).toEqual(before)
  })

  test("writes and several statements fail without the guard too", async () => {
    const file = ladybugFile(options)
    try {
      for (const cypher of [
        "CREATE (:City {name: 'Rome'})",
        "MATCH (c:City) SET c.country = 'Spain'",
        "MATCH (c:City) DETACH DELETE c",
        "DROP TABLE Knows",
        "RETURN 1; MATCH (c:City) DETACH DELETE c",
      ]) {
        await expect(file.run(cypher, { timeout: 10_000 })).rejects.toMatchObject({ code: "QUERY_REFUSED" })
      }
    } finally {
      await file.close()
    }
    expect(await everything()).toEqual(before)
  })
})
