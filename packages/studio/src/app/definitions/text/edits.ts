/**
 * Changes of a graph as changes of its text: pure functions from text and an edit to the text after it. What the text cannot
 * express is answered with a problem in words. The loader checks the result, as it checks what somebody types.
 */
import type { Edit } from "./edit.ts"
import { editGraph } from "./graph-edits.ts"
import { idProblem, type Outline, outlineOf } from "./outline.ts"
import { fieldOf, listOf, mapOf, type Splice, spliced, textOf } from "./source.ts"
import { editSteps } from "./steps-edits.ts"

export type Edited = { readonly text: string } | { readonly problem: string }

/** What can be added to a definition from the graph. Every one is valid without more fields. */
export const ADDABLE: Readonly<
  Record<Outline["dialect"], readonly (readonly [type: string, label: string])[]>
> = {
  steps: [
    ["agent", "Agent"],
    ["human", "Question to a person"],
    ["condition", "Condition"],
    ["parallel", "Parallel block"],
    ["wait", "Wait for a signal"],
  ],
  graph: [
    ["agent", "Agent"],
    ["human_handoff", "Question to a person"],
    ["tool_executor", "Tool executor"],
    ["wait", "Wait for a signal"],
  ],
}

export function edited(text: string, edit: Edit): Edited {
  const outline = outlineOf(text)
  if (outline === undefined) return { problem: "The text has no graph that can be changed." }
  const name = edit.kind === "add" ? edit.id : edit.kind === "rename" ? edit.to : undefined
  if (name !== undefined) {
    const problem = idProblem(name) ?? (isTaken(outline, edit, name) ? `There is a node ${name}.` : undefined)
    if (problem !== undefined) return { problem }
  }
  const made = outline.dialect === "steps" ? editSteps(outline, edit) : editGraph(outline, edit)
  if (typeof made === "string") return { problem: made }
  const agent = edit.kind === "add" && edit.type === "agent" ? (edit.agent ?? edit.id) : undefined
  const splices = agent === undefined ? made : [...made, ...newAgent(outline, agent)]
  return { text: spliced(text, splices) }
}

function isTaken({ nodes }: Outline, edit: Edit, name: string): boolean {
  // Ids are unique within their block.
  const own = edit.kind === "rename" ? edit.node : edit.kind === "add" ? (edit.node ?? "") : ""
  const isInside = edit.kind === "add" && edit.place === "inside"
  const block = isInside ? `${own}/` : own.slice(0, own.lastIndexOf("/") + 1)
  return nodes.some(({ id }) => id === block + name)
}

/** The definition of an agent that the file does not have. It has the model of the first one. */
function newAgent({ source, agents }: Outline, name: string): readonly Splice[] {
  if (agents.includes(name) || source.root === undefined) return []
  const list = fieldOf(source.root, "agents")
  const rows = listOf(list)
  const map = mapOf(list)
  const [first] = rows?.items ?? map?.items.map(({ value }) => value) ?? []
  const fields = { model: textOf(first, "model") ?? "offline", instruction: `You are ${name}.` }
  if (rows !== undefined && rows.items.length > 0) {
    return [source.insertItem(rows, rows.items.length - 1, { id: name, ...fields })]
  }
  if (map !== undefined && (map.items.length > 0 || map.flow === true)) {
    return [source.insertField(map, name, fields)]
  }
  return [source.setField(source.root, "agents", { [name]: fields })]
}
