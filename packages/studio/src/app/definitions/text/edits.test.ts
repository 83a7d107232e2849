import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { loadDefinition } from "@superstep/engine/definitions"
import { describe, expect, test } from "vitest"
import type { Edit } from "./edit.ts"
import { edited } from "./edits.ts"
import { nodeAtOffset, nodeOf, type Outline, outlineOf } from "./outline.ts"

const EXAMPLES = resolve(import.meta.dirname, "../../../../../../examples/definitions")
const FILES = [
  "2n-chat.json",
  "goal-graph.json",
  "research-graph.yaml",
  "support-desk.yaml",
  ...["human", "loop", "map", "nested-parallel", "parallel", "retry", "sequential", "templates"].map(
    (name) => `steps-${name}.yaml`,
  ),
]
const read = (file: string) => readFileSync(join(EXAMPLES, file), "utf8")

/** The nodes that the loader makes; the test fails if it finds an error. */
function nodesOf(text: string, file = "x.yaml"): readonly string[] {
  const { definition, diagnostics } = loadDefinition({ file: join(EXAMPLES, file), text })
  const errors = diagnostics.filter(({ severity }) => severity === "error")
  expect(errors.map(({ message }) => message)).toEqual([])
  return definition?.workflow.program.graph.nodes.map(({ id }) => String(id)) ?? []
}

const outline = (text: string) => outlineOf(text) as Outline

function after(text: string, edit: Edit): string {
  const made = edited(text, edit)
  if ("problem" in made) throw new Error(made.problem)
  return made.text
}

