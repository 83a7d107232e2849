/** `placement` of steps and nodes in files; tests/restate has them on a cluster. */
import { expect, test } from "vitest"
import type { Definition } from "./definition.ts"
import { loadDefinition } from "./load.ts"

const AGENTS = "agents: { writer: { model: offline } }"
const load = (text: string, file = "placed.yaml") => loadDefinition({ text, file })
const placementOf = ({ workflow }: Definition, id: string) =>
  workflow.program.nodes.find(({ node }) => node.id === id)?.placement

const STEPS = `${AGENTS}
workflow:
  - { id: list, type: agent, name: writer, prompt: "[1, 2]" }
  - { id: each, type: agent, name: writer, prompt: one, placement: spread }
  - { id: here, type: agent, name: writer, prompt: two, placement: inline, when: "true" }
`
const GRAPH = JSON.stringify({
  agents: { writer: { model: "offline" } },
  nodes: [
    { id: "list", type: "agent", agent_id: "writer", prompt: "one" },
    { id: "each", type: "agent", agent_id: "writer", prompt: "two", placement: "spread" },
    { id: "here", type: "agent", agent_id: "writer", prompt: "three", placement: "inline" },
  ],
  edges: [
    { from_node: "list", to_node: "each" },
    { from_node: "each", to_node: "here" },
  ],
})

test.each([
  ["steps in YAML", STEPS, "placed.yaml"],
  ["a graph in JSON", GRAPH, "placed.json"],
])("%s say where their tasks execute: inline, unless they are spread", (_, text, file) => {
  const { definition, diagnostics } = load(text, file)
  expect(diagnostics).toEqual([])
  const placements = ["list", "each", "here"].map((id) => placementOf(definition as Definition, id))
  expect(placements).toEqual([undefined, "spread", "inline"])
  expect(definition?.eject()).toContain('placement: "spread"')
})

test.each([
  ["no such placement", STEPS.replace("spread", "everywhere"), /placement.*"inline".*"spread"/s],
  [
    "a step that waits for a person",
    'workflow:\n  - { id: ask, type: human, prompt: "Now?", placement: spread }\n',
    /placement/,
  ],
])("%s is an error", (_, text, message) => {
  const { definition, diagnostics } = load(text)
  expect(diagnostics.map((one) => one.message).join("\n")).toMatch(message)
  expect(definition).toBeUndefined()
})

test("placements that cannot be kept are warnings", () => {
  const loop = `${AGENTS}
workflow:
  - { id: draft, type: agent, name: writer, prompt: one, placement: spread }
  - { id: again, type: goto, goto: draft, when: "$steps.draft.output == 'x'" }
`
  const boxed = `${AGENTS}
workflow:
  - id: all
    type: map
    over: "[1, 2]"
    steps:
      - { id: one, type: agent, name: writer, prompt: one, placement: spread }
      - { id: two, type: agent, name: writer, prompt: two }
`
  const messages = [loop, boxed].map((text) => load(text).diagnostics.map((one) => one.message))
  expect(messages).toEqual([
    ['"placement: spread" of a step that is part of a loop is not supported and has no effect.'],
    [
      '"placement: spread" of a step in a branch or an item of several steps is not supported and has no effect.',
    ],
  ])
  expect(placementOf(load(loop).definition as Definition, "draft")).toBeUndefined()
})
