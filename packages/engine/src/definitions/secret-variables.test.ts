import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { cassette, type Model, scriptedModel } from "../models/index.ts"
import { loadDefinition } from "./load.ts"

const VALUE = "hunter2-Xq81-correct-horse"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "secrets-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const FLOW = `agents: { a: { instruction: "Use {{ $vars.api_key }}." } }
workflow:
  - { type: agent, id: say, name: a, prompt: "The key is {{ $vars.api_key }}." }
  - id: use
    type: tool
    tool: show
    args: { header: "Bearer {{ $vars.api_key }}", other: "{{ $steps.say.output }}" }
    toolset:
      type: script
      shell: { show: { cmd: 'printf "%s|%s" "$header" "$other"; test "$other" != fail', args: { header: {}, other: {} } } }
`

function load(model: Model, options: { secrets?: Record<string, string>; text?: string } = {}) {
  const { text = FLOW, secrets = { api_key: VALUE } } = options
  const { definition, diagnostics } = loadDefinition(
    { file: "flow.yaml", text },
    { secrets, cwd: folder, env: {}, model: () => model },
  )
  if (definition === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
  return { workflow: definition.workflow, diagnostics }
}

/** Runs it, approves the tool with these arguments, and returns everything that was recorded. */
async function run(model: Model, answer: object = { approve: true }, options?: Parameters<typeof load>[1]) {
  const { workflow } = load(model, options)
  const shown: string[] = []
  const running = workflow.stream("go")
  for await (const event of running) {
    shown.push(JSON.stringify(event))
    if (event.type === "request.opened") void running.respond(event.request.id, answer as never)
  }
  const result = await running.result
  return { result, shown: shown.join("\n") }
}

test("a tool receives the value; events, questions, results and cassettes contain the reference", async () => {
  const file = join(folder, "talk.jsonl")
  const model = cassette(file, scriptedModel({ a: ["understood"] }), { mode: "record" })
  const { result, shown } = await run(model)
  expect(result.outputs).toEqual(["Bearer [secret]|understood"])
  expect(shown).toContain("Bearer [secret:api_key]")
  expect(shown + JSON.stringify(result)).not.toContain("hunter2")
  const kept = readFileSync(file, "utf8")
  expect(kept).toContain("[secret:api_key]")
  expect(kept).not.toContain("hunter2")
})

test("a reference that a model writes stays text", async () => {
  const { result } = await run(scriptedModel({ a: ["[secret:api_key]"] }))
  expect(result.outputs).toEqual(["Bearer [secret]|[secret:api_key]"])
})

test("a person may change the other arguments, and unchanged references keep their value", async () => {
  const args = { header: "Bearer [secret:api_key]", other: "changed" }
  const { result } = await run(scriptedModel({ a: ["x"] }), { approve: true, args })
  expect(result.outputs).toEqual(["Bearer [secret]|changed"])
  const plain = await run(scriptedModel({ a: ["x"] }), {
    approve: true,
    args: { ...args, header: "[secret:api_key]" },
  })
  expect(plain.result.outputs).toEqual(["[secret:api_key]|changed"])
})

test("an error of the tool contains no secrets", async () => {
  const { result, shown } = await run(scriptedModel({ a: ["fail"] }))
  expect(result.status).toBe("failed")
  expect(result.error?.message).toContain("[secret]")
  expect(shown + result.error?.message).not.toContain("hunter2")
})

test("variables that are named like a secret are secrets, and others are shown", () => {
  const text =
    'agents: { a: {} }\nworkflow: [{ type: agent, name: a, prompt: "{{ $vars.token }} {{ $vars.city }}" }]'
  const { diagnostics, definition } = loadDefinition(
    { file: "flow.yaml", text },
    { variables: { token: VALUE, city: "Ulm" } },
  )
  expect(
    diagnostics.map(({ severity, code, place }) => `${severity} ${code} ${place?.line}:${place?.column}`),
  ).toEqual(["warning SECRET_NOT_SHOWN 2:48"])
  const code = definition?.eject() ?? ""
  expect(code).toContain('vars: { city: "Ulm" }, secrets: ["token"]')
  expect(code).not.toContain("hunter2")
})

test("a graph also warns if it shows a reference", () => {
  const text = `nodes:
  - { id: n, type: agent, agent_id: a, prompt: "Use {{ token }}" }
  - { id: t, type: tool, tool: x, toolset: { type: think }, args: { v: "{{ token }}" } }
edges: [{ from_node: n, to_node: t, condition: "token == 'x'" }]
agents: { a: {} }`
  const { diagnostics } = loadDefinition({ file: "g.yaml", text }, { variables: { token: VALUE } })
  expect(diagnostics.map(({ code, place }) => `${code} ${place?.line}`)).toEqual([
    "SECRET_NOT_SHOWN 2",
    "SECRET_NOT_SHOWN 4",
  ])
})
