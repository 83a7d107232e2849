/** Whatever a file contains, its problems are reported, or it runs to an end. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { hash32 } from "../../core/retry.ts"
import { manualClock } from "../../testing/index.ts"
import type { Graph } from "./graph.test-support.ts"
import { tryLoad } from "./graph.test-support.ts"
import { NODE_TYPES } from "./graph-shape.ts"

const IDS = ["a", "b", "c", "d", "e", "f"] as const
const id = fc.constantFrom(...IDS)
const agents = Object.fromEntries(IDS.slice(0, 4).map((one) => [one, { model: "offline" }]))

/** Answers with a name, with JSON, or with plain text, depending on the prompt. */
const model = pureModel((last, turn, agent) => {
  const choice = hash32(`${last}${turn}${agent}`, 1) % 4
  const next = IDS[choice]
  if (choice === 0) return next as string
  return choice === 1 ? JSON.stringify({ next, message: `to ${next}`, score: turn }) : `${agent} ${turn}`
})

const condition = fc.constantFrom(
  "latest == 'a'",
  "outputs.a",
  "steps > 3",
  "true",
  "score > 1 or n",
  "not latest",
)

const execNode = fc.record(
  {
    id,
    type: fc.constantFrom(...NODE_TYPES),
    agent_id: fc.constantFrom("a", "b", "c", "d"),
    branches: fc.array(id, { maxLength: 3 }),
    max_iters: fc.integer({ min: 1, max: 3 }),
    loop_condition: condition,
    condition,
    strategy: fc.constantFrom("concat_text", "collect_list", "merge_dict", "stitch"),
    update: fc.constant({ n: "(n or 0) + 1" }),
    read: fc.constantFrom("n", "deep.all", "latest"),
    options: fc.array(id, { minLength: 1, maxLength: 3 }),
    decide: fc.constantFrom("'a'", "latest"),
    nodes: fc.array(id, { maxLength: 3 }),
    inputs: fc.constantFrom({ x: "goal" }, { x: "goal", y: "n" }),
    outputs: fc.constantFrom({ score: "score" }, { all: "deep.all" }),
  },
  { requiredKeys: ["id", "type"] },
)

/** Only fields of the type, so that many of them can run. */
const FIELDS: Record<string, readonly string[]> = {
  agent: ["agent_id", "inputs", "outputs"],
  fanout: ["branches"],
  loop: ["max_iters", "loop_condition"],
  conditional: ["condition"],
  merge: ["strategy", "outputs"],
  state: ["update", "read"],
  decision: ["options", "decide"],
  parallel: ["nodes"],
}

const sensible = execNode.map((node) => {
  const { id: own } = node
  const type = Object.hasOwn(FIELDS, node.type) ? node.type : "agent"
  const kept = Object.fromEntries(
    (FIELDS[type] ?? []).map((field) => [field, node[field as keyof typeof node]]),
  )
  const needed =
    type === "agent"
      ? { agent_id: "a" }
      : type === "state"
        ? { update: kept.read === undefined ? { n: "1" } : undefined }
        : type === "decision"
          ? { options: ["a", "b"], decide: "latest" }
          : {}
  const entries = Object.entries({ ...needed, ...kept }).filter(([, value]) => value !== undefined)
  return { id: own, type, ...Object.fromEntries(entries) }
})

const executor: fc.Arbitrary<Graph> = fc.record({
  nodes: fc.uniqueArray(fc.oneof({ weight: 9, arbitrary: sensible }, execNode), {
    selector: (node) => node.id,
    minLength: 1,
    maxLength: 6,
  }),
  edges: fc.array(
    fc
      .record({ from_node: id, to_node: fc.option(id), condition: fc.option(condition, { nil: undefined }) })
      .map((edge) => JSON.parse(JSON.stringify(edge)) as object),
    { maxLength: 9 },
  ),
  limits: fc.constant({ max_steps: 40 }),
  agents: fc.constant(agents),
})

