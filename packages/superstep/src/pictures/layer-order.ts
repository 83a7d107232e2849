/** The order within dagre's layers, with the crossings taken away that dagre leaves. */
import { untangle } from "@superstep/engine/pictures"

/** As much of dagre's graph as this reads: every node has its layer and its place in it. */
export interface Layered {
  nodes(): string[]
  node(id: string): { rank?: number; order?: number }
  predecessors(id: string): string[] | undefined
  successors(id: string): string[] | undefined
}

export function orderLayers(graph: Layered, order: (graph: Layered) => void): void {
  order(graph)
  const ids = graph.nodes()
  const layers: string[][] = []
  for (const id of ids) {
    const { rank = 0, order: place = 0 } = graph.node(id)
    layers[rank] ??= []
    ;(layers[rank] as string[])[place] = id
  }
  const full = layers.filter((layer) => layer !== undefined)
  untangle(
    full,
    new Map(ids.map((id) => [id, graph.predecessors(id) ?? []])),
    new Map(ids.map((id) => [id, graph.successors(id) ?? []])),
  )
  for (const layer of full) for (const [place, id] of layer.entries()) graph.node(id).order = place
}
