/**
 * Threads: state that persists from run to run. A run of a thread starts with the thread's values of the workflow's
 * persistent channels, and adds to them when it completes, in the write that ends it. Until then no other run may use the
 * thread.
 */
import { type Graph, type Json, type Machine, SuperstepError, writeProblem } from "../../core/index.ts"
import { canonicalJson, freezeData } from "../../core/internal.ts"
import { andThen, fromUser, type MaybePromise } from "../ports/maybe-promise.ts"
import type { Store } from "../ports/store.ts"
import type { ThreadWrite } from "../ports/stored.ts"

/** A thread as a run found it. */
export interface ThreadAtStart {
  readonly id: string
  readonly version: number
  readonly state: { readonly [key: string]: Json }
}

/** The state of the run's thread so far. */
export function threadAtStart({
  thread,
  store,
}: {
  readonly thread?: string | undefined
  readonly store?: Store | undefined
}): MaybePromise<ThreadAtStart | undefined> {
  if (thread === undefined) return undefined
  if (store === undefined) {
    throw new SuperstepError(
      "OPTION_INVALID",
      `Thread "${thread}" needs a store: run(input, { store, thread }).`,
    )
  }
  return andThen(fromUser(store.thread(thread)), (found) => ({ id: thread, ...found }))
}

export function checkThread(
  graph: Graph,
  thread: string,
  state: { readonly [key: string]: unknown } = {},
): void {
  const lasting = lastingKeys(graph)
  if (lasting.length === 0) {
    const text = `Workflow "${graph.name}" has no persistent channel, so thread "${thread}" would keep nothing. Declare one with channel(key, kind, { persist: true }).`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  const both = lasting.find((key) => state[key] !== undefined)
  if (both === undefined) return
  const text = `Bad run option: state.${both} comes from thread "${thread}"; do not pass it as well.`
  throw new SuperstepError("OPTION_INVALID", text)
}

/** The part of a thread's state that this workflow's channels accept. */
export function lastingState(graph: Graph, state: ThreadAtStart["state"]): { [key: string]: Json } {
  const known = lastingKeys(graph).filter((key) => state[key] !== undefined)
  return Object.fromEntries(known.map((key) => [key, freezeData(state[key] as Json)]))
}

/** Another workflow, or another version, may have stored values that this one's channels do not accept. */
export function checkThreadState(graph: Graph, { id, state }: ThreadAtStart): void {
  for (const [key, value] of Object.entries(lastingState(graph, state))) {
    const problem = writeProblem(graph.channels.get(key)?.reducer ?? "replace", value)
    if (problem === undefined) continue
    const text = `Thread "${id}" holds a value for "${key}" that the channel of workflow "${graph.name}" does not accept: ${problem}.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
}

/** The writes that the run adds. For a list that only grows, only the new items: a turn costs what it adds. */
export function threadWrites(machine: Machine, { state }: ThreadAtStart): ThreadWrite[] {
  return lastingKeys(machine.graph).flatMap((key): ThreadWrite[] => {
    const value = machine.state(key)
    const before = state[key]
    if (value === undefined) return []
    const reducer = machine.graph.channels.get(key)?.reducer
    if ((reducer === "append" || reducer === "union") && Array.isArray(value)) {
      const length = Array.isArray(before) ? before.length : 0
      if (value.length >= length) {
        return value.length === length ? [] : [{ key, kind: "append", value: value.slice(length) }]
      }
    }
    if (before !== undefined && canonicalJson(before) === canonicalJson(value)) return []
    return [{ key, kind: "set", value }]
  })
}

function lastingKeys({ channels }: Graph): string[] {
  return [...channels.values()].filter(({ lasting }) => lasting).map(({ key }) => key)
}
