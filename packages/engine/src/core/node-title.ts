/**
 * What people see of a node: its name, or its id in words. Definitions and teams add nodes of their own around the author's, with
 * marks in their ids; people see the author's nodes only.
 */
import type { NodeSpec } from "./graph.ts"

type Shown = Pick<NodeSpec, "id" | "kind"> & { readonly name?: string | undefined }

/** Nodes that give each turn of a team to one of its members. */
const HUBS: ReadonlySet<string> = new Set(["#chair", "#desk"])

/** Kinds of nodes that do no work. */
const CONNECTING: ReadonlySet<string> = new Set(["parallel", "merge", "join", "end", "pass", "start", "map"])

/** Whole ids of added nodes, and what happens there in words, for messages that have no other place to name. */
const ADDED: ReadonlyMap<string, string> = new Map([
  ["#start", "start"],
  ["#end", "end"],
  ["#begin", "start"],
  ["#limit", "limit"],
  ["#aggregate", "all answers"],
  ...[...HUBS].map((id) => [id, "next speaker"] as const),
])

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

/** Whether the node passes the turns of a team around. The author knows it only if it has the name of an agent that decides. */
export function passesTurns({ id }: { readonly id: string }): boolean {
  return HUBS.has(id)
}

/** Whether a definition or a team added the node. Guards are for the caller, who knows whether their step has a node. */
export function isInternal(node: Shown): boolean {
  const isNamed = node.name !== undefined && passesTurns(node)
  return (ADDED.has(node.id) && !isNamed) || blockOf(node) !== undefined
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
  return name ?? ADDED.get(id) ?? idTitle(id)
}

/**
 * `#` begins the ids of nodes that a team adds. The steps that a map runs for each item are `map/*`, and theirs begin with that: they
 * are shown inside of it.
 */
function idTitle(id: string): string {
  return id
    .replace(/^#(?=[a-z]+$)/, "")
    .replace(/\/\*$/, " item")
    .replace(/^.*\/\*\//, "")
}
