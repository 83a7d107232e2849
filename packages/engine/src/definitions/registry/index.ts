/** Definitions in a store: rows whose columns are the fields of their documents. */

export { type DefinitionChange, diffAgents, diffDefinition, type FieldChange } from "./diff.ts"
export { agentData, agentRow, agentRows, type DefinitionRows, documentOf, rowsOf } from "./document-rows.ts"
export type { JsonRecord } from "./record-parts.ts"
export {
  type Applied,
  type AppliedAgent,
  type ApplyOptions,
  applyAgents,
  applyDefinition,
  exportDefinition,
  type Outcome,
  type Removed,
  type RemoveOptions,
  removeAgent,
  removeDefinition,
  runnableDefinition,
} from "./registry.ts"