const commentsOf = (text: string) => text.match(/#.*$/gm) ?? []

describe.each(FILES)("in %s", (file) => {
  const text = read(file)

  test("every node of the graph is found in the text, and the text of a node leads back to it", () => {
    const parts = outline(text)
    for (const id of nodesOf(text, file).filter((one) => !one.startsWith("#"))) {
      const node = nodeOf(parts, id)
      expect(node, id).toBeDefined()
      if (node !== undefined) expect(nodeAtOffset(parts, node.from + 2)?.id).toBe(node.id)
    }
  })

  test("a new name changes the node and what names it, and nothing else", () => {
    for (const { id, type } of outline(text).nodes) {
      if (type === "goto" || id.includes("/")) continue
      const renamed = after(text, { kind: "rename", node: id, to: "renamed" })
      const swap = (one: string) =>
        one === id ? "renamed" : one.replace(new RegExp(`^${id}(?=[/#?])`), "renamed")
      expect([...nodesOf(renamed, file)].sort()).toEqual(nodesOf(text, file).map(swap).sort())
      expect(commentsOf(renamed)).toEqual(commentsOf(text))
    }
  })

  test("an agent that is added after a node is a node of the graph, and comments stay", () => {
    for (const { id, type, list } of outline(text).nodes) {
      if (type === "goto" || list === undefined || id.includes("/")) continue
      const added = after(text, { kind: "add", id: "added", type: "agent", node: id })
      const { definition } = loadDefinition({ file: join(EXAMPLES, file), text: added })
      expect(outline(added).agents).toContain("added")
      expect(outline(added).nodes.map((one) => one.id)).toContain("added")
      expect(commentsOf(added)).toEqual(commentsOf(text))
      // After a jump back, a step can never run, which the loader reports.
      if (definition !== undefined) expect(nodesOf(added, file)).toContain("added")
      const gone = after(added, { kind: "delete", node: "added" })
      expect(outline(gone).nodes.map((one) => one.id)).not.toContain("added")
    }
  })
})

const STEPS = `# Asks first.
agents:
  clerk: { model: offline, instruction: "After {{ $steps.ask.output }}." } # the only one

workflow:
  # The question.
  - id: ask
    type: human
    prompt: "Order {{ $input }}?" # shown to a person
    choices: [yes, no]

  # The answer.
  - type: agent
    name: clerk
`

test("steps are added where somebody points, in the style of their neighbours", () => {
  const text = after(STEPS, { kind: "add", id: "check", type: "human", node: "ask" })
  expect(text).toBe(
    STEPS.replace(
      "choices: [yes, no]\n",
      'choices: [yes, no]\n  - id: check\n    type: human\n    prompt: "What should happen next?"\n',
    ),
  )
  const agent = after(STEPS, { kind: "add", id: "thank", type: "agent", agent: "clerk" })
  expect(agent).toBe(`${STEPS}  - id: thank\n    type: agent\n    name: clerk\n`)
  const other = after("workflow:\n  - { id: a, type: human, prompt: Next? }\n", {
    kind: "add",
    id: "b",
    type: "agent",
  })
  expect(other).toBe(
    "workflow:\n  - { id: a, type: human, prompt: Next? }\n  - { id: b, type: agent, name: b }\nagents:\n  b:\n    model: offline\n    instruction: You are b.\n",
  )
})

test("a name in templates and jumps follows the step", () => {
  const text = after(STEPS, { kind: "rename", node: "ask", to: "confirm" })
  expect(text).toBe(STEPS.replace("id: ask", "id: confirm").replace("$steps.ask.", "$steps.confirm."))
  const named = after(STEPS, { kind: "rename", node: "clerk", to: "thank" })
  expect(named).toBe(STEPS.replace("- type: agent", "- id: thank\n    type: agent"))
  const spaced = after(STEPS, { kind: "rename", node: "ask", to: "the question" })
  expect(spaced).toContain("$steps['the question'].output")
})

test("a condition gets its branches from connections, and loses them", () => {
  const added = after(STEPS, { kind: "add", id: "good", type: "condition", node: "clerk" })
  expect(nodesOf(added)).toContain("good")
  const back = after(added, { kind: "connect", from: "good", to: "ask" })
  expect(back).toContain("true: [{ goto: ask }]")
  const both = after(back, { kind: "connect", from: "good", to: "clerk" })
  expect(both).toContain("false: [{ goto: clerk }]")
  expect(edited(both, { kind: "connect", from: "good", to: "ask" })).toHaveProperty("problem")
  expect(after(both, { kind: "disconnect", from: "good", to: "clerk" })).toBe(back)
  const inside = after(back, { kind: "add", id: "sure", type: "human", node: "good", place: "false" })
  expect(nodesOf(inside)).toContain("sure")
  const without = after(back, { kind: "delete", node: "ask" })
  // The jump to it goes too; the reference in a prompt is the author's to fix.
  expect(without).not.toContain("goto")
  expect(commentsOf(without)).toContain("# The question.")
})

test("steps run in their order: what the text cannot say is refused in words", () => {
  const problem = (edit: Edit) => (edited(STEPS, edit) as { readonly problem: string }).problem
  expect(problem({ kind: "connect", from: "ask", to: "ask" })).toMatch(/Add a condition after ask/)
  expect(problem({ kind: "disconnect", from: "ask", to: "clerk" })).toMatch(/because it comes next/)
  expect(problem({ kind: "rename", node: "ask", to: "clerk" })).toBe("There is a node clerk.")
  expect(problem({ kind: "rename", node: "ask", to: "a/b" })).toMatch(/none of/)
  expect(problem({ kind: "add", id: " ", type: "agent" })).toBe("Enter a name.")
  expect(edited("- just a list", { kind: "delete", node: "a" })).toHaveProperty("problem")
})

test("a branch of a parallel block is added inside, and its ids are those of the block", () => {
  const block = after(STEPS, { kind: "add", id: "both", type: "parallel", node: "ask" })
  const two = after(block, { kind: "add", id: "ask", type: "human", node: "both", place: "inside" })
  expect(nodesOf(two)).toEqual(expect.arrayContaining(["both/both_1", "both/ask", "ask"]))
  const one = after(two, { kind: "delete", node: "both/both_1" })
  expect(nodesOf(one).filter((id) => id.startsWith("both/"))).toEqual(["both/ask"])
})

const DESK = read("support-desk.yaml")

test("in a graph, edges are rows: added, moved and removed with their nodes", () => {
  const text = read("research-graph.yaml")
  const between = after(text, { kind: "add", id: "check", type: "agent", agent: "thinker", node: "count" })
  // It is between the node and the next one, as in a list of steps.
  expect(between).toContain("{ from_node: count, to_node: check }")
  expect(between).toContain("{ from_node: check, to_node: thinking }")
  expect(nodesOf(between)).toContain("check")
  const edge = after(text, { kind: "connect", from: "note", to: "writer", condition: "research.round > 2" })
  expect(edge).toContain('{ from_node: note, to_node: writer, condition: "research.round > 2" }')
  expect(after(edge, { kind: "disconnect", from: "note", to: "writer" })).toBe(text)
  expect(edited(text, { kind: "connect", from: "note", to: "count" })).toHaveProperty("problem")
  const gone = after(text, { kind: "delete", node: "library" })
  expect(gone).toContain("nodes: [archive]")
  expect(nodesOf(gone)).not.toContain("library")
  expect(outline(DESK).dialect).toBe("graph")
})

test("JSON stays JSON, with its indentation", () => {
  const text = read("2n-chat.json")
  const [first] = outline(text).nodes
  const added = after(text, { kind: "add", id: "checker", type: "agent", node: first?.id })
  const data = JSON.parse(added) as { nodes: { id: string; nodeType: string }[] }
  expect(data.nodes[1]).toMatchObject({ id: "checker", nodeType: "AGENT", agentId: "checker" })
  expect(added).toContain(',\n    {\n      "id": "checker",\n      "workflowId": "2nChat",\n')
  const gone = after(added, { kind: "delete", node: "checker" })
  expect((JSON.parse(gone) as typeof data).nodes.some(({ id }) => id === "checker")).toBe(false)
})
