/** Diagrams show the nodes that the author of a definition wrote, and no others. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Graph } from "../core/index.ts"
import { type Diagram, diagramOf, partsByEnd, toDot, toMermaid, toText } from "../diagrams/index.ts"
import { agentNode, flow, load as loadGraph } from "./graph/graph.test-support.ts"
import { randomFile } from "./steps/random-steps.test-support.ts"
import { load, tryLoad } from "./steps/steps.test-support.ts"

const MARKS = new Set(["start", "output", "limit"])

/** The names of all nodes in a diagram and its frames. Joins are marks on lines, like the start and the output. */
function shownNodes({ parts }: Diagram): string[] {
  return parts.flatMap((part) => {
    if (part.kind === "frame") return shownNodes(part.diagram)
    return MARKS.has(part.kind) || part.label.startsWith("join ") ? [] : [part.label]
  })
}

/** `from -label-> to`, at one level. */
function arrowsIn(diagram: Diagram): string[] {
  const ends = partsByEnd(diagram)
  const name = (id: string) => ends.get(id)?.label.split("\n")[0]
  return diagram.arrows.map(({ from, to, label }) => `${name(from)} -${label}-> ${name(to)}`)
}

const step = (id: string, more = "") => `{ id: ${id}, type: agent, name: ${id}${more} }`
const AGENTS = [..."abcdpqxy", "last"].map((name) => `${name}: { model: offline }`).join(", ")
const steps = (...list: readonly string[]) =>
  load(`agents: { ${AGENTS} }\nworkflow:\n${list.map((one) => `  - ${one}\n`).join("")}`).workflow

describe("of steps, a diagram shows", () => {
  test("parallel blocks inside each other, without their ends", () => {
    const inner = `{ id: in, type: parallel, steps: [${step("b")}, { id: if, type: condition, condition: "true", true: [${step("c")}], false: [${step("d")}] }] }`
    const diagram = diagramOf(
      steps(`{ id: out, type: parallel, steps: [${step("a")}, ${inner}] }`, step("last")),
    )
    expect(shownNodes(diagram).toSorted()).toEqual(
      ["out", "out/a", "out/in", "out/in/b", "out/in/c", "out/in/d", "out/in/if", "last"].toSorted(),
    )
    expect(arrowsIn(diagram)).toEqual(
      expect.arrayContaining([
        "out/in/if -true-> out/in/c",
        "out/in/if -false-> out/in/d",
        "out/in/b --> join all",
        "out/in/c --> join all",
        "out/in/d --> join all",
        "out/a --> join all",
        "join all --> join all",
        "join all --> last",
        "last --> output",
      ]),
    )
  })

  test("a step with a condition as one node, with an arrow for the case that it is false", () => {
    const when = ', when: "$input == 1"'
    const diagram = diagramOf(steps(step("a"), step("b", when), step("c", when)))
    expect(shownNodes(diagram)).toEqual(["a", "b", "c"])
    expect(arrowsIn(diagram).toSorted()).toEqual(
      [
        "start --> a",
        "a --> b",
        "b --> c",
        "b -when false-> c",
        "c --> output",
        "c -when false-> output",
      ].toSorted(),
    )
  })

  test("a loop as the goto that closes it", () => {
    const diagram = diagramOf(
      steps(step("a"), '{ id: again, type: goto, goto: a, when: "$input == 1" }', step("b")),
    )
    expect(shownNodes(diagram)).toEqual(["a", "again", "b"])
    expect(arrowsIn(diagram)).toEqual(expect.arrayContaining(["again -true-> a", "again -exit-> b"]))
  })

  test("the end of a condition without a second branch, and of a step that may fail", () => {
    const diagram = diagramOf(
      steps(
        step("a", ", on_error: continue"),
        `{ id: if, type: condition, condition: "true", true: [${step("b")}] }`,
      ),
    )
    expect(shownNodes(diagram)).toEqual(["a", "if", "b"])
    expect(arrowsIn(diagram)).toEqual(
      expect.arrayContaining(["a -error-> if", "if -true-> b", "if -false-> output", "b --> output"]),
    )
  })

  test("a map with its steps in a frame, and a block with retries", () => {
    const map = `{ id: each, type: map, over: "[1]", steps: [${step("x")}, ${step("y", ', when: "true"')}] }`
    const par = `{ id: par, type: parallel, timeout: 5s, steps: [${step("p")}, ${step("q")}] }`
    const workflow = steps(map, par)
    expect(shownNodes(diagramOf(workflow))).toEqual(["each", "x", "y", "par", "par/p", "par/q"])
    expect(arrowsIn(diagramOf(workflow))).toEqual(
      expect.arrayContaining(["each -×n-> each item", "each item -list-> par"]),
    )
    for (const text of [toMermaid(workflow), toDot(workflow), toText(workflow)]) {
      expect(text).not.toMatch(/end of|branch \d|#end|#out|when each|\?/)
    }
  })
})

interface Written {
  readonly id: string
  readonly steps?: readonly Written[]
  readonly true?: readonly Written[]
  readonly false?: readonly Written[]
}

function writtenIds(list: readonly Written[]): string[] {
  return list.flatMap(({ id, steps = [], true: yes = [], false: no = [] }) => [
    id,
    ...writtenIds([...steps, ...yes, ...no]),
  ])
}

function nodeIds({ nodes }: Graph): string[] {
  return nodes.flatMap(({ id, spec }) => [id, ...(spec.nested === undefined ? [] : nodeIds(spec.nested))])
}

test("of any steps, a diagram shows the written ones that can run", () => {
  fc.assert(
    fc.property(randomFile, (text) => {
      const { workflow } = tryLoad(text)
      if (workflow === undefined) return
      const shown = shownNodes(diagramOf(workflow)).map((label) => label.split("/").at(-1))
      const written = writtenIds((JSON.parse(text) as { workflow: { steps: Written[] } }).workflow.steps)
      // Unreachable steps have no node; the node of a goto is its condition.
      const nodes = nodeIds(workflow.program.graph).map((id) => id.split("/").at(-1)?.replace(/\?$/, ""))
      expect(new Set(shown)).toEqual(new Set(written.filter((id) => nodes.includes(id))))
    }),
    { numRuns: 20 },
  )
})

test("of a graph, a diagram shows its nodes, without those of its start and its end", () => {
  const nodes = [agentNode("a"), agentNode("b"), agentNode("c")]
  const edges = ['a -> b if latest == "x"', 'a -> c if latest == "y"']
  const workflow = loadGraph(flow(nodes, edges)).workflow
  expect(shownNodes(diagramOf(workflow))).toEqual(["a", "b", "c"])
})
