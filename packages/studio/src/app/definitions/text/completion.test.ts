import { jsonSchemas } from "@superstep/engine/definitions"
import { expect, test } from "vitest"
import { completionsAt } from "./completion.ts"

const STEPS = jsonSchemas.steps()
const GRAPH = jsonSchemas.graph()

/** The labels at the bar. */
function at(text: string, schema = STEPS): readonly string[] {
  const offset = text.indexOf("|")
  const clean = text.slice(0, offset) + text.slice(offset + 1)
  return completionsAt(schema, clean, offset)?.options.map(({ label }) => label) ?? []
}

const HEAD = "agents:\n  clerk: { model: offline }\n  lawyer: { model: offline }\nworkflow:\n"

test("fields of the document, of an agent and of a step, without existing ones", () => {
  expect(at("agents: {}\nwork|\n")).toContain("workflow")
  expect(at("agents: {}\n|\n")).not.toContain("agents")
  expect(at("agents:\n  clerk:\n    model: offline\n    ins|")).toContain("instruction")
  expect(at(`${HEAD}  - ty|`)).toContain("type")
  const step = at(`${HEAD}  - id: ask\n    type: human\n    pro|\n`)
  expect(step).toEqual(expect.arrayContaining(["prompt", "choices"]))
  expect(step).not.toContain("id")
})

test("values: types, and names of agents and steps in the file", () => {
  expect(at(`${HEAD}  - type: |`)).toEqual(expect.arrayContaining(["agent", "human", "parallel"]))
  expect(at(`${HEAD}  - type: agent\n    name: l|\n`)).toEqual(expect.arrayContaining(["clerk", "lawyer"]))
  expect(at(`${HEAD}  - { id: a, type: agent, name: clerk }\n  - goto: |\n`)).toContain("a")
  expect(at(`${HEAD}  - { type: agent, name: clerk, on_error: | }`)).toEqual(["fail", "continue"])
})

test("alternatives follow the discriminator that is written", () => {
  const fields = at("agents:\n  clerk:\n    toolsets:\n      - type: mcp\n        |\n")
  expect(fields).toContain("command")
  expect(at("agents:\n  clerk:\n    toolsets:\n      - type: todo\n        |\n")).not.toContain("command")
})

test("JSON is completed with quotes, and a field that has its colon gets no second one", () => {
  const text = '{ "id": "g", "nodes": [{ "id": "a", "ty" }] }'
  const options = completionsAt(GRAPH, text, text.indexOf('"ty') + 3)?.options
  expect(options?.find(({ label }) => label === "type")?.insert).toBe('"type": ')
  const known = completionsAt(STEPS, "wor: []", 3)
  expect(known).toMatchObject({ from: 0 })
  expect(known?.options.find(({ label }) => label === "workflow")?.insert).toBe("workflow")
})

test("nothing is offered in comments and in free text", () => {
  expect(at(`${HEAD}  # ty|`)).toEqual([])
  expect(at(`${HEAD}  - id: ask\n    type: human\n    prompt: Is it |\n`)).toEqual([])
})
