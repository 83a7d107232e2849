/** Tools: what agents can do. */

export { isSecretName } from "../text/index.ts"
export { type ApiToolOptions, api } from "./api.ts"
export type { ApiAnswer, ApiOptions } from "./api-call.ts"
export { type ApprovalCall, approvalVerdict, checkApproval } from "./approval.ts"
export { type CallToolOptions, callTool, readArgs, type ToolOutcome } from "./call-tool.ts"
export { type CheckedFetchOptions, checkedFetch } from "./checked-fetch.ts"
export { type ToolOptions, tool } from "./define-tool.ts"
export { fillTemplate } from "./env-template.ts"
export { type FetchedPage, type FetchOptions, webFetch } from "./fetch.ts"
export { type FilesystemOptions, filesystem } from "./filesystem.ts"
export type { Resolve } from "./guarded-hop.ts"
export type { RequestLimits } from "./guarded-request.ts"
export { htmlToText, type PageText } from "./html-text.ts"
export { checkJsonSchema, jsonSchema } from "./json-schema.ts"
export { type MemoryOptions, memory } from "./memory.ts"
export { memoryFile } from "./memory-file.ts"
export type { Memory, MemoryStore } from "./memory-store.ts"
export { type NetworkRules, namedPrivate } from "./network-rules.ts"
export { type OpenApiOptions, openapi } from "./openapi.ts"
export type { ApiAuth } from "./openapi-auth.ts"
export { type PageReader, type PageReaderOptions, pageReader, type WebPage } from "./page-reader.ts"
export { matchesWord } from "./path-glob.ts"
export { withoutUncheckedPatterns } from "./schema-limits.ts"
export { type ScriptOptions, type ScriptTool, script } from "./script.ts"
export { headerSecrets, Masking, maskArgs } from "./secrets.ts"
export { type ShellOptions, type ShellResult, shell } from "./shell.ts"
export { think } from "./think.ts"
export { pause, type TimeLimit, untilAborted, withTimeLimit } from "./time-limit.ts"
export { type TodoItem, type TodoOptions, type TodoStatus, todo } from "./todo.ts"
export type {
  Approval,
  ApprovalRules,
  ApprovalVerdict,
  ParsedArgs,
  Tool,
  ToolCallContext,
  Toolset,
} from "./tool.ts"
export type { Cut } from "./tool-result.ts"
export { type ToolsetChanges, toolsetWith } from "./toolset-with.ts"
export {
  type WebResult,
  type WebSearch,
  type WebSearchOptions,
  type WebSearchSettings,
  webSearch,
  webSearchFromEnv,
} from "./web-search.ts"
export type { WebSearchEngine } from "./web-search-engines.ts"
