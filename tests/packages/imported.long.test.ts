/** The packages as users import, compile and bundle them. Needs what `npm run build` leaves. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { build } from "esbuild"
import ts6 from "typescript"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { ensureBuilt, entriesOf, pack, projectWith, root, runFile, runText } from "./installed.ts"

const folder = mkdtempSync(join(tmpdir(), "superstep-imported-"))
let entries: string[]
/** Without any optional package. */
let bare: string
/** With what the types of all entries name. */
let typed: string

beforeAll(() => {
  ensureBuilt()
  const tarballs = pack(folder)
  entries = tarballs.flatMap(entriesOf)
  bare = projectWith(tarballs, [])
  typed = projectWith(tarballs, ["@opentelemetry/api", "@types/node"])
}, 600_000)

afterAll(() => {
  for (const one of [folder, bare, typed]) rmSync(one, { recursive: true, force: true })
})

describe("every entry", () => {
  test("is imported and required, without a warning, as one and the same module", () => {
    const { status, stdout, stderr } = runText(
      bare,
      "both.cjs",
      `(async () => {
        for (const entry of ${JSON.stringify(entries)}) {
          const required = require(entry)
          const imported = await import(entry)
          for (const name of Object.keys(imported)) {
            if (required[name] !== imported[name]) throw new Error(entry + " has two copies of " + name)
          }
          console.log(entry)
        }
      })()`,
    )
    expect(stderr).toBe("")
    expect(stdout.trim().split("\n")).toEqual(entries)
    expect(status).toBe(0)
  })

  test("shares one zod with the user's program", () => {
    const hook = ["--import", pathToFileURL(join(root, "tests/loaded-modules.mjs")).href]
    const program = [...entries, "zod"].map((entry) => `await import(${JSON.stringify(entry)})`).join("\n")
    const { stdout, stderr } = runText(bare, "zod.mjs", program, hook)
    expect(stderr).toBe("")
    const cores = [...stdout.matchAll(/^loaded (\S+zod\/v4\/core\/core\.c?js)$/gm)].map(([, url]) => url)
    expect(cores).toEqual([
      pathToFileURL(join(realpathSync(join(root, "node_modules/zod")), "v4/core/core.js")).href,
    ])
  })

  const require = createRequire(import.meta.url)
  // The API extractor brings the compiler before the current one.
  const ts5 = createRequire(require.resolve("@microsoft/api-extractor/package.json"))(
    "typescript",
  ) as typeof ts6

  test.each([
    ["TypeScript 6", "6.0", ts6],
    ["TypeScript 5.9", "5.9", ts5],
  ])(
    "type-checks with its declarations in CommonJS and in modules, by %s",
    { timeout: 300_000 },
    (_, version, ts) => {
      expect(ts.versionMajorMinor).toBe(version)
      const uses = entries.map((entry, at) => `import * as entry${at} from ${JSON.stringify(entry)}\n`)
      const text = `${uses.join("")}
import { node, workflow } from "superstep"
export const all = [${entries.map((_, at) => `entry${at}`).join(", ")}]
export const built = workflow("shout").chain(node("loud", (text: string) => text.toUpperCase())).build()
`
      // The project is one of CommonJS, so that .ts is too.
      const files = ["common.ts", "module.mts"].map((name) => join(typed, name))
      for (const file of files) writeFileSync(file, text)
      const program = ts.createProgram(files, {
        target: ts.ScriptTarget.ES2023,
        lib: ["lib.es2023.d.ts"],
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        types: ["node"],
        typeRoots: [join(typed, "node_modules/@types")],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
      })
      expect(problemsOf(ts, program)).toEqual([])
    },
  )

  test.each([
    ["TypeScript 6", ts6],
    ["TypeScript 5.9", ts5],
  ])("of superstep but telemetry type-checks without Node's types, by %s", { timeout: 300_000 }, (_, ts) => {
    const names = entries.filter((one) => /^superstep(?!\/telemetry)/.test(one))
    expect(names.length).toBeGreaterThan(10)
    const file = join(bare, "plain.mts")
    writeFileSync(
      file,
      names.map((name) => `export * as ${name.replace(/\W/g, "_")} from "${name}"\n`).join(""),
    )
    const program = ts.createProgram([file], {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      types: [],
      strict: true,
      skipLibCheck: false,
      noEmit: true,
    })
    expect(problemsOf(ts, program)).toEqual([])
  })
})

