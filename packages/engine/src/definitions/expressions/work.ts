/**
 * Bounds on what one expression may cost. Work is counted, not timed: the same expression over the same values
 * is stopped at the same point on every machine.
 *
 * One unit is about one operation on a value: a macro costs the operations of its body for every item that it
 * visits; comparing costs one for every element, reading text one for every 64 characters (8, where they are looked
 * at one by one), matching a pattern one for every 2 of its states that are tried.
 */
import { tooCostly } from "./expression-error.ts"

export const MAX_EXPRESSION = 4_096
export const MAX_NESTING = 64
export const MAX_MACRO_ITEMS = 10_000
/** Characters of a text, or of the JSON text of a value, that an expression makes. */
export const MAX_RESULT = 1_000_000
/** Characters that a template renders to. */
export const MAX_RENDERED = 10_000_000
const MAX_WORK = 5_000_000
const CHARACTERS_PER_UNIT = 64
const SINGLE_CHARACTERS_PER_UNIT = 8
const KEY_COST = 4
/** What a failure costs to catch. */
export const FAILURE_COST = 400

export class Work {
  #done = 0

  spend(units: number): void {
    this.#done += units
    if (this.#done > MAX_WORK) throw tooCostly(`it took more than ${MAX_WORK} units of work`)
  }

  /** Listing the keys of objects is slow. */
  spendOnKeys(count: number): void {
    this.spend(1 + KEY_COST * count)
  }

  spendOnText(length: number): void {
    this.spend(1 + Math.ceil(length / CHARACTERS_PER_UNIT))
  }

  spendOnCharacters(length: number): void {
    this.spend(1 + Math.ceil(length / SINGLE_CHARACTERS_PER_UNIT))
  }
}

export function checkResultSize(characters: number): void {
  if (characters > MAX_RESULT) throw tooCostly(`its result is longer than ${MAX_RESULT} characters`)
}
