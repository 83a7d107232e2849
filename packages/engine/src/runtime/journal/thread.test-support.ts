/** Workflows that talk on a thread, and stores that are slow, die, or tell what is written to threads. */
import { append, type Context, channel, node, type RunEvent, type Store, workflow } from "../../index.ts"
import { settled } from "../../testing/index.ts"
import type { RunChange, ThreadWrite } from "../ports/stored.ts"

export const messages = channel("messages", append<string>(), { persist: true })
export const turn = channel("turn", append<string>())

/** Adds its message to the thread, and outputs all messages before it. */
export const says = node("says", (text: string, ctx: Context) => {
  ctx.state.write(messages, [text])
  ctx.state.write(turn, [text])
  return ctx.state.get(messages)
})
export const chat = workflow("chat", { state: [messages, turn] })
  .start(says)
  .build()

/** Says it, and then waits for a person. */
export const asking = workflow("asking", { state: [messages] })
  .chain(
    node("says", (text: string, ctx: Context) => {
      ctx.state.write(messages, [text])
      return text
    }),
    node("asks", (_: string, ctx: Context) => ctx.ask("And?")),
  )
  .build()

export const stateOf = async (store: Store, thread = "t") => (await store.thread(thread)).state

/** What every append of the store wrote to threads. */
export function watched(store: Store): Store & { readonly writes: (readonly ThreadWrite[])[] } {
  const writes: (readonly ThreadWrite[])[] = []
  return {
    ...store,
    writes,
    append(lease, expectedSeq, records, change?: RunChange) {
      if (change?.thread !== undefined) writes.push(change.thread)
      return store.append(lease, expectedSeq, records, change)
    },
  }
}

export async function eventsOf(stream: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Reads and writes take a turn each. */
export function slowStore(store: Store): Store {
  return {
    ...store,
    append: async (...args) => {
      await settled()
      return store.append(...args)
    },
    thread: async (...args) => {
      await settled()
      return store.thread(...args)
    },
  }
}

/** Of a process that dies when it has written so many times. */
export function dyingStore(store: Store, writes: number): Store {
  let left = writes
  return {
    ...store,
    append(...args) {
      if (left-- <= 0) throw new Error("the process died")
      return store.append(...args)
    },
  }
}
