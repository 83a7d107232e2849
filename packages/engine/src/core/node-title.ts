/**
 * What people see of a node: its name, or its id in words. Definitions and teams add nodes of their own around the author's, with
 * marks in their ids; people see the author's nodes only.
 */
import type { NodeSpec } from "./graph.ts"

type Shown = Pick<NodeSpec, "id" | "kind"> & { readonly name?: string | undefined }

/** Kinds of nodes that do no work. */
const CONNECTING: ReadonlySet<string> = new Set(["parallel", "merge", "join", "end", "pass", "start", "map"])

/** Whole ids of added nodes: where graphs and teams begin and end. */
const ENDS: ReadonlySet<string> = new Set(["#start", "#end", "#begin", "#limit", "#aggregate"])

/** The author's step that an added node belongs to: its end, one of its branches, or the end of its box. */
function blockOf({ id, kind }: Shown): string | undefined {
  return kind === "merge" || kind === "end" ? /^(.+)#(?:end|out|\d+)$/.exec(id)?.[1] : undefined
}

/** The step that a node guards with its `when`. A `goto` has no node but its guard. */
export function guardedStep({ id, kind, name }: Shown): string | undefined {
  return kind === "condition" && name !== undefined && id === `${name.replace(/^when /, "")}?`
    ? id.slice(0, -1)
    : undefined
}

/** Whether a definition or a team added the node. Guards are for the caller, who knows whether their step has a node. */
export function isInternal(node: Shown): boolean {
  return ENDS.has(node.id) || blockOf(node) !== undefined
}

/** Whether a node only connects others: it is internal, guards a step, or opens or closes a block. */
export function isConnecting(node: Shown): boolean {
  return CONNECTING.has(node.kind) || isInternal(node) || guardedStep(node) !== undefined
}

/** Its name. An added node has that of the step that it belongs to. */
export function nodeTitle(node: Shown): string {
  const { id, name } = node
  const step = blockOf(node) ?? guardedStep(node)
  if (step !== undefined) return idTitle(step)
  return name ?? idTitle(id)
}

/** `#` begins the ids of nodes that a team adds; `/*` ends that of the steps that a map runs for each item. */
function idTitle(id: string): string {
  return id.replace(/^#(?=[a-z]+$)/, "").replace(/\/\*$/, " item")
}
