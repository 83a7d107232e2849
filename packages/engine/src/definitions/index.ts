/** Workflows from YAML and JSON files: two dialects, one plan, the same engine. */
export {
  type Diagnostic,
  documentText,
  type PrintOptions,
  printDiagnostics,
  type SourceRange,
} from "../document/index.ts"
export {
  type AgentTextOptions,
  agentText,
  type ExpressionGuardrailOptions,
  expressionGuardrail,
  type Instructions,
} from "./agents/index.ts"
export {
  type Definition,
  type Dialect,
  type Loaded,
  type LoadOptions,
  listErrors,
  printProblems,
  TRUST_CAPABILITIES,
  type Trust,
  type TrustCapability,
} from "./definition.ts"
export type { DefinitionNode } from "./definition-node.ts"
export { jsonSchemas } from "./dialects.ts"
export { flowKey } from "./flow.ts"
// biome-ignore lint/performance/noReExportAll: the public functions of a dialect are listed once, in its nodes.
export * from "./graph/nodes/index.ts"
export { type DefinitionText, loadDefinition } from "./load.ts"
export { functionsFrom, type PlanFunction, type PlanFunctions } from "./plan/index.ts"
export { type DefinitionChange, diffAgents, diffDefinition, type FieldChange } from "./registry/diff.ts"
export {
  agentData,
  agentRow,
  agentRows,
  type DefinitionRows,
  documentOf,
  type JsonRecord,
  rowsOf,
} from "./registry/document-rows.ts"
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
} from "./registry/registry.ts"
// biome-ignore lint/performance/noReExportAll: the public functions of a dialect are listed once, in its nodes.
export * from "./steps/nodes/index.ts"
export { type StepContext, type StepOutput, stepContext } from "./steps/nodes/records.ts"
