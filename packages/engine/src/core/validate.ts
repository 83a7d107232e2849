/** Checks every rule for a graph at once, so that a user can fix all problems together. */
import {
  adjacency,
  allHops,
  cycles,
  entries,
  groupBy,
  hopKey,
  outGroups,
  reachable,
  unguardedHops,
} from "./analysis.ts"
import { SuperstepError } from "./errors.ts"
import {
  type EdgeGroup,
  type FanInEdge,
  type GraphSpec,
  type Hop,
  hopsOf,
  joinId,
  type NodeSpec,
} from "./graph.ts"
import type { NodeId } from "./ids.ts"
import { JoinChecks } from "./join-checks.ts"
import { type Json, printJsonProblem } from "./json.ts"
import { jsonProblem } from "./own-json.ts"
import { writeProblem } from "./reducers.ts"
import { schemaMismatch } from "./schemas.ts"

export type ProblemCode =
  | "EMPTY_ID"
  | "DUPLICATE_NODE"
  | "DUPLICATE_EDGE"
  | "DUPLICATE_CHANNEL"
  | "UNKNOWN_NODE"
  | "UNREACHABLE_NODE"
  | "START_MISSING"
  | "FAN_OUT_TOO_SMALL"
  | "FAN_IN_TOO_SMALL"
  | "SWITCH_DEFAULT"
  | "QUORUM_OUT_OF_RANGE"
  | "MAP_WORKER_NOT_ALONE"
  | "INCOMPATIBLE_SCHEMAS"
  | "JOIN_CANNOT_COMPLETE"
  | "CYCLE_WITHOUT_LIMIT"
  | "INVALID_NUMBER"
  | "INVALID_OPTION"
  | "SELF_LOOP"
  | "DEAD_END"
  | "MAY_GO_NOWHERE"
  | "JOIN_MAY_STARVE"
  | "SCHEMA_NOT_ENFORCED"

export interface Problem {
  readonly code: ProblemCode
  readonly message: string
  /** The affected nodes, the cause first. */
  readonly nodes: readonly NodeId[]
}

export interface Findings {
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

export class GraphInvalidError extends SuperstepError {
  readonly problems: readonly Problem[]

