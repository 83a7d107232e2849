/** Internals that other layers of the engine use, besides the public entry. */
export { type AgentCore, coreOf } from "./agent-core.ts"
export { runAgent, runPart, type Unfinished } from "./agent-loop.ts"
export { checkFiles } from "./agent-prompt.ts"
export { inputMessages, readObject, type ToolCall, textOf, userText } from "./conversation.ts"
export { handoffTools } from "./hand-off.ts"
export { makeCore, toolTable } from "./make-core.ts"
export { jsonAnswer } from "./structured-output.ts"
export { traceAgent } from "./traced-calls.ts"
