/** A definition for an editor: its problems with their positions, its graph as data to draw, and what two versions differ in. */
import { type Graph, graphData } from "@superstep/engine/core"
import type { Diagnostic, Document, Loaded } from "@superstep/engine/definitions"
import { diagramOf } from "@superstep/engine/diagrams"

export function problemsOf({ diagnostics }: Pick<Loaded, "diagnostics">) {
  return diagnostics.map(({ severity, code, message, place, suggestion }: Diagnostic) => ({
    severity,
    code,
    message,
    ...(place && { line: place.line, column: place.column, length: place.length }),
    ...(suggestion !== undefined && { suggestion }),
  }))
}

/** As graphs of workflows and runs are sent. With `text`, nodes have the position of what they are written as. */
export async function graphView(graph: Graph, text?: string) {
  const positions = text === undefined ? new Map<string, never>() : await positionsIn(text)
  const { nodes, ...data } = graphData(graph).data as unknown as { readonly nodes: readonly { id: string }[] }
  return {
    ...data,
    nodes: nodes.map((node) => ({ ...node, ...positions.get(node.id) })),
    diagram: diagramOf(graph),
  }
}

type Json = Document["data"]
interface TextPosition {
  readonly line: number
  readonly column: number
}

/** By the id of a step or node, or the name of the agent that a step without an id runs; the first counts. */
async function positionsIn(text: string): Promise<ReadonlyMap<string, TextPosition>> {
  const { parseDocument } = await import("@superstep/engine/definitions")
  const positions = new Map<string, TextPosition>()
  const { document } = parseDocument(text, "definition")
  if (document === undefined) return positions
  const look = (value: Json | undefined, path: readonly (string | number)[]): void => {
    if (Array.isArray(value)) {
      for (const [i, one] of value.entries()) look(one, [...path, i])
      return
    }
    if (typeof value !== "object" || value === null) return
    const { id, name } = value as { readonly [key: string]: Json }
    const isPart = typeof path.at(-1) === "number"
    for (const key of isPart ? [id, name] : []) {
      if (typeof key !== "string" || positions.has(key)) continue
      const { line, column } = document.place(path)
      positions.set(key, { line, column })
      break
    }
    for (const [key, one] of Object.entries(value)) look(one as Json, [...path, key])
  }
  const { workflow, nodes } = (document.data ?? {}) as { readonly [key: string]: Json }
  look(workflow, ["workflow"])
  look(nodes, ["nodes"])
  return positions
}

export interface TextPart {
  readonly kind: "same" | "removed" | "added"
  readonly lines: readonly string[]
}

/** Beyond this many cells, the texts are compared as one block: an editor's document is far smaller. */
const MAX_CELLS = 4_000_000

/** Lines that were removed and added, in order: the longest common subsequence stays. */
export function textDifference(before: string, after: string): readonly TextPart[] {
  const a = before.split("\n")
  const b = after.split("\n")
  let first = 0
  while (first < a.length && first < b.length && a[first] === b[first]) first++
  let last = 0
  while (last < a.length - first && last < b.length - first && a.at(-1 - last) === b.at(-1 - last)) last++
  const [was, is] = [a.slice(first, a.length - last), b.slice(first, b.length - last)]
  const parts: { kind: TextPart["kind"]; lines: string[] }[] = []
  const push = (kind: TextPart["kind"], line: string) => {
    const part = parts.at(-1)
    if (part?.kind === kind) part.lines.push(line)
    else parts.push({ kind, lines: [line] })
  }
  for (const line of a.slice(0, first)) push("same", line)
  for (const [kind, line] of middle(was, is)) push(kind, line)
  for (const line of last === 0 ? [] : a.slice(-last)) push("same", line)
  return parts
}

function* middle(a: readonly string[], b: readonly string[]): Generator<readonly [TextPart["kind"], string]> {
  const width = b.length + 1
  if (a.length * b.length > MAX_CELLS) {
    for (const line of a) yield ["removed", line]
    for (const line of b) yield ["added", line]
    return
  }
  /** Lengths of the longest common subsequences of the rests of both. */
  const lengths = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      yield ["same", a[i] as string]
      i++
      j++
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      yield ["removed", a[i++] as string]
    } else yield ["added", b[j++] as string]
  }
}
