/** What the store suite finds: each mistake in a store without other mistakes. */
import { describe, expect, test } from "vitest"
import type { AgentRow, Registry, Store } from "../../runtime/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { registrySuite, type StoreSuiteOptions, settled, storeSuite } from "../index.ts"
import {
  cachingStore,
  liveStore,
  referringStore,
  type SplitOptions,
  splitStore,
} from "./faulty-stores.test-support.ts"

const CONCEPTS = /^s: (whole appends|ownership|two at once|interruptions|runs|journals): /

/** The cases that fail, of those that could. */
async function failing<S extends Store>(make: () => S, options?: StoreSuiteOptions<S>): Promise<string[]> {
  const failed: string[] = []
  for (const { name, run } of storeSuite("s", make, options)) {
    if (!CONCEPTS.test(name)) continue
    await run().catch(() => failed.push(name.slice(3)))
  }
  return failed
}

const SEEN = "whole appends: shows concurrent readers all parts of an append or none"
const SEEN_BY_OTHERS = "two at once: show all parts of an append or none of them to each other"
const CREATED = "interruptions: leave all of the append that creates a run, or none of it"
const APPENDED = "interruptions: leave all of a later append, or none of it"

const orders = ["records first", "row first"] as const

const split = (options: SplitOptions) => () => splitStore(options)
const reopen = (options: SplitOptions) => (store: ReturnType<typeof splitStore>) =>
  splitStore(options, store.medium)

describe("the store suite finds an append in two writes", () => {
  test.each(orders)("%s, with a turn of the microtask queue between them", async (order) => {
    const options = { order, between: async () => undefined }
    expect(await failing(split(options))).toContain(SEEN)
    expect(await failing(split(options), { reopen: reopen(options) })).toContain(SEEN_BY_OTHERS)
  })

  test.each(orders)("%s, with a turn of the event loop between them", async (order) => {
    expect(await failing(split({ order, between: settled }))).toContain(SEEN)
  })

  test.each(orders)("%s, at once, if it serializes values between them", async (order) => {
    const part = order === "records first" ? "part" : "record"
    expect(await failing(split({ order, writesLate: true }))).toContain(
      `whole appends: keeps nothing of an append if a ${part} cannot be stored`,
    )
  })

  test.each(orders)("%s, at once, if it can be interrupted", async (order) => {
    const interrupt = {
      after: (store: ReturnType<typeof splitStore>, writes: number) => {
        store.left = writes
      },
      reopen: reopen({ order }),
    }
    expect(await failing(split({ order }))).toEqual([])
    expect(await failing(split({ order }), { interrupt })).toEqual([CREATED, APPENDED])
  })
})

describe("the store suite finds live objects", () => {
  test("in a store that keeps the objects of callers", async () => {
    expect(await failing(referringStore)).toContain(
      "ownership: is not changed when a caller changes values that it passed",
    )
  })

  test("in a store that returns the same object to every caller", async () => {
    expect(await failing(cachingStore)).toEqual([
      "ownership: is not changed when a caller changes values that it received",
    ])
  })

  test("in a store that changes objects that it has returned", async () => {
    expect(await failing(liveStore)).toContain(
      "ownership: returns copies: later writes do not change a run, a question or a thread that was read",
    )
  })
})

describe("the registry suite", () => {
  const OWNED = "s: definitions: is not changed when a caller changes rows that it passed or received"
  const failingCases = async (make: () => Registry) => {
    const failed: string[] = []
    for (const { name, run } of registrySuite("s", make)) await run().catch(() => failed.push(name))
    return failed
  }

  test("finds a registry that keeps the row objects of callers", async () => {
    const referring = (): Registry => {
      const inner = memoryStore().registry
      const written = new Map<string, AgentRow>()
      return {
        ...inner,
        async write(change, expected) {
          await inner.write(change, expected)
          for (const agent of change.agents ?? []) written.set(agent.id, agent)
        },
        async agents(ids) {
          return (await inner.agents(ids)).map((agent) => written.get(agent.id) ?? agent)
        },
      }
    }
    expect(await failingCases(referring)).toEqual([OWNED])
  })

  test("finds nothing in the registry in memory", async () => {
    expect(await failingCases(() => memoryStore().registry)).toEqual([])
  })
})

test("the store suite finds nothing in a store that writes atomically", async () => {
  const guarded = (inner = memoryStore()): Store & { inner: Store; left: number } => {
    const store = {
      ...inner,
      inner,
      left: Number.POSITIVE_INFINITY,
      append(...args: Parameters<Store["append"]>) {
        if (store.left-- <= 0) throw new Error("The process is dead.")
        return inner.append(...args)
      },
    }
    return store
  }
  const found = await failing(guarded, {
    reopen: ({ inner }) => guarded(inner as ReturnType<typeof memoryStore>),
    interrupt: {
      after(store, writes) {
        store.left = writes
      },
      reopen: ({ inner }) => guarded(inner as ReturnType<typeof memoryStore>),
    },
  })
  expect(found).toEqual([])
})
