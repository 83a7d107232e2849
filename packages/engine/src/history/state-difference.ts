/** The channels whose values differ between two states. */
import type { Json } from "../core/index.ts"
import { canonicalJson } from "../core/internal.ts"

interface State {
  readonly [key: string]: Json
}

export interface ChangedChannel {
  readonly key: string
  /** Absent: the channel had no value. */
  readonly before?: Json | undefined
  readonly after?: Json | undefined
}

export function stateDifference(before: State, after: State): readonly ChangedChannel[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const was = before[key]
    const is = after[key]
    if (was !== undefined && is !== undefined && isSame(was, is)) return []
    return [
      { key, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) },
    ]
  })
}

/** Whatever the order of keys. */
export function isSame(before: Json, after: Json): boolean {
  return canonicalJson(before) === canonicalJson(after)
}
