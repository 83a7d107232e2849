/** Definitions in a store: as rows, whose columns are the fields of the documents that they came from. */
export { agentData, agentRow, agentRows } from "./agent-rows.ts"
export {
  type Applied,
  type AppliedAgent,
  applyAgents,
  applyDefinition,
  type Outcome,
} from "./apply.ts"
export { type DefinitionChange, diffAgents, diffDefinition, type FieldChange } from "./diff.ts"
export { type DefinitionRows, documentOf, rowsOf } from "./document-rows.ts"
export { exportDefinition, runnableDefinition } from "./export.ts"
export type { JsonRecord } from "./record-parts.ts"
export { type Removed, type RemoveOptions, removeAgent, removeDefinition } from "./remove.ts"
