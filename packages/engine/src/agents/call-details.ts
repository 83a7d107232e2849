/**
 * What is recorded of a model call besides its reply, for people who inspect the run. The messages of the request are not
 * repeated: they follow from the input of the task and the records before the call. Instructions are recorded once for a task,
 * and again when they change. Nothing here has keys, and no program reads it.
 */
import type { Json } from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import type { AnswerFacts, ModelCall } from "../models/index.ts"
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

  /** Undefined if no model has answered. */
  recorded(): Json | undefined {
    if (this.#facts === undefined) return undefined
    const { prompt, tools, toolChoice, responseFormat, ...settings } = this.#asked
    const system = prompt.flatMap(({ role, content }) => (role === "system" ? [content as string] : []))
    return withoutKeys({
      request: {
        messages: prompt.length - system.length,
        instructions: this.#newInstructions(system.join("\n\n")),
        ...settings,
        tools: tools?.map(({ name }) => name),
        toolChoice: toolChoice?.type === "auto" ? undefined : toolChoice,
        responseFormat:
          responseFormat?.type === "json" ? { type: "json", name: responseFormat.name } : undefined,
      },
      response: omitUndefined(this.#facts),
    })
  }

  #newInstructions(text: string): string | undefined {
    if (text === "" || recordedInstructions.get(this.#ctx) === text) return undefined
    recordedInstructions.set(this.#ctx, text)
    return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  }
}

/** Undefined for what is too large, and for what is no JSON any more without its keys. */
function withoutKeys(value: { readonly request: object; readonly response: object }): Json | undefined {
  try {
    const text = genAiJson(value)
    return text.length > 2 * MAX_TEXT ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}
