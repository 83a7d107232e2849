/** Nodes that hold others together: of a definition's blocks and branches. Nobody wrote them, so nobody looks for them. */
import type { Workflow } from "@superstep/engine"

const KINDS = new Set(["parallel", "merge", "join", "end", "pass", "start", "map"])

export function hiddenIn({ program }: Workflow<never, unknown>): (node: string) => boolean {
  const hidden = new Set<string>()
  const look = (graph: typeof program.graph): void => {
    for (const { id, spec } of graph.nodes) {
      if (KINDS.has(spec.kind) || id.includes("#") || id.endsWith("?")) hidden.add(id)
      if (spec.nested !== undefined) look(spec.nested)
    }
  }
  look(program.graph)
  return (node) => hidden.has(node)
}
