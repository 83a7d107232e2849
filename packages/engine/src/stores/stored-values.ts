/**
 * Names and threads as stores with tables keep them.
 *
 * Names (ids, workflows, keys …) as stores with text columns keep them: escaped as in a JSON string, so that a NUL or a lone
 * surrogate, which such columns reject, survives.
 */

import type { Json } from "../core/index.ts"
import type { ThreadWrite } from "../runtime/index.ts"

export function toStoredName(name: string): string {
  return PLAIN.test(name) ? name : JSON.stringify(name).slice(1, -1)
}

/** A name that JSON writes as it is, as most are. */
const PLAIN = /^[ !#-[\]-~]*$/

/** Throws the error of JSON.parse for text that is not a stored name. */
export function fromStoredName(text: string): string {
  return JSON.parse(`"${text}"`)
}

/** A write as a store keeps it. */
export interface StoredThreadWrite {
  readonly version: number
  readonly key: string
  readonly kind: ThreadWrite["kind"]
  /** Called only for writes that count. */
  value(): Json
}

/**
 * The state after the writes, in order from the first. Writes before the last "set" of a key are not parsed. `next` is the
 * number of the first missing write.
 */
export function foldThread(writes: readonly StoredThreadWrite[]): {
  readonly state: Map<string, Json>
  readonly next: number
} {
  const lastSet = new Map<string, number>()
  for (const { kind, key, version } of writes) if (kind === "set") lastSet.set(key, version)
  const state = new Map<string, Json>()
  let next = 1
  for (const { version, key, kind, value } of writes) {
    if (version !== next) break
    next += 1
    if (version < (lastSet.get(key) ?? 0)) continue
    const now = value()
    if (kind === "set") {
      state.set(key, now)
      continue
    }
    const before = state.get(key)
    const list = Array.isArray(before) ? before : []
    for (const item of Array.isArray(now) ? now : [now]) list.push(item)
    state.set(key, list)
  }
  return { state, next }
}
