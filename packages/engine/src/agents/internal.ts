/** What other layers of the engine use besides the public entry. */
export { type AgentCore, coreOf } from "./agent-core.ts"
export { runAgent, runPart, type Unfinished } from "./agent-loop.ts"
export { inputMessages, readObject, type ToolCall, textOf, userText } from "./conversation.ts"
export { checkFiles } from "./file-check.ts"
export { handoffTools } from "./hand-off.ts"
export { jsonAnswer } from "./json-answer.ts"
export { makeCore, toolTable } from "./make-core.ts"
export { traceAgent } from "./traced-calls.ts"
