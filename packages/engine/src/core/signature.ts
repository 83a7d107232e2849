/**
 * The signature that a resumed run compares: the shape of a graph with its schemas and nested workflows, without the code of
 * functions, policies (retry, timeout, limits) and the library's version. Also computes the difference of two versions of a
 * graph.
 */
import type { EdgeGroup, Graph, GraphSpec, NodeSpec } from "./graph.ts"
import type { Json } from "./json.ts"
import { canonicalJson } from "./reducers.ts"
import { hashPair } from "./retry.ts"

export interface Signature {
  /** Equal for equal graphs. */
  readonly hash: string
  /** One line per node, edge group and channel: two signatures are compared line by line. */
  readonly lines: readonly string[]
}

const known = new WeakMap<GraphSpec, Signature>()

export function signatureOf(graph: Graph): Signature {
  return specSignature(graph.spec)
}

function specSignature(spec: GraphSpec): Signature {
  let signature = known.get(spec)
  if (signature === undefined) {
    const lines = [
      `workflow ${spec.name} starts at ${spec.start}, ${spec.schedule ?? "superstep"}`,
      ...spec.nodes.map(nodeLine).sort(),
      ...spec.edges.map(edgeLine).sort(),
      ...(spec.channels ?? []).map(({ key, reducer }) => `state ${key}: ${reducer}`).sort(),
      ...(spec.outputs === undefined ? [] : [`outputs ${[...spec.outputs].sort().join(", ")}`]),
      ...(spec.onLimit === undefined ? [] : [`at a limit goes to ${spec.onLimit}`]),
    ]
    signature = { hash: digest(lines.join("\n")), lines }
    known.set(spec, signature)
  }
  return signature
}

/** The lines that only one of two graphs has; empty for the same graph. */
export function signatureDifference(before: Signature, after: Signature): string[] {
  const old = new Set(before.lines)
  const now = new Set(after.lines)
  return [
    ...before.lines.filter((line) => !now.has(line)).map((line) => `- ${line}`),
    ...after.lines.filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ]
}

function nodeLine(node: GraphSpec["nodes"][number]): string {
  const input = node.input === undefined ? "" : ` takes ${canonicalJson(node.input)}`
  const output = node.output === undefined ? "" : ` gives ${canonicalJson(node.output)}`
  const settles = node.onError === "settle" ? " settles" : ""
  const nested = node.nested === undefined ? "" : ` runs ${specSignature(node.nested.spec).hash}`
  return `${node.kind} ${node.id}${input}${output}${settles}${nested}`
}

function edgeLine(group: EdgeGroup): string {
  const { label: _, ...shape } = group as EdgeGroup & { label?: string }
  return `edge ${canonicalJson(shape as unknown as Json)}`
}

/** For identity, not for secrets. */
export function digest(text: string): string {
  const [one, other] = hashPair(text, 1, 2)
  return hexOf(one) + hexOf(other)
}

function hexOf(hash: number): string {
  return hash.toString(16).padStart(8, "0")
}

/** The options of a node that are not in its signature: no journal depends on them. */
const NODE_POLICIES = ["retry", "timeout", "concurrency", "maxVisits", "budget"] as const

/**
 * The difference of two versions of a graph, for people: lines with `-` for removed, `~` for changed and `+` for added
 * parts; nodes, edges, state and options, nested graphs included. Empty if a run continues without a policy: the graphs have
 * the same shape and differ at most in policies.
 */
export function graphDifference(before: Graph, after: Graph): string[] {
  const lines = signatureDifference(signatureOf(before), signatureOf(after))
  if (lines.length === 0) return []
  const old = new Map(before.spec.nodes.map((node) => [node.id, node]))
  const both = after.spec.nodes.flatMap((node): [NodeSpec, NodeSpec][] => {
    const found = old.get(node.id)
    return found === undefined ? [] : [[found, node]]
  })
  // A changed node is one line, not a removed and an added one.
  const changed = new Set(
    both
      .filter(([a, b]) => nodeLine(a) !== nodeLine(b))
      .flatMap(([a, b]) => [`- ${nodeLine(a)}`, `+ ${nodeLine(b)}`]),
  )
  const others = lines.filter((line) => !changed.has(line))
  return [
    ...others.filter((line) => line.startsWith("-")),
    ...both.flatMap(([a, b]) => nodeDifference(a, b)),
    ...optionLines("limits", before.spec.limits, after.spec.limits),
    ...others.filter((line) => line.startsWith("+")),
  ]
}

/** The difference of a sub-workflow, below the node that runs or calls it. */
export function nestedDifference(
  node: string,
  verb: "runs" | "calls",
  difference: {
    readonly workflow: string
    readonly lines: readonly string[]
  },
): string[] {
  const { workflow, lines } = difference
  return [`~ node ${node} ${verb} workflow ${workflow}, which changed:`, ...lines.map((line) => `  ${line}`)]
}

function nodeDifference(before: NodeSpec, after: NodeSpec): string[] {
  const name = `node ${after.id}`
  const lines = [
    ...optionLines(`${name}: kind`, before.kind, after.kind),
    ...optionLines(`${name}: takes`, before.input, after.input),
    ...optionLines(`${name}: gives`, before.output, after.output),
    ...optionLines(`${name}: onError`, before.onError, after.onError),
    ...NODE_POLICIES.flatMap((option) => optionLines(`${name}: ${option}`, before[option], after[option])),
  ]
  const [was, is] = [before.nested, after.nested]
  if (was === undefined || is === undefined) {
    return [...lines, ...optionLines(`${name}: runs workflow`, was?.name, is?.name)]
  }
  const nested = graphDifference(was, is)
  if (nested.length === 0) return lines
  return [...lines, ...nestedDifference(after.id, "runs", { workflow: is.name, lines: nested })]
}

function optionLines(what: string, before: unknown, after: unknown): string[] {
  const [was, is] = [textOf(before), textOf(after)]
  return was === is ? [] : [`~ ${what} ${was} → ${is}`]
}

function textOf(value: unknown): string {
  return value === undefined ? "(none)" : canonicalJson(value as Json)
}
