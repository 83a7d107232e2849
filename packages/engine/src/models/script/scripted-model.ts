/**
 * A model with predefined replies: for tests, and for deterministic workflows. Each agent gets its own entries in order;
 * a call without an entry fails the run. A process that resumes a run resumes its position in the script too
 * (`ReplyCursor`).
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
} from "@ai-sdk/provider"
import { SuperstepError } from "../../core/index.ts"
import { type Clock, systemClock } from "../../runtime/index.ts"
import { providerError } from "../call/call-failure.ts"
import { pause } from "../call/deadline.ts"
import { partsOf, standInUsage, streamOf } from "../call/reply-stream.ts"
import {
  type CalledBy,
  calledBy,
  callerName,
  type Model,
  messageText,
  type Prompt,
  quotedExcerpt,
  ReplyCursor,
} from "../model.ts"
import { type ReadEntry, readScript, type Script } from "./script.ts"

export interface ScriptedModelOptions {
  /** The clock for `delay`. */
  readonly clock?: Clock | undefined
  /** The name of the model in records and for prices: `openai/gpt-5`. */
  readonly as?: string | undefined
}

/** A call that the model received. */
export interface ScriptedCall extends CalledBy {
  readonly prompt: Prompt
  readonly options: LanguageModelV3CallOptions
}

export interface ScriptedModel extends Model {
  /** All calls so far, including failed ones. */
  readonly calls: readonly ScriptedCall[]
  /** The number of replies left for an agent, or in a script without agents; Infinity with `repeat: true`. */
  left(agent?: string): number
  /** Throws SCRIPT_UNUSED, with the entries, if entries are unused. Call it at the end of a test. */
  assertUsed(): void
}

export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const { clock = systemClock, as = "scripted/script" } = options
  const slash = as.indexOf("/")
  const lists = new Map([...readScript(script)].map(([agent, list]) => [agent, new Entries(agent, list)]))
  const calls: ScriptedCall[] = []

  const take = (call: LanguageModelV3CallOptions): Taken => {
    call.abortSignal?.throwIfAborted()
    const caller = calledBy(call)
    calls.push({ ...caller, prompt: [...call.prompt], options: call })
    const list = lists.get(caller.agent) ?? lists.get("*")
    if (list === undefined) throw unknownAgent(caller.agent, [...lists.keys()])
    return list.take(caller, call.prompt)
  }

  /** The entry is taken synchronously, so that calls get entries in the order in which they are made. */
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
    // Accepts any URL, and fetches none.
    supportedUrls: { "*": [/^https?:/] },
    doGenerate: answer,
    async doStream(call) {
      return { stream: streamOf(partsOf(await answer(call)), { signal: call.abortSignal }) }
    },
    get calls() {
      return calls
    },
    left: (agent = "*") => lists.get(agent)?.left ?? 0,
    assertUsed() {
      const unused = [...lists.values()].flatMap((list) => list.unused())
      if (unused.length === 0) return
      const text = `The script has unused entries: ${unused.join("; ")}.`
      throw new SuperstepError("SCRIPT_UNUSED", text, { retryable: false })
    },
  }
}

function resultOf({ entry, index, agent }: Taken): LanguageModelV3GenerateResult {
  const { text, json, tool_calls: calls, error, reasoning, usage, finish, sources = [] } = entry
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
      // Deterministic, with characters that every provider accepts.
      toolCallId: id ?? `call_${agent.replace(/[^A-Za-z0-9-]/g, "_").slice(0, 32)}_${index + 1}_${nth + 1}`,
      toolName: name,
      input: typeof args === "string" ? args : JSON.stringify(args),
    })
  }
  for (const [nth, { url, title }] of sources.entries()) {
    const id = `source_${index + 1}_${nth + 1}`
    content.push({ type: "source", sourceType: "url", id, url, ...(title !== undefined && { title }) })
  }
  return {
    content,
    finishReason: finishReason(finish, calls !== undefined),
    usage: standInUsage(usage?.input, usage?.output),
    warnings: [],
  }
}

/** The finish reason as a provider reports it. */
function finishReason(
  finish: ReadEntry["finish"],
  hasCalls: boolean,
): LanguageModelV3GenerateResult["finishReason"] {
  if (finish === undefined) return { unified: hasCalls ? "tool-calls" : "stop", raw: undefined }
  if (finish === "length") return { unified: "length", raw: "length" }
  return { unified: "content-filter", raw: finish === "refusal" ? "refusal" : "content_filter" }
}

