/** What people see of the nodes of a run where tasks are listed: the author's nodes, by their names. */
import { isInternal, nodeTitle } from "@superstep/engine/core"
import type { RunEvent } from "@superstep/engine/protocol"
import { createContext, useContext } from "react"
import { nodeOf } from "./event-words.ts"
import { authorGraph } from "./graph/author-graph.ts"
import type { GraphModel } from "./graph/graph-model.ts"
import { nodeKey, nodeName, nodePath } from "./keys.ts"

interface Named {
  readonly title: string
  readonly isShown: boolean
}

export class NodeNames {
  readonly #known = new Map<string, Named>()

  constructor(model?: GraphModel) {
    if (model !== undefined) this.#add(model, "")
  }

  #add(model: GraphModel, path: string): void {
    const shown = new Set(authorGraph(model).nodes)
    for (const node of model.nodes) {
      const key = nodeKey(path, node.id)
      this.#known.set(key, { title: node.title, isShown: shown.has(node) && !isInternal(node as Spec) })
      if (node.nested !== undefined) this.#add(node.nested, key)
    }
  }

  /** The name of a node, from its key. A workflow that was called by code is not part of the graph: its nodes have their ids. */
  title(key: string): string {
    return this.#known.get(key)?.title ?? nodeTitle(specOf(nodeName(key)))
  }

  /** False for nodes that a definition or a team added. */
  isShown(key: string): boolean {
    return this.#known.get(key)?.isShown ?? !isInternal(specOf(nodeName(key)))
  }

  /** The name of the node that an event belongs to, if any. */
  ofEvent(event: RunEvent): string | undefined {
    const id = nodeOf(event)
    return id === undefined ? undefined : this.title(nodeKey(nodePath(event.path), id))
  }
}

/** The names of the run on the screen. */
export const NamesContext = createContext(new NodeNames())

export function useNames(): NodeNames {
  return useContext(NamesContext)
}

type Spec = Parameters<typeof nodeTitle>[0]

/** A node of which only the id is known. */
function specOf(id: string): Spec {
  return { id, kind: "node" } as Spec
}
