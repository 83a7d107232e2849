/**
 * What is recorded of a model call besides its reply, for people who inspect the run. The messages of the request are not
 * repeated: they follow from the input of the task and the records before the call. Instructions are recorded once for a task,
 * and again when they change. Nothing here has keys, and no program reads it.
 */
import type { Json } from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import type { AnswerFacts, ModelCall } from "../models/index.ts"
import { MIN_MASKED, type SecretMask, secretMask } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"
import { genAiJson } from "./traced-calls.ts"

/** Characters of instructions and of settings: longer ones are cut, or left out. */
const MAX_TEXT = 32_000

type Part = { readonly [name: string]: Json }

/** What a task has recorded of its calls. After a restart it is recorded again. */
class TaskRecord {
  instructions = ""
  /** Parts without keys, by their JSON: an agent sends the same ones with every call. */
  readonly masked = new Map<string, Part | undefined>()
}

const records = new WeakMap<Context, TaskRecord>()

function recordOf(ctx: Context): TaskRecord {
  let record = records.get(ctx)
  if (record === undefined) {
    record = new TaskRecord()
    records.set(ctx, record)
  }
  return record
}

export class CallDetails {
  readonly #ctx: Context
  readonly #asked: Omit<ModelCall, "caller">
  #facts: AnswerFacts | undefined

  constructor(ctx: Context, asked: Omit<ModelCall, "caller">) {
    this.#ctx = ctx
    this.#asked = asked
  }

  answered(facts: AnswerFacts): void {
    this.#facts = facts
  }

  /** Undefined if no model has answered, for what is too large, and for what is no longer JSON once its keys are masked. */
  recorded(): Json | undefined {
    if (this.#facts === undefined) return undefined
    try {
      return this.#masked(this.#facts)
    } catch {
      return undefined
    }
  }

  #masked({ firstToken, id, finish }: AnswerFacts): Json | undefined {
    const { prompt, tools, toolChoice, responseFormat, ...settings } = this.#asked
    const system: string[] = []
    for (const { role, content } of prompt) if (role === "system") system.push(content)
    let read: SecretMask | undefined
    const mask = () => {
      read ??= secretMask()
      return read
    }
    const instructions = newInstructions(this.#ctx, system.join("\n\n"))
    const shown = instructions === undefined ? {} : maskedOnce({ instructions }, this.#ctx, mask)
    const request = maskedOnce(
      {
        tools: tools?.map(({ name }) => name),
        toolChoice: toolChoice?.type === "auto" ? undefined : toolChoice,
        responseFormat:
          responseFormat?.type === "json" ? { type: "json", name: responseFormat.name } : undefined,
        ...settings,
      },
      this.#ctx,
      mask,
    )
    const ended =
      finish === undefined || finish.length < MIN_MASKED
        ? { finish }
        : maskedOnce({ finish }, this.#ctx, mask)
    const named = id === undefined || id.length > MAX_TEXT ? undefined : mask()(id)
    if (shown === undefined || request === undefined || ended === undefined) return undefined
    return {
      request: { messages: prompt.length - system.length, ...shown, ...request },
      response: omitUndefined({ firstToken, id: named, ...ended }),
    }
  }
}

function newInstructions(ctx: Context, text: string): string | undefined {
  // Most agents without instructions never had any, and need no record.
  const task = text === "" ? records.get(ctx) : recordOf(ctx)
  if (task === undefined || text === task.instructions) return undefined
  task.instructions = text
  if (text === "") return undefined
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

/** Parts that were masked in any task. Another environment has another mask. */
const known = new WeakMap<SecretMask, Map<string, Part | undefined>>()
const MAX_KNOWN = 100

/** Reading the environment takes longer than the rest, so it is read only for what the task has not recorded yet. */
function maskedOnce(value: object, ctx: Context, maskOf: () => SecretMask): Part | undefined {
  const text = JSON.stringify(value)
  if (text === "{}") return {}
  const task = recordOf(ctx)
  if (task.masked.has(text)) return task.masked.get(text)
  const mask = maskOf()
  const parts = known.get(mask) ?? new Map<string, Part | undefined>()
  known.set(mask, parts)
  const part = parts.has(text) ? parts.get(text) : masked(value, mask)
  for (const cache of [parts, task.masked]) {
    if (cache.size >= MAX_KNOWN) cache.clear()
    cache.set(text, part)
  }
  return part
}

function masked(value: object, mask: SecretMask): Part | undefined {
  const text = genAiJson(value, mask)
  return text.length > 2 * MAX_TEXT ? undefined : (JSON.parse(text) as Part)
}
