/** `flow` in both dialects. */
import { describe, expect, test } from "vitest"
import { memoryStore, Runtime } from "../index.ts"
import type { Definition } from "./definition.ts"
import { loadDefinition } from "./load.ts"

const FLOW = `
flow:
  concurrency: { key: $input.tenant, max: 5 }
  rateLimit: [{ max: 10, period: 1m, burst: 3 }, { max: 1, period: 0.5, key: $input.tenant }]
  debounce: { period: 2s, timeout: 90, key: "$input.tenant + '/' + $input.file" }
  priority: "$input.urgent ? 10 : 0"
  tenant: $input.tenant
`
const STEPS = `${FLOW}
workflow:
  - { id: ask, type: human, prompt: "{{ $input }}?" }
`
const GRAPH = `${FLOW}
nodes:
  - { id: start, type: start }
  - { id: end, type: state, read: input }
edges: [{ from_node: start, to_node: end }]
`

const load = (text: string) => loadDefinition({ text, file: "flow.yaml" })

describe.each([
  ["steps", STEPS],
  ["graph", GRAPH],
])("the flow of a %s file", (_, text) => {
  test("becomes the options of its workflow, with expressions over the input", async () => {
    const { workflow } = load(text).definition as Definition
    const runtime = new Runtime({ store: memoryStore(), workflows: [workflow], recover: false })
    const input = { tenant: "acme", file: "a.md", urgent: true }
    const id = await runtime.enqueue(workflow, input as never)
    const flow = "flow"
    expect((await runtime.store.run(id))?.flow).toEqual({
      queue: "default",
      tenant: "acme",
      priority: 10,
      lanes: [
        { limit: `${flow}/concurrency`, key: "acme" },
        { limit: `${flow}/rateLimit[0]`, key: "" },
        { limit: `${flow}/rateLimit[1]`, key: "acme" },
      ],
      group: '["debounce","flow","acme/a.md"]',
    })
    expect(workflow.program.flow?.limits).toEqual([
      { name: "flow/concurrency", max: 5 },
      { name: "flow/rateLimit[0]", rate: { every: 6_000, burst: 3 } },
      { name: "flow/rateLimit[1]", rate: { every: 500, burst: 1 } },
    ])
    expect(workflow.program.flow?.debounce).toMatchObject({ period: 2_000, timeout: 90_000 })
    await expect(runtime.enqueue(workflow, {} as never)).rejects.toMatchObject({ code: "FLOW_KEY_INVALID" })
    await runtime.close()
  })

  test.each([
    ["key: $input.tenant, max", "key: $inptu.tenant, max", "UNKNOWN_NAME", 3],
    ["key: $input.tenant, max", 'key: "$input.", max', "EXPRESSION_INVALID", 3],
    ["max: 5", "max: 0", "OUT_OF_RANGE", 3],
    ["concurrency", "concurency", "UNKNOWN_FIELD", 3],
    ["priority:", "throttle: { period: 1s }\n  priority:", "FLOW_INVALID", 5],
  ])("reports its problems at their positions: %s → %s", (from, to, code, line) => {
    const { diagnostics } = load(text.replace(from, to))
    expect(diagnostics.map((one) => [one.code, one.place?.line])).toEqual([[code, line]])
  })
})

test("ejected code has the same flow", () => {
  const code = (load(STEPS).definition as Definition).eject()
  expect(code).toContain('flowKey("$input.tenant")')
})
