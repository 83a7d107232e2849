/** The names of an agent's options. An unknown one is refused: an option that is ignored would look as if it were in force. */
import type { SuperstepError } from "../core/index.ts"
import type { ModelRetry, ModelSettings } from "../models/index.ts"
import type { Schema } from "../runtime/index.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "../runtime/internal.ts"
import type { SomeAgentOptions } from "./agent-core.ts"

const OPTIONS: OptionNames<SomeAgentOptions & { readonly output?: Schema | undefined }> = {
  name: true,
  description: true,
  model: true,
  instructions: true,
  tools: true,
  input: true,
  output: true,
  history: true,
  messages: true,
  limits: true,
  settings: true,
  calling: true,
  models: true,
  toolChoice: true,
  stopWhen: true,
  guardrails: true,
  middleware: true,
  prepareStep: true,
  beforeModel: true,
  afterModel: true,
  onToolCall: true,
  handoffs: true,
  handoffTools: true,
  continueWith: true,
  subAgents: true,
  approval: true,
  repairs: true,
  onTruncated: true,
  onLimit: true,
  onToolError: true,
  stream: true,
  onError: true,
  retry: true,
  timeout: true,
  concurrency: true,
  maxVisits: true,
  budget: true,
}

const SETTINGS: OptionNames<ModelSettings> = {
  temperature: true,
  maxOutputTokens: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  providerOptions: true,
}

const CALLING: OptionNames<NonNullable<SomeAgentOptions["calling"]>> = {
  retry: true,
  timeout: true,
  firstTokenTimeout: true,
  idleTimeout: true,
  prices: true,
  limits: true,
  random: true,
  onAttemptFailed: true,
}

const RETRY: OptionNames<ModelRetry> = { attempts: true, delay: true, maxDelay: true }

/** What other libraries call it, and what it is called here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  system: "instructions",
  prompt: "instructions",
  systemPrompt: "instructions",
  maxTurns: "limits.iterations",
  maxSteps: "limits.iterations",
  maxIterations: "limits.iterations",
  maxRetries: "calling.retry.attempts",
  temperature: "settings.temperature",
  topP: "settings.topP",
  seed: "settings.seed",
  maxTokens: "settings.maxOutputTokens",
  maxOutputTokens: "settings.maxOutputTokens",
  modelSettings: "settings",
  providerOptions: "settings.providerOptions",
  outputType: "output",
  outputSchema: "output",
  inputSchema: "input",
}

export function checkOptionNames(
  options: SomeAgentOptions,
  refuse: (reason: string) => SuperstepError,
): void {
  const check = <Options>(value: unknown, known: OptionNames<Options>, where: string) => {
    if (value === undefined) return
    if (!isOptions(value)) throw refuse(`${where} must be an object, not ${shown(value)}.`)
    const problem = unknownOption(value, known)
    if (problem !== undefined) {
      throw refuse(`${where === "" ? "" : `${where}: `}${problem}${problem.endsWith("?") ? "" : "."}`)
    }
  }
  for (const [name, value] of Object.entries(options)) {
    const meant = Object.hasOwn(OPTIONS, name) || value === undefined ? undefined : ELSEWHERE[name]
    if (meant !== undefined) throw refuse(`unknown option "${name}"; did you mean "${meant}"?`)
  }
  check(options, OPTIONS, "")
  check(options.settings, SETTINGS, "settings")
  check(options.calling, CALLING, "calling")
  check(options.calling?.retry, RETRY, "calling.retry")
}
