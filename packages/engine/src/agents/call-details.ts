/**
 * What is recorded of a model call besides its reply, for people who inspect the run. The messages of the request are not
 * repeated: they follow from the input of the task and the records before the call. Instructions are recorded once for a task,
 * and again when they change. Nothing here has keys, and no program reads it.
 */
import type { Json } from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import type { AnswerFacts, ModelCall } from "../models/index.ts"
import { type SecretMask, secretMask } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"
import { genAiJson } from "./traced-calls.ts"

/** Characters of instructions and of settings: longer ones are cut, or left out. */
const MAX_TEXT = 32_000

/** The instructions that a task recorded last. After a restart they are recorded again. */
const recordedInstructions = new WeakMap<Context, string>()

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

  #masked(facts: AnswerFacts): Json | undefined {
    const { prompt, tools, toolChoice, responseFormat, ...settings } = this.#asked
    const system = prompt.flatMap(({ role, content }) => (role === "system" ? [content as string] : []))
    const mask = secretMask()
    const instructions = this.#newInstructions(system.join("\n\n"))
    const shown = instructions === undefined ? {} : maskedOnce({ instructions }, mask)
    const request = maskedOnce(
      {
        ...settings,
        tools: tools?.map(({ name }) => name),
        toolChoice: toolChoice?.type === "auto" ? undefined : toolChoice,
        responseFormat:
          responseFormat?.type === "json" ? { type: "json", name: responseFormat.name } : undefined,
      },
      mask,
    )
    const response = maskedPart(omitUndefined(facts), mask)
    if (shown === undefined || request === undefined || response === undefined) return undefined
    return { request: { messages: prompt.length - system.length, ...shown, ...request }, response }
  }

  #newInstructions(text: string): string | undefined {
    if (text === "" || recordedInstructions.get(this.#ctx) === text) return undefined
    recordedInstructions.set(this.#ctx, text)
    return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  }
}

type Part = { readonly [name: string]: Json }

/** Parts that were masked, by their JSON: an agent sends the same ones with every call. Another environment has another mask. */
const known = new WeakMap<SecretMask, Map<string, Part | undefined>>()
const MAX_KNOWN = 100

function maskedOnce(value: object, mask: SecretMask): Part | undefined {
  const parts = known.get(mask) ?? new Map<string, Part | undefined>()
  known.set(mask, parts)
  const text = JSON.stringify(value)
  if (parts.has(text)) return parts.get(text)
  if (parts.size >= MAX_KNOWN) parts.clear()
  const part = maskedPart(value, mask)
  parts.set(text, part)
  return part
}

function maskedPart(value: object, mask: SecretMask): Part | undefined {
  const text = genAiJson(value, mask)
  return text.length > 2 * MAX_TEXT ? undefined : (JSON.parse(text) as Part)
}