function problemsOf(ts: typeof ts6, program: ts6.Program): string[] {
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    )
}

test("an uncaught error shows a frame that can be read", () => {
  const { stderr } = runText(
    bare,
    "uncaught.mjs",
    `import { node, workflow } from "superstep"
workflow("x").edge(node("a", () => 1), node("b", () => 2)).build()`,
  )
  expect(stderr).toMatch(/GraphInvalidError/)
  expect(stderr).toMatch(/at .*[\\/]dist[\\/][\w-]+\.js:\d+:\d+/)
  expect(Math.max(...stderr.split("\n").map((line) => line.length))).toBeLessThan(300)
})

describe("a program in one file", () => {
  const PROGRAM = `
import { node, workflow } from "superstep"
import { loadDefinition } from "superstep/definitions"
import { jsonSchema } from "superstep/tools"
import { emptyView, foldEvent, parseEvent } from "superstep/protocol"
import { sqliteStore } from "superstep/sqlite"
import { telemetry } from "superstep/telemetry"
import { resolveModel } from "superstep/models"
import * as rest from "superstep/patterns"
import * as diagrams from "superstep/diagrams"
import * as testing from "superstep/testing"
import * as retrieval from "@superstep/retrieval"

async function main() {
  const shout = workflow("shout").chain(node("loud", (text) => text.toUpperCase())).build()
  let view = emptyView()
  const run = shout.stream("hello")
  for await (const event of run) view = foldEvent(view, parseEvent(JSON.parse(JSON.stringify(event))))
  console.log(view.outputs[0])
  const yaml = "agents:\\n  a: { model: offline }\\nworkflow:\\n  - { type: agent, name: a }\\n"
  const { definition } = loadDefinition({ file: "a.yaml", text: yaml })
  console.log(typeof definition)
  for (const use of [() => telemetry(), () => resolveModel("ollama/x")]) {
    try { await use(); console.log("loaded") } catch (error) { console.log(error.message) }
  }
  console.log([rest, diagrams, testing, retrieval, jsonSchema, sqliteStore].every(Boolean))
}
main()
`

  test.each([
    ["esm", "mjs"],
    ["cjs", "cjs"],
  ] as const)("is bundled without externals and runs: %s", async (format, extension) => {
    const place = mkdtempSync(join(tmpdir(), "superstep-bundle-"))
    onTestFinished(() => rmSync(place, { recursive: true, force: true }))
    const outfile = join(place, `program.${extension}`)
    // The SDK of the protocol needs a CommonJS package that requires Node's modules, which ES modules cannot do.
    const contents =
      format === "cjs"
        ? `import { mcpToolset } from "@superstep/mcp"\n${PROGRAM}\nif (typeof mcpToolset !== "function") throw new Error("no MCP")`
        : PROGRAM
    await build({
      stdin: { contents, resolveDir: bare, loader: "js" },
      bundle: true,
      platform: "node",
      target: "node20",
      format,
      outfile,
      logLevel: "silent",
    })
    const { stdout, stderr, status } = runFile(place, outfile)
    expect(stderr).toBe("")
    expect(stdout.trim().split("\n")).toEqual([
      "HELLO",
      "object",
      "superstep/telemetry needs the package @opentelemetry/api, which is not installed: npm install @opentelemetry/api",
      "The model ollama/x needs the package ollama-ai-provider-v2, which is not installed: npm install ollama-ai-provider-v2",
      "true",
    ])
    expect(status).toBe(0)
  })
})
