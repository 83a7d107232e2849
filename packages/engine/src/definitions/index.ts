/** Workflows from YAML and JSON files: two dialects, one plan, the same engine. */
export {
  type Diagnostic,
  type Document,
  documentText,
  type PrintOptions,
  parseDocument,
  printDiagnostics,
  type SourceRange,
} from "../document/index.ts"
export { ExpressionError, expression } from "../expressions/index.ts"
export {
  type A2aToolOptions,
  type AgentTextOptions,
  a2aTool,
  agentText,
  type CommandHook,
  type CommandHooksOptions,
  commandHooks,
  type DocumentSearchOptions,
  documentSearch,
  type ExpressionGuardrailOptions,
  expressionGuardrail,
  type Instructions,
  type SearchedDocuments,
  type ToolHooks,
} from "./agents/index.ts"
export type { StepFunction, StepFunctionContext } from "./call-function.ts"
export {
  type Definition,
  type DefinitionNode,
  type Dialect,
  type Loaded,
  type LoadOptions,
  listErrors,
  printProblems,
  TRUST_CAPABILITIES,
  type Trust,
  type TrustCapability,
} from "./definition.ts"
export { flowKey } from "./flow.ts"
// biome-ignore lint/performance/noReExportAll: the public functions of a dialect are listed once, in its nodes.
export * from "./graph/nodes/index.ts"
export { type DefinitionText, jsonSchemas, loadDefinition } from "./load.ts"
export { functionsFrom, type PlanFunction, type PlanFunctions } from "./plan/index.ts"
export { withFileModels } from "./registry/agent-models.ts"
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
  type DefinitionChange,
  diffAgents,
  diffDefinition,
  exportDefinition,
  type FieldChange,
  independentAgents,
  type Outcome,
  type Removed,
  type RemoveOptions,
  removeAgent,
  removeDefinition,
  runnableDefinition,
} from "./registry/registry.ts"
// biome-ignore lint/performance/noReExportAll: the public functions of a dialect are listed once, in its nodes.
export * from "./steps/nodes/index.ts"
export { type StepContext, type StepOutput, stepContext } from "./steps/nodes/view.ts"
