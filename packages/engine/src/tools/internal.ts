/** Internals that other layers of the engine use, besides the public entry. */
export { approvalVerdict } from "./approval.ts"
export { callTool, callWith, maskError, readArgs, type ToolOutcome, toJson } from "./call-tool.ts"
export { contentParts, readPart } from "./file-part.ts"
export { addressKind, hostOf } from "./http/network-rules.ts"
export { jsonSchema } from "./json-schema.ts"
export { schemaProblems } from "./schema-limits.ts"
export { Masking, maskArgs } from "./secrets.ts"
