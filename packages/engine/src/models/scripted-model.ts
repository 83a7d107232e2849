/**
 * A model whose replies are written down beforehand: for tests, and for workflows that run the same every time.
 * It gives the entries of its script in order, to each agent its own; a call that the script does not foresee fails the
 * run. A process that goes on with a run goes on in the script too (`Place`).
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
} from "@ai-sdk/provider"
import { type Clock, systemClock } from "../runtime/index.ts"
import { type CalledBy, calledBy } from "./called-by.ts"
import type { Model, Prompt } from "./model.ts"
import { providerError } from "./provider-error.ts"
import { readScript } from "./read-script.ts"
import type { Script } from "./script.ts"
import { Entries, type Taken, unknownAgent } from "./script-entries.ts"
import { pause } from "./stopping.ts"
import { partsOf, streamOf } from "./stream-parts.ts"

export interface ScriptedModelOptions {
  /** What `delay` goes by. */
  readonly clock?: Clock | undefined
  /** The model it stands for, in records and for prices: `openai/gpt-5`. */
  readonly as?: string | undefined
}

/** A call as the model got it. */
export interface ScriptedCall extends CalledBy {
  readonly prompt: Prompt
  readonly options: LanguageModelV3CallOptions
}

export interface ScriptedModel extends Model {
  /** What it has been asked so far, the calls that failed included. */
  readonly calls: readonly ScriptedCall[]
  /** How many replies are left for an agent, or in a script without agents; one that is repeated for ever never ends. */
  left(agent?: string): number
}

export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const { clock = systemClock, as = "scripted/script" } = options
  const slash = as.indexOf("/")
  const lists = new Map(
    [...readScript(script)].map(([agent, entries]) => [agent, new Entries(agent, entries)]),
  )
  const calls: ScriptedCall[] = []

  const take = (call: LanguageModelV3CallOptions): Taken => {
    call.abortSignal?.throwIfAborted()
    const caller = calledBy(call)
    calls.push({ ...caller, prompt: [...call.prompt], options: call })
    const list = lists.get(caller.agent) ?? lists.get("*")
    if (list === undefined) throw unknownAgent(caller.agent, [...lists.keys()])
    return list.take(caller, call.prompt)
  }

  /** The entry is taken at once, so that calls get theirs in the order in which they are made. */
  const answer = async (call: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> => {
    const taken = take(call)
    if (taken.entry.delay)
      await pause(taken.entry.delay, clock, call.abortSignal ?? new AbortController().signal)
    return resultOf(taken)
  }

  return {
    specificationVersion: "v3",
    provider: slash > 0 ? as.slice(0, slash) : "scripted",
    modelId: as.slice(slash + 1),
    supportedUrls: {},
    doGenerate: answer,
    async doStream(call) {
      return { stream: streamOf(partsOf(await answer(call)), { signal: call.abortSignal }) }
    },
    get calls() {
      return calls
    },
    left: (agent = "*") => lists.get(agent)?.left ?? 0,
  }
}

function resultOf({ entry, index, agent }: Taken): LanguageModelV3GenerateResult {
  const { text, json, tool_calls: calls, error, reasoning, usage } = entry
  if (error !== undefined) {
    const { code, message, retryable } = error
    const status = code === undefined ? Number.NaN : Number(code)
    const failure = {
      message: message ?? `the script answers with ${code}`,
      code: code === undefined ? undefined : String(code),
      statusCode: Number.isSafeInteger(status) ? status : undefined,
      retryable,
    }
    throw providerError(failure, "script:")
  }
  const content: LanguageModelV3Content[] = []
  if (reasoning !== undefined) content.push({ type: "reasoning", text: reasoning })
  if (text !== undefined) content.push({ type: "text", text })
  if (json !== undefined) content.push({ type: "text", text: JSON.stringify(json) })
  for (const [nth, { name, args = {}, id }] of (calls ?? []).entries()) {
    content.push({
      type: "tool-call",
      // The same in every process, and of characters that every provider takes.
      toolCallId: id ?? `call_${agent.replace(/[^A-Za-z0-9-]/g, "_").slice(0, 32)}_${index + 1}_${nth + 1}`,
      toolName: name,
      input: typeof args === "string" ? args : JSON.stringify(args),
    })
  }
  return {
    content,
    finishReason: { unified: calls === undefined ? "stop" : "tool-calls", raw: undefined },
    usage: {
      inputTokens: { total: usage?.input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: usage?.output, text: undefined, reasoning: undefined },
    },
    warnings: [],
  }
}
