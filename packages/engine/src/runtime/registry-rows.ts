/** What a registry takes: ids that tell rows apart, texts that any database holds, plain JSON. */
import { type Json, jsonProblem, printJsonProblem, SuperstepError } from "../core/index.ts"
import { isPlainText } from "../text/index.ts"
import type { AgentRow, EdgeRow, NodeRow, RegistryChange, StoredDefinition, WorkflowRow } from "./registry.ts"

type AnyRow = AgentRow | WorkflowRow | NodeRow | EdgeRow

/** For the `write` of a registry: throws DEFINITION_INVALID before anything is changed. */
export function checkRegistryChange(change: RegistryChange): void {
  for (const row of change.agents ?? []) checkRow("Agent", row)
  checkOnce(change.agents ?? [], (id) => `Agent "${id}" is given twice`)
  for (const definition of change.definitions ?? []) checkDefinition(definition)
  const workflows = (change.definitions ?? []).map(({ workflow }) => workflow)
  checkOnce(workflows, (id) => `Workflow "${id}" is given twice`)
}

function checkDefinition({ workflow, nodes, edges }: StoredDefinition): void {
  checkRow("Workflow", workflow)
  for (const [kind, rows] of [
    ["Node", nodes],
    ["Edge", edges],
  ] as const) {
    for (const row of rows) {
      checkRow(kind, row)
      if (row.workflowId === workflow.id) continue
      throw definitionInvalid(
        `${kind} "${row.id}" is of workflow "${row.workflowId}", not of "${workflow.id}"`,
      )
    }
    checkOnce(rows, (id) => `${kind} "${id}" of workflow "${workflow.id}" is given twice`)
  }
}

function checkRow(kind: string, row: AnyRow): void {
  if (row.id === "") throw definitionInvalid(`${kind} has an empty id`)
  for (const [field, value] of Object.entries(row) as [string, Json][]) {
    if (field === "config" || field === "tools") {
      const problem = jsonProblem(value)
      if (problem === undefined) continue
      throw definitionInvalid(`${kind} "${row.id}": ${field} cannot be stored: ${printJsonProblem(problem)}`)
    }
    if (typeof value === "string" && !isPlainText(value)) {
      throw definitionInvalid(
        `${kind} ${JSON.stringify(row.id)}: ${field} has a sign that no text may have (NUL, or half a character)`,
      )
    }
  }
}

function checkOnce(rows: readonly { readonly id: string }[], message: (id: string) => string): void {
  const seen = new Set<string>()
  for (const { id } of rows) {
    if (seen.has(id)) throw definitionInvalid(message(id))
    seen.add(id)
  }
}

export function definitionInvalid(message: string): SuperstepError {
  return new SuperstepError("DEFINITION_INVALID", `${message}.`)
}
