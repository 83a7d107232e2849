/** Tools for agents. */
export { isSecretName } from "../text/index.ts"
export {
  type Approval,
  type ApprovalCall,
  type ApprovalRules,
  type ApprovalVerdict,
  approvalVerdict,
  checkApproval,
} from "./approval.ts"
export { type CallToolOptions, type Cut, callTool, readArgs, type ToolOutcome } from "./call-tool.ts"
export { type FilePart, type FilePartOptions, filePart } from "./file-part.ts"
export { type FilesystemOptions, filesystem } from "./filesystem/filesystem.ts"
export type { AfterEdit } from "./filesystem/write-tools.ts"
export { matchesWord } from "./glob.ts"
export { type ApiAnswer, type ApiOptions, type ApiToolOptions, api } from "./http/api.ts"
export { type NetworkRules, namedPrivate } from "./http/network-rules.ts"
export { type CheckedFetchOptions, checkedFetch, type RequestLimits, type Resolve } from "./http/request.ts"
export {
  type FetchedPage,
  type FetchOptions,
  htmlToText,
  type PageReader,
  type PageReaderOptions,
  type PageText,
  pageReader,
  type WebPage,
  webFetch,
} from "./http/web-page.ts"
export {
  type WebResult,
  type WebSearch,
  type WebSearchEngine,
  type WebSearchOptions,
  type WebSearchSettings,
  webSearch,
  webSearchFromEnv,
} from "./http/web-search.ts"
export { answerProblem, checkJsonSchema, jsonSchema } from "./json-schema.ts"
export { type LspOptions, lsp } from "./lsp/lsp.ts"
export { type MemoryOptions, memory } from "./memory/memory.ts"
export { type Memory, type MemoryStore, memoryFile } from "./memory/memory-file.ts"
export type {
  MemoryCallOptions,
  MemoryIndex,
  OwnedMemories,
  OwnedMemory,
  Remembered,
} from "./memory/owned-memory.ts"
export { type ApiAuth, type OpenApiOptions, openapi } from "./openapi/openapi.ts"
export { type TodoItem, type TodoOptions, type TodoStatus, think, todo } from "./planning.ts"
export { withoutUncheckedPatterns } from "./schema-limits.ts"
export { fillTemplate, headerSecrets, Masking, maskArgs } from "./secrets.ts"
export { type ScriptOptions, type ScriptTool, script } from "./shell/script.ts"
export { type ShellOptions, type ShellResult, shell } from "./shell/shell.ts"
export { type InlineSkill, type SkillsOptions, skills } from "./skills.ts"
export { type ListedTask, type TasksOptions, tasks } from "./tasks.ts"
export { pause, type TimeLimit, untilAborted, withTimeLimit } from "./time-limit.ts"
export {
  type Generated,
  type GenerateRequest,
  type ParsedArgs,
  type ProviderDefinition,
  type ProviderToolOptions,
  providerTool,
  type Tool,
  type ToolCallContext,
  type ToolOptions,
  type Toolset,
  type ToolsetChanges,
  tool,
  toolsetWith,
} from "./tool.ts"
export { type UserPromptOptions, type UserPromptRequest, userPrompt } from "./user-prompt.ts"
