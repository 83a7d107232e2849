/** One list of a script's entries: which one is next, and what is told when there is none or it is not meant. */
import { SuperstepError } from "../core/index.ts"
import type { CalledBy } from "./called-by.ts"
import type { Prompt } from "./model.ts"
import { Place } from "./place.ts"
import { messageText, quoted } from "./prompt-text.ts"
import type { ReadEntry } from "./read-script.ts"

export interface Taken {
  readonly entry: ReadEntry
  /** Counted over all entries with their repetitions. */
  readonly index: number
  readonly agent: string
}

export class Entries {
  readonly #entries: readonly ReadEntry[]
  readonly #agent: string
  readonly #place = new Place()

  constructor(agent: string, entries: readonly ReadEntry[]) {
    this.#agent = agent
    this.#entries = entries
  }

  take({ agent, ordinal }: CalledBy, prompt: Prompt): Taken {
    const index = this.#place.of(ordinal, (answers) => this.#after(answers))
    const number = this.#numberAt(index)
    const entry = this.#entries[number]
    const last = prompt.at(-1)
    if (entry === undefined) throw this.#exhausted(agent, index, last)
    if (entry.when?.test(last === undefined ? "" : messageText(last)) === false) {
      throw mismatch(agent, number, entry, last)
    }
    this.#place.passed(index)
    return { entry, index, agent }
  }

  get left(): number {
    return Math.max(0, this.#length - this.#place.next)
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

  /** A call that failed is no call on record: entries that are errors are passed over, not counted. */
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
    const of = this.#agent === "*" ? "" : ` for ${named(agent)}`
    const where = this.#entries.at(-1)?.at
    return failed(
      "SCRIPT_EXHAUSTED",
      `The script has ${counted(this.#length)}${of}, and call ${index + 1} was made${this.#agent === "*" ? ` by ${named(agent)}` : ""}. ` +
        `Add an entry${where === undefined ? "" : ` after ${where}`}, or give the last one repeat: true. The last message was ${printed(last)}.`,
    )
  }
}

function mismatch(
  agent: string,
  number: number,
  entry: ReadEntry,
  last: Prompt[number] | undefined,
): SuperstepError {
  const where = entry.at === undefined ? "" : ` (${entry.at})`
  return failed(
    "SCRIPT_MISMATCH",
    `Entry ${number + 1} of the script for ${named(agent)}${where} is for a last message with ${entry.when?.print}, ` +
      `but it was ${printed(last)}. Change its when, or the order of the entries.`,
  )
}

export function unknownAgent(agent: string, known: readonly string[]): SuperstepError {
  return failed(
    "SCRIPT_EXHAUSTED",
    `The script has no entries for ${named(agent)}; it has some for ${known.map(named).join(", ") || "nobody"}. ` +
      `Add a list under its name, or one under "*" for every other agent.`,
  )
}

function failed(code: string, message: string): SuperstepError {
  return new SuperstepError(code, message, { retryable: false, fatal: true })
}

function named(agent: string): string {
  return agent === "" ? "a caller without a name" : `agent "${agent}"`
}

function counted(replies: number): string {
  return replies === 1 ? "1 reply" : `${replies} replies`
}

function printed(message: Prompt[number] | undefined): string {
  return message === undefined ? "none at all" : `${quoted(messageText(message))} (${message.role})`
}