interface Taken {
  readonly entry: ReadEntry
  /** Counted over all entries with their repetitions. */
  readonly index: number
  readonly agent: string
}

/** The entries of one agent. */
class Entries {
  readonly #entries: readonly ReadEntry[]
  readonly #agent: string
  readonly #cursor = new ReplyCursor()

  constructor(agent: string, entries: readonly ReadEntry[]) {
    this.#agent = agent
    this.#entries = entries
  }

  take({ agent, ordinal }: CalledBy, prompt: Prompt): Taken {
    const index = this.#cursor.indexFor(ordinal, (answers) => this.#after(answers))
    const number = this.#numberAt(index)
    const entry = this.#entries[number]
    const last = prompt.at(-1)
    if (entry === undefined) throw this.#exhausted(agent, index, last)
    if (entry.when?.test(last === undefined ? "" : messageText(last)) === false) {
      throw mismatch(agent, number, entry, last)
    }
    this.#cursor.advancePast(index)
    return { entry, index, agent }
  }

  get left(): number {
    return Math.max(0, this.#length - this.#cursor.next)
  }

  /** Descriptions of the unused entries. An entry that repeats forever counts as used after its first reply. */
  unused(): string[] {
    const { next } = this.#cursor
    const isUsed =
      next >= this.#length || (this.#length === Number.POSITIVE_INFINITY && next > this.#lastStart)
    if (isUsed) return []
    const of = this.#agent === "*" ? "" : ` for ${callerName(this.#agent)}`
    const entry = this.#entries[this.#numberAt(next)]
    const where = entry?.at === undefined ? "" : ` (${entry.at})`
    const left = this.left === Number.POSITIVE_INFINITY ? "replies" : counted(this.left)
    return [`${left}${of} from entry ${this.#numberAt(next) + 1}${where} on`]
  }

  /** The index at which the repetitions of the last entry begin. */
  get #lastStart(): number {
    return this.#entries.slice(0, -1).reduce((sum, { repeat }) => sum + repeat, 0)
  }

  get #length(): number {
    return this.#entries.reduce((sum, { repeat }) => sum + repeat, 0)
  }

  #numberAt(index: number): number {
    let end = 0
    return this.#entries.findIndex(({ repeat }) => {
      end += repeat
      return index < end
    })
  }

  /** Failed calls are not recorded: entries that are errors are skipped, not counted. */
  #after(answers: number): number {
    let missing = answers
    let index = 0
    for (const { error, repeat } of this.#entries) {
      if (missing === 0) return index
      if (error !== undefined && repeat === Number.POSITIVE_INFINITY) return index
      const passed = error === undefined ? Math.min(repeat, missing) : repeat
      if (error === undefined) missing -= passed
      index += passed
    }
    return index + missing
  }

  #exhausted(agent: string, index: number, last: Prompt[number] | undefined): SuperstepError {
    const [of, by] =
      this.#agent === "*" ? ["", ` by ${callerName(agent)}`] : [` for ${callerName(agent)}`, ""]
    const where = this.#entries.at(-1)?.at
    const after = where === undefined ? "" : ` after ${where}`
    const text =
      `The script has ${counted(this.#length)}${of}, but call ${index + 1} was made${by}. Add an entry${after}, or set ` +
      `repeat: true on the last one. The last message was ${printed(last)}.`
    return failed("SCRIPT_EXHAUSTED", text)
  }
}

function mismatch(agent: string, number: number, entry: ReadEntry, last: Prompt[number] | undefined) {
  const where = entry.at === undefined ? "" : ` (${entry.at})`
  const text =
    `Entry ${number + 1} of the script for ${callerName(agent)}${where} expects a last message with ${entry.when?.print}, ` +
    `but it was ${printed(last)}. Change its when, or the order of the entries.`
  return failed("SCRIPT_MISMATCH", text)
}

function unknownAgent(agent: string, known: readonly string[]): SuperstepError {
  const others = known.map(callerName).join(", ") || "nobody"
  const text = `The script has no entries for ${callerName(agent)}; it has some for ${others}. Add a list under its name, or one under "*" for every other agent.`
  return failed("SCRIPT_EXHAUSTED", text)
}

function failed(code: string, message: string): SuperstepError {
  return new SuperstepError(code, message, { retryable: false, fatal: true })
}

function counted(replies: number): string {
  return replies === 1 ? "1 reply" : `${replies} replies`
}

function printed(message: Prompt[number] | undefined): string {
  return message === undefined ? "none" : `${quotedExcerpt(messageText(message))} (${message.role})`
}
