/** The names of the nodes of a run, as people see them, from its graph: of an open workflow, or as the store has it. */
import type { Json, Store, Workflow } from "@superstep/engine"
import { guardedStep, isConnecting, isInternal, nodeTitle } from "@superstep/engine/core"
import { isRecord } from "../run/read-input.ts"

export interface NodeNames {
  /** Its name; the id if the graph does not have it. */
  title(node: string): string
  /** The id of the node with this name; the name itself if there is none, or more than one. */
  id(title: string): string
  /** Whether it only connects others. */
  isHidden(node: string): boolean
  /** Whether the author of the workflow did not write it. */
  isInternal(node: string): boolean
}

export const NO_NAMES: NodeNames = {
  title: (node) => node,
  id: (node) => node,
  isHidden: () => false,
  isInternal: () => false,
}

/** A task as people see it, and as the engine writes it: `node#task`. */
export function shownTask(place: string, names: NodeNames): string {
  return place.replace(/^.*(?=#)/, (node) => names.title(node))
}

export function taskPlace(shown: string, names: NodeNames): string {
  return shown.replace(/^.*(?=#)/, (title) => names.id(title))
}

interface NodeData {
  readonly id: string
  readonly kind: string
  readonly name?: string | undefined
}

export function namesOf({ program }: Workflow<never, unknown>): NodeNames {
  const nodes: NodeData[] = []
  const look = (graph: typeof program.graph): void => {
    for (const { spec } of graph.nodes) {
      nodes.push(spec)
      if (spec.nested !== undefined) look(spec.nested)
    }
  }
  look(program.graph)
  return namesIn(nodes)
}

/** Reads the graph that the run was stored with. */
export async function storedNames(
  store: Pick<Store, "graph">,
  { graph }: { readonly graph: string },
): Promise<NodeNames> {
  const nodes: NodeData[] = []
  const look = (data: Json | undefined): void => {
    if (!isRecord(data) || !Array.isArray(data.nodes)) return
    for (const node of data.nodes as readonly Json[]) {
      if (!isRecord(node)) continue
      nodes.push(node as unknown as NodeData)
      look(node.nested)
    }
  }
  look(await store.graph(graph))
  return namesIn(nodes)
}

function namesIn(nodes: readonly NodeData[]): NodeNames {
  const known = new Map(nodes.map((node) => [node.id, node]))
  // The nodes of a workflow that code called are not part of the graph: their ids say whether a team added them.
  const found = (id: string): NodeData => known.get(id) ?? { id, kind: "node" }
  const isAdded = (node: NodeData) => isInternal(node) || known.has(guardedStep(node) ?? "")
  return {
    title: (node) => nodeTitle(found(node)),
    id(title) {
      const named = nodes.filter((node) => !isAdded(node) && nodeTitle(node) === title)
      return named.length === 1 && !known.has(title) ? (named[0] as NodeData).id : title
    },
    isHidden: (node) => isConnecting(found(node)),
    isInternal: (node) => isAdded(found(node)),
  }
}
