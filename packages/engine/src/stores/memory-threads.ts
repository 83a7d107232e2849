/** A thread's state, folded from its writes. */
import type { Json } from "../core/index.ts"
import type { ThreadWrite } from "../runtime/index.ts"

export function threadState(
  writes: readonly ThreadWrite[],
  version = writes.length,
): { readonly version: number; readonly state: { readonly [key: string]: Json } } {
  const state = new Map<string, Json>()
  /** Lists that were made here, and so may grow in place. */
  const own = new Map<string, Json[]>()
  const first = writes.slice(0, version)
  for (const { key, kind, value } of first) {
    if (kind === "set") {
      own.delete(key)
      state.set(key, value)
      continue
    }
    let list = own.get(key)
    if (list === undefined) {
      const before = state.get(key)
      list = Array.isArray(before) ? [...before] : []
      own.set(key, list)
      state.set(key, list)
    }
    if (Array.isArray(value)) for (const item of value) list.push(item)
    else list.push(value)
  }
  return { version: first.length, state: Object.fromEntries(state) }
}
