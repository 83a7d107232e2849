/** Tracks the callers of a stand-in for a model: who calls, and which reply is next. */
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"

export interface CalledBy {
  /** Empty for an unnamed caller. */
  readonly agent: string
  readonly ordinal?: number | undefined
}

/** Reads what `callModel` writes to `providerOptions.superstep`. */
export function calledBy({ providerOptions }: LanguageModelV3CallOptions): CalledBy {
  const { agent, ordinal } = providerOptions?.superstep ?? {}
  return {
    agent: typeof agent === "string" ? agent : "",
    ...(typeof ordinal === "number" && Number.isSafeInteger(ordinal) && ordinal >= 0 ? { ordinal } : {}),
  }
}

/** The caller, for error messages. */
export function callerName(agent: string): string {
  return agent === "" ? "an unnamed caller" : `agent "${agent}"`
}

/**
 * The position in a list of replies. A process that resumes a run finds it by the caller's ordinal, the number of
 * recorded calls. Within one process the cursor's own count applies, because failed attempts use up replies too.
 */
export class ReplyCursor {
  #next = 0

  /** The index of the next reply. `after` maps a number of answered calls to an index of the list. */
  indexFor(ordinal: number | undefined, after: (calls: number) => number): number {
    if (ordinal === undefined || ordinal <= this.#next) return this.#next
    return Math.max(this.#next, after(ordinal))
  }

  advancePast(index: number): void {
    this.#next = Math.max(this.#next, index + 1)
  }

  get next(): number {
    return this.#next
  }
}
