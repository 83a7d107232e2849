/** Exports for other layers of the engine, in addition to the public entry. */
export {
  type AgentData,
  agentFunctions,
  agentShape,
  modelShape,
  permissionsShape,
  planAgents,
  providerShape,
} from "./agents/index.ts"
export { checkTrust, trustedFunctions } from "./check-trust.ts"
export { DefinitionPaths, environmentOf } from "./definition.ts"
export { DocumentReport } from "./dialect-input.ts"
export { withModel } from "./load.ts"
export { link, PlanWriter } from "./plan/index.ts"
export { secretReference, splitSecrets } from "./variables.ts"
