import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { Runtime } from "../../service/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { listErrors, loadDefinition } from "../index.ts"

const folder = mkdtempSync(join(tmpdir(), "superstep-function-"))
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(
  join(folder, "score.mjs"),
  `let calls = 0
export const limit = 3
export function score({ text, factor }, ctx) { calls++; return { points: text.length * factor, run: ctx.runId, calls } }
export async function echo(args) { return args }
export function fails() { throw new Error("no such luck") }
`,
)

function load(workflow: string, trust?: "none") {
  const text = `workflow:\n${workflow}\n`
  return loadDefinition({ file: join(folder, "flow.yaml"), text }, { trust })
}

test("a function step calls an export with typed arguments, and its result is its output", async () => {
  const { definition, diagnostics } = load(`
  - id: rated
    type: function
    module: ./score.mjs#score
    args: { text: "{{ $input }}", factor: 2 }
    schema: { type: object, required: [points], properties: { points: { type: integer } } }
  - { id: shown, type: function, module: ./score.mjs#echo, args: { points: "{{ $steps.rated.output.points }}", list: [1] } }`)
  expect(diagnostics).toEqual([])
  await definition?.importModules()
  const result = await definition?.workflow.run("four", { runId: "r1" as never })
  expect(result?.outputs).toEqual([{ points: 8, list: [1] }])
  expect(JSON.stringify(result?.state.steps)).toContain('"run":"r1"')
})

test("without args the function receives the input; its default id is its name", async () => {
  const { definition } = load("  - { type: function, module: ./score.mjs#echo }")
  expect((await definition?.workflow.run("Go"))?.outputs).toEqual([{ input: "Go" }])
  expect(definition?.eject()).toContain('import { echo } from "./score.mjs"')
})

test("its result is journaled: a run that continues elsewhere does not call it again", async () => {
  const { definition } = load(`
  - { id: first, type: function, module: ./score.mjs#score, args: { text: a, factor: 1 } }
  - { id: ok, type: human, prompt: "Continue?" }
  - { type: function, module: ./score.mjs#echo, args: { calls: "{{ $steps.first.output.calls }}" } }`)
  if (definition === undefined) throw new Error("not loaded")
  const store = memoryStore()
  const workflows = [definition.workflow]
  const before = new Runtime({ store, workflows, recover: false })
  const [{ id } = { id: "" }] = (
    await before.stream(definition.workflow, "x", { runId: "r" as never }).result
  ).requests
  await before.close()
  const after = new Runtime({ store, workflows, recover: false })
  const run = after.resume(definition.workflow, "r" as never)
  await run.respond(id, "yes")
  const first = (await run.result).outputs
  await after.close()
  expect(first).toEqual([{ calls: 2 }])
})

test("a result that does not match its schema fails the step, and so does a function that throws", async () => {
  const mismatch = load(
    "  - { type: function, module: ./score.mjs#echo, schema: { type: object, required: [points] } }",
  )
  expect((await mismatch.definition?.workflow.run("x").result)?.error).toMatchObject({
    code: "FUNCTION_RESULT",
    message: expect.stringContaining('of "echo" does not match its schema'),
  })
  const thrown = load("  - { type: function, module: ./score.mjs#fails }")
  expect((await thrown.definition?.workflow.run("x").result)?.error?.message).toContain("no such luck")
})

test.each([
  ["./score.mjs", "must be a module and the name of its export, such as ./score.ts#score"],
  ["./gone.ts#x", "cannot read ./gone.ts: no such file"],
  ["../other.ts#x", "../other.ts"],
])("the module %s is refused when the file is loaded", (module, message) => {
  const loaded = load(`  - { type: function, module: "${module}" }`)
  expect(loaded.definition).toBeUndefined()
  expect(listErrors(loaded)).toContain(message)
})

test("a missing export is reported before anything runs, with the exports that exist", async () => {
  const { definition } = load("  - { type: function, module: ./score.mjs#limit }")
  await expect(definition?.importModules()).rejects.toThrow(
    './score.mjs does not export a function "limit". It exports echo, fails, score.',
  )
})

test("an untrusted file cannot name a module", () => {
  const { diagnostics } = load("  - { type: function, module: ./score.mjs#echo }", "none")
  expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
    expect.stringMatching(/^UNTRUSTED Runs code of a module: refused/),
  ])
})

test("ejected code imports the function under another name if its own is taken", () => {
  const { definition } = load("  - { id: score, type: function, module: ./score.mjs#score }")
  const code = definition?.eject() ?? ""
  expect(code).toMatch(/import \{ score(?: as \w+)? \} from "\.\/score\.mjs"/)
  expect(code).toMatch(/functionStep\(steps, "score", \w+/)
})

test("a node of a graph calls a function with what came before it", async () => {
  const text = `
id: g
entry: rate
nodes:
  - { id: rate, type: function, module: ./score.mjs#score, args: { text: "{{ goal }}", factor: 3 }, result: latest.points }
  - { id: wrap, type: function, module: ./score.mjs#echo }
edges: [{ from_node: rate, to_node: wrap }]
exits: [wrap]
`
  const loaded = loadDefinition({ file: join(folder, "graph.yaml"), text })
  expect(listErrors(loaded)).toBe("")
  expect((await loaded.definition?.workflow.run("ab"))?.outputs).toEqual([{ input: 6 }])
  expect(loaded.definition?.eject()).toContain('import { echo, score } from "./score.mjs"')
})