const rows: fc.Arbitrary<Graph> = fc.record({
  entrypointNodeId: id,
  isConversational: fc.boolean(),
  nodes: fc
    .uniqueArray(
      fc.record({
        id,
        nodeType: fc.constantFrom(
          "AGENT",
          "AGENT",
          "AGENT",
          "TOOL_EXECUTOR",
          "HUMAN_HANDOFF",
          "FANOUT",
          "MERGE",
        ),
      }),
      { selector: (node) => node.id, minLength: 1, maxLength: 6 },
    )
    .map((nodes) => nodes.map((node) => ({ ...node, agentId: node.nodeType === "AGENT" ? "a" : null }))),
  edges: fc
    .array(
      fc.record({
        sourceNodeId: id,
        targetNodeId: fc.option(id),
        conditionValue: fc.option(fc.constantFrom(...IDS, "END")),
      }),
      { maxLength: 9 },
    )
    .map((edges) =>
      edges.map((edge) => ({
        ...edge,
        conditionType: edge.conditionValue === null ? "ALWAYS" : "CONDITIONAL",
      })),
    ),
  agents: fc.constant(agents),
})

/** Only existing nodes, so that more of them can run. */
function withKnownEnds(graph: Graph): Graph {
  const ids = new Set((graph.nodes as { id: string }[]).map((node) => node.id))
  const known = (end: unknown) => end === null || end === undefined || ids.has(String(end))
  const edges = (graph.edges as { [field: string]: unknown }[]).filter((edge) =>
    ["from_node", "to_node", "sourceNodeId", "targetNodeId"].every((field) => known(edge[field])),
  )
  return { ...graph, edges }
}

interface Drawn {
  readonly id: string
  readonly type: string
  readonly branches?: readonly string[]
  readonly options?: readonly string[]
  readonly nodes?: readonly string[]
}

/** A route through all nodes, so that all are reachable, without names of missing nodes. */
function connected(graph: Graph): Graph {
  const { edges, nodes } = withKnownEnds(graph) as { edges: readonly object[]; nodes: readonly Drawn[] }
  const types = new Map(nodes.map((node) => [node.id, node.type]))
  const drawn = nodes.map((node) => {
    const known = (ids: readonly string[]) =>
      [...new Set(ids)].filter((one) => types.has(one) && one !== node.id)
    const members = known(node.nodes ?? []).filter((one) => /agent|state/.test(types.get(one) ?? ""))
    if (node.type === "parallel") return { ...node, nodes: members.length === 0 ? [node.id] : members }
    if (node.type === "decision") return { ...node, options: known(node.options ?? []) }
    return node.branches === undefined ? node : { ...node, branches: known(node.branches) }
  })
  const way = nodes.slice(1).map((node, at) => ({ from_node: nodes[at]?.id, to_node: node.id }))
  return { ...graph, nodes: drawn, edges: [...way, ...edges] }
}

let ran = 0

async function check(graph: Graph): Promise<void> {
  const { definition, diagnostics } = tryLoad(graph, { model: () => model })
  if (definition === undefined) {
    expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true)
    // Problems that only the engine finds have no position: all of them should have been found before.
    expect(diagnostics.map(({ code }) => code)).not.toContain("GRAPH_INVALID")
    return
  }
  ran++
  const run = definition.workflow.run("Go", { clock: manualClock() })
  let result = await run.result
  for (let i = 0; i < 3 && result.status === "waiting"; i++) {
    for (const request of result.requests) await run.respond(request.id, "continue")
    result = await run.result
  }
  for (const request of result.requests) await run.respond(request.id, { end: true })
  result = await run.result
  expect(["completed", "failed", "limit", "waiting"]).toContain(result.status)
  if (result.status === "completed") expect(result.outputs).toHaveLength(1)
  if (result.status === "failed") expect(KNOWN).toContain(result.error?.code)
}

/** Failures of the graph itself: an agent chose an unknown name, or a condition does not match its values. */
const KNOWN = ["ROUTE_UNKNOWN", "NO_EDGE_HOLDS", "NO_TOOL_CALLS", "EXPRESSION_FAILED"]

test("random executor JSON runs or is reported", async () => {
  ran = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(executor, { weight: 4, arbitrary: executor.map(connected) }), check),
    { numRuns: 100 },
  )
  expect(ran).toBeGreaterThan(8)
})

test("random rows run or are reported", async () => {
  ran = 0
  await fc.assert(fc.asyncProperty(fc.oneof(rows, rows.map(withKnownEnds)), check), { numRuns: 100 })
  expect(ran).toBeGreaterThan(8)
})

test("any JSON is a graph or is refused with a reason", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (nodes, edges) => {
      const { diagnostics, definition } = tryLoad({ nodes, edges, entrypointNodeId: "a" } as Graph)
      expect(definition !== undefined || diagnostics.length > 0).toBe(true)
    }),
    { numRuns: 100 },
  )
})
