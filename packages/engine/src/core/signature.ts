/**
 * What a resumed run compares: the shape of a graph with its schemas and nested workflows. Functions' text,
 * policies (retry, timeout, limits) and the library's version are not part of it.
 */
import type { EdgeGroup, Graph, GraphSpec } from "./graph.ts"
import type { Json } from "./json.ts"
import { canonicalJson } from "./reducers.ts"
import { hash32 } from "./retry.ts"

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

/** What a graph has that another has not, and the other way round; empty for the same graph. */
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

/** For telling apart, not for secrets. */
export function digest(text: string): string {
  const half = (seed: number) => hash32(text, seed).toString(16).padStart(8, "0")
  return half(1) + half(2)
}
