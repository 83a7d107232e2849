/** The nodes that definitions make. */
import type { Node, Workflow } from "../builder/index.ts"
import type { NodeId } from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import type { Context } from "../runtime/index.ts"

// biome-ignore lint/suspicious/noExplicitAny: the plan decides which nodes are wired to which.
export type DefinitionNode = Node<any, any>

// biome-ignore lint/suspicious/noExplicitAny: the plan decides which input a workflow gets.
export type SubWorkflow = Workflow<any, any>

export function definitionNode(
  id: NodeId,
  kind: string,
  handler: (message: unknown, ctx: Context) => unknown,
  more: { readonly [name in keyof Node["definition"]]?: unknown } = {},
): DefinitionNode {
  const definition = { kind, handlers: [{ run: handler as never }], ...omitUndefined(more) }
  return Object.freeze({ id, definition: Object.freeze(definition) }) as DefinitionNode
}
