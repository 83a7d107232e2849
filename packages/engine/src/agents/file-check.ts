/** Files of an input that none of the agent's models takes: found before a run starts, or before the agent's first request. */
import { SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { mediaProblem } from "../models/internal.ts"
import type { AgentCore } from "./agent-core.ts"
import { inputMessages } from "./conversation.ts"

/**
 * Throws INPUT_INVALID or MODEL_MEDIA_UNSUPPORTED. Undefined where nothing is to be checked: the input has no files, or
 * hooks may still choose another model or other messages.
 */
export function checkFiles(core: AgentCore, input: unknown): Promise<void> | undefined {
  if (typeof input !== "object" || input === null || !("messages" in input)) return undefined
  const messages = inputMessages(input)
  const files = seenFirst(core, messages).filter(hasFile)
  if (files.length === 0 || mayChoose(core)) return undefined
  return checkModels(core, files)
}

async function checkModels(core: AgentCore, messages: readonly Message[]): Promise<void> {
  let problem: SuperstepError | undefined
  for (const model of await core.models()) {
    const found = mediaProblem(model, messages)
    if (found === undefined) return
    problem ??= found
  }
  if (problem === undefined) return
  const text = `Agent "${core.name}" cannot work on this input: ${problem.message}`
  throw new SuperstepError(problem.code, text, { retryable: false })
}

/** A history policy may leave out all but the newest message. */
function seenFirst({ options: { history } }: AgentCore, messages: readonly Message[]): readonly Message[] {
  if (history === undefined || history === "all") return messages
  return typeof history === "function" ? [] : messages.slice(-1)
}

function hasFile({ role, content }: Message): boolean {
  return role === "user" && content.some(({ type }) => type === "file")
}

function mayChoose({ options }: AgentCore): boolean {
  const { prepareStep, beforeModel, middleware = [], continueWith } = options
  const hooks = [{ prepareStep, beforeModel }, ...middleware]
  return (
    continueWith === "last" ||
    hooks.some((one) => one.prepareStep !== undefined || one.beforeModel !== undefined)
  )
}