  constructor(name: string, problems: readonly Problem[]) {
    const lines = problems.map((problem) => `\n  ${problem.code}: ${problem.message}`)
    super("GRAPH_INVALID", `Workflow "${name}" is not valid:${lines.join("")}`)
    this.name = "GraphInvalidError"
    this.problems = problems
  }
}

export function validateGraph(spec: GraphSpec): Findings {
  const problems = [
    ...nodeProblems(spec),
    ...referenceProblems(spec),
    ...optionProblems(spec),
    ...sizeProblems(spec),
    ...duplicateEdges(spec),
    ...mapProblems(spec),
    ...schemaProblems(spec),
  ]
  // The next checks walk the graph, which requires that every name identifies one node.
  if (
    problems.some(({ code }) => code === "UNKNOWN_NODE" || code === "START_MISSING" || code === "EMPTY_ID")
  ) {
    return { problems, warnings: [] }
  }
  const joins = spec.edges.some(({ kind }) => kind === "fan-in") ? new JoinChecks(spec) : undefined
  problems.push(...unreachableNodes(spec), ...endlessCycles(spec))
  if (joins !== undefined) problems.push(...starvingJoins(spec, joins))
  return {
    problems,
    warnings: [
      ...selfLoops(spec),
      ...deadEnds(spec),
      ...lonelyConditions(spec),
      ...(joins === undefined ? [] : hungryJoins(spec, joins)),
    ],
  }
}

function* nodeProblems(spec: GraphSpec): Generator<Problem> {
  const seen = new Set<NodeId>()
  if (spec.name.trim() === "") yield problem("EMPTY_ID", "the workflow has an empty name", [])
  for (const node of spec.nodes) {
    if (node.id.trim() === "") yield problem("EMPTY_ID", "a node has an empty id", [node.id])
    if (seen.has(node.id)) {
      yield problem("DUPLICATE_NODE", `two different nodes have the id "${node.id}"; rename one`, [node.id])
    }
    seen.add(node.id)
    yield* numberProblems(node)
  }
  const keys = new Set<string>()
  for (const { key } of spec.channels ?? []) {
    if (keys.has(key)) yield problem("DUPLICATE_CHANNEL", `the state has two channels "${key}"`, [])
    keys.add(key)
  }
  yield* invalidNumbers("limits.", [], COUNT, spec.limits)
}

function* numberProblems({
  id,
  concurrency,
  maxVisits,
  timeout,
  retry,
  budget,
}: NodeSpec): Generator<Problem> {
  // Most nodes set none of them.
  if ([concurrency, maxVisits, timeout, retry, budget].every((one) => one === undefined)) return
  const node = `node "${id}": `
  const { attempts, delay, maxDelay, jitter } = retry ?? {}
  const { allowUnpriced: _, ...amounts } = budget ?? {}
  yield* invalidNumbers(node, [id], COUNT, { concurrency, maxVisits, "retry.attempts": attempts })
  yield* invalidNumbers(`${node}budget.`, [id], AMOUNT, amounts)
  yield* invalidNumbers(node, [id], SPAN, { timeout, "retry.delay": delay, "retry.maxDelay": maxDelay })
  yield* invalidNumbers(node, [id], SHARE, { "retry.jitter": jitter })
}

const isAmount = (value: number) => Number.isFinite(value) && value >= 0
const isCount = (value: number) => Number.isInteger(value) && value >= 1
const isShare = (value: number) => value >= 0 && value <= 1
const COUNT = { must: "be a whole number of at least 1", holds: isCount }
const AMOUNT = { must: "be a number of at least 0", holds: isAmount }
const SPAN = { must: "be milliseconds", holds: isAmount }
const SHARE = { must: "lie between 0 and 1", holds: isShare }

function* invalidNumbers(
  owner: string,
  nodes: readonly NodeId[],
  { must, holds }: typeof COUNT,
  numbers: object = {},
): Generator<Problem> {
  for (const [name, value] of Object.entries(numbers)) {
    if (value === undefined || holds(value)) continue
    yield problem("INVALID_NUMBER", `${owner}${name} must ${must}, not ${value}`, nodes)
  }
}

function* optionProblems(spec: GraphSpec): Generator<Problem> {
  const { schedule = "superstep" } = spec
  if (schedule !== "superstep" && schedule !== "flow") {
    yield problem("INVALID_OPTION", `schedule must be "superstep" or "flow", not "${schedule}"`, [])
  }
  for (const { key, reducer, initial } of spec.channels ?? []) {
    if (initial === undefined) continue
    const json = jsonProblem(initial)
    const misfit = json === undefined ? writeProblem(reducer, initial) : printJsonProblem(json)
    if (misfit !== undefined)
      yield problem("INVALID_OPTION", `the initial value of channel "${key}": ${misfit}`, [])
  }
  for (const group of spec.edges) yield* edgeNumbers(group)
}

function* edgeNumbers(group: EdgeGroup): Generator<Problem> {
  const from = group.kind === "fan-in" ? group.to : group.from
  const edge = `an edge of "${from}": `
  if (group.kind === "single") yield* invalidNumbers(edge, [from], COUNT, { max: group.max })
  if (group.kind === "switch") {
    for (const { max } of group.cases) yield* invalidNumbers(edge, [from], COUNT, { max })
  }
  if (group.kind === "map") {
    yield* invalidNumbers(edge, [from], COUNT, { concurrency: group.concurrency })
  }
  if (group.kind === "fan-in") {
    yield* invalidNumbers(`the fan-in of "${from}": `, [from], SPAN, { timeout: group.timeout })
  }
}

function* referenceProblems(spec: GraphSpec): Generator<Problem> {
  const known = new Set(spec.nodes.map((node) => node.id))
  if (spec.start === undefined) {
    yield problem("START_MISSING", "no start node; call .start(node), or begin with .chain(...)", [])
  } else if (!known.has(spec.start)) {
    yield problem("START_MISSING", `the start node "${spec.start}" is not a node of the workflow`, [
      spec.start,
    ])
  }
  const mentioned: [NodeId, string][] = allHops(spec).flatMap(({ from, to, group }): [NodeId, string][] => [
    [from, `the ${group.kind} edge "${from}" -> "${to}"`],
    [to, `the ${group.kind} edge "${from}" -> "${to}"`],
  ])
  for (const id of spec.outputs ?? []) mentioned.push([id, "the list of outputs"])
  if (spec.onLimit !== undefined) mentioned.push([spec.onLimit, "the limit route"])
  const reported = new Set<NodeId>()
  for (const [id, where] of mentioned) {
    if (known.has(id) || reported.has(id)) continue
    reported.add(id)
    yield problem("UNKNOWN_NODE", `${where} names "${id}", which is not a node of the workflow`, [id])
  }
}

function* sizeProblems(spec: GraphSpec): Generator<Problem> {
  for (const group of spec.edges) {
    if (group.kind === "fan-out" && group.to.length < 2) {
      const text = `the fan-out of "${group.from}" has ${group.to.length} targets; it needs at least 2 (else use .edge)`
      yield problem("FAN_OUT_TOO_SMALL", text, [group.from])
    }
    if (group.kind === "fan-in") yield* fanInProblems(group)
    if (group.kind === "switch") {
      const defaults = group.cases.filter((one) => !one.conditional).length
      if (defaults !== 1) {
        const text = `the switch after "${group.from}" has ${defaults} defaults; it needs exactly one`
        yield problem("SWITCH_DEFAULT", text, [group.from])
      }
    }
  }
}

function* fanInProblems(group: FanInEdge): Generator<Problem> {
  const sources = group.from.length
  if (sources < 2) {
    const text = `the fan-in of "${group.to}" has ${sources} sources; it needs at least 2 (else use .edge)`
    yield problem("FAN_IN_TOO_SMALL", text, [group.to])
  }
  if (group.join.kind !== "quorum") return
  const { count } = group.join
  if (Number.isInteger(count) && count >= 1 && count <= sources) return
  const text = `the fan-in of "${group.to}" waits for ${count} of ${sources} sources; choose 1 to ${sources}`
  yield problem("QUORUM_OUT_OF_RANGE", text, [group.to])
}

function* duplicateEdges(spec: GraphSpec): Generator<Problem> {
  const seen = new Set<string>()
  for (const group of spec.edges) {
    for (const key of new Set(edgeKeys(group))) {
      if (seen.has(key)) yield duplicateEdge(group)
      seen.add(key)
    }
    if (group.kind === "fan-out" && new Set(group.to).size < group.to.length) yield duplicateEdge(group)
    if (group.kind === "fan-in" && new Set(group.from).size < group.from.length) yield duplicateEdge(group)
  }
}

/** Two groups that would deliver the same message to the same node share a key. */
function edgeKeys(group: EdgeGroup): string[] {
  switch (group.kind) {
    case "single":
    case "fan-out":
    case "switch":
      return hopsOf(group).map(({ from, to }) => hopKey(from, to))
    case "fan-in":
      return [`fan-in ${joinId(group)}`]
    case "map":
      return [`map ${hopKey(group.from, group.worker)}`]
    case "error":
      return [`error ${group.from}`]
  }
}

function duplicateEdge(group: EdgeGroup): Problem {
  const from = group.kind === "fan-in" ? group.from.join(", ") : group.from
  const to = hopsOf(group).map((hop) => hop.to)
  const text = `the ${group.kind} edge "${from}" -> "${[...new Set(to)].join(", ")}" repeats an edge; a message would arrive twice`
  return problem("DUPLICATE_EDGE", text, to)
}

/** A worker's results belong to its map: it has no other outgoing edges, and no other map. */
function* mapProblems(spec: GraphSpec): Generator<Problem> {
  if (!spec.edges.some(({ kind }) => kind === "map")) return
  const uses = new Map<NodeId, number>()
  for (const group of spec.edges) {
    if (group.kind === "error") continue
    const ends =
      group.kind === "map" ? [group.from, group.worker] : hopsOf(group).flatMap(({ from, to }) => [from, to])
    for (const id of new Set(ends)) uses.set(id, (uses.get(id) ?? 0) + 1)
  }
  for (const map of spec.edges) {
    if (map.kind !== "map" || uses.get(map.worker) === 1) continue
    const text = `"${map.worker}" works for the map of "${map.from}", so it cannot have other edges; use a separate node for them`
    yield problem("MAP_WORKER_NOT_ALONE", text, [map.worker])
  }
}

function* schemaProblems(spec: GraphSpec): Generator<Problem> {
  if (!spec.nodes.some(({ input }) => input !== undefined)) return
  const nodes = new Map(spec.nodes.map((node) => [node.id, node]))
  for (const hop of allHops(spec)) {
    if (hop.group.kind === "error") continue
    const from = nodes.get(hop.from)
    const to = nodes.get(hop.to)
    if (from?.output === undefined || to?.input === undefined) continue
    const sent = schemaAcross(from.output, from, hop)
    const mismatches = to.input.map((accepted) => schemaMismatch(sent, accepted))
    if (sent === undefined || mismatches.some((mismatch) => mismatch === undefined)) continue
    const text = `"${from.id}" cannot feed "${to.id}": ${mismatches[0]}`
    yield problem("INCOMPATIBLE_SCHEMAS", text, [from.id, to.id])
  }
}

/** The schema of what arrives over the hop. */
function schemaAcross(output: Json, from: NodeSpec, { group, to }: Hop): Json | undefined {
  const sent = from.onError === "settle" ? { type: "object" } : output
  if (group.kind === "fan-in")
    return { type: "array", items: group.join.kind === "settle" ? { type: "object" } : sent }
  if (group.kind !== "map") return sent
  if (to === group.to) return { type: "array", items: group.settle ? { type: "object" } : sent }
  return typeof sent === "object" && sent !== null && "items" in sent ? sent.items : undefined
}

function* unreachableNodes(spec: GraphSpec): Generator<Problem> {
  const seen = reachable(adjacency(allHops(spec)), entries(spec))
  for (const { id } of spec.nodes) {
    if (seen.has(id)) continue
    yield problem("UNREACHABLE_NODE", `no path leads from the start to "${id}"; connect it or remove it`, [
      id,
    ])
  }
}

function* endlessCycles(spec: GraphSpec): Generator<Problem> {
  if (spec.limits?.loops !== undefined || spec.limits?.visits !== undefined) return
  const ids = spec.nodes.map((node) => node.id)
  for (const cycle of cycles(ids, adjacency(unguardedHops(spec)))) {
    const path = [...cycle, cycle[0]].map((id) => `"${id}"`).join(" -> ")
    const text = `the cycle ${path} has no condition and no limit; add \`when\` or \`max\` to one of its edges`
    yield problem("CYCLE_WITHOUT_LIMIT", text, cycle)
  }
}

function* starvingJoins(spec: GraphSpec, joins: JoinChecks): Generator<Problem> {
  for (const group of spec.edges) {
    if (group.kind !== "fan-in") continue
    const reason = joins.starvation(group)
    if (reason === undefined) continue
    yield problem("JOIN_CANNOT_COMPLETE", `the fan-in of "${group.to}" can never complete: ${reason}`, [
      group.to,
    ])
  }
}

function* selfLoops(spec: GraphSpec): Generator<Problem> {
  for (const { from, to } of allHops(spec)) {
    if (from === to) yield problem("SELF_LOOP", `"${from}" has an edge to itself`, [from])
  }
}

/** With declared outputs, the result of a node that is not one of them and has no outgoing edge is lost. */
function* deadEnds(spec: GraphSpec): Generator<Problem> {
  if (spec.outputs === undefined) return
  const useful = new Set<NodeId>(spec.outputs)
  for (const group of spec.edges) {
    for (const hop of hopsOf(group)) if (group.kind !== "error") useful.add(hop.from)
    if (group.kind === "map") useful.add(group.worker)
  }
  for (const { id } of spec.nodes) {
    if (useful.has(id)) continue
    yield problem(
      "DEAD_END",
      `the result of "${id}" goes nowhere: it has no outgoing edge and is not an output`,
      [id],
    )
  }
}

/** A message that does not match the only condition goes nowhere. */
function* lonelyConditions(spec: GraphSpec): Generator<Problem> {
  const out = groupBy(outGroups(spec))
  const outputs = new Set(spec.outputs)
  for (const [id, [only, ...others]] of out) {
    if (only?.kind !== "single" || !only.conditional || others.length > 0 || outputs.has(id)) continue
    const text = `the only outgoing edge of "${id}" has a condition: if it does not hold, the result of "${id}" goes nowhere; use .switch with a default, add another edge, or list it with .output`
    yield problem("MAY_GO_NOWHERE", text, [id, only.to])
  }
}

/** A condition can leave a join with only some of its messages: the run then ends without firing it. */
function* hungryJoins(spec: GraphSpec, joins: JoinChecks): Generator<Problem> {
  for (const group of spec.edges) {
    if (group.kind !== "fan-in" || group.timeout !== undefined || joins.starvation(group) !== undefined)
      continue
    const guard = joins.hunger(group)
    if (guard === undefined) continue
    const text = `the fan-in of "${group.to}" does not fire ${guard}: the messages that it received before are not delivered; join with settle(), or set a timeout`
    yield problem("JOIN_MAY_STARVE", text, [group.to])
  }
}

function problem(code: ProblemCode, message: string, nodes: readonly NodeId[]): Problem {
  return { code, message, nodes }
}
