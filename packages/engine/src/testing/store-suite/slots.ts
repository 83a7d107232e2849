/** Store suite: slots for parts of runs. Who takes one, in what order, within which limits (T1 … T3 of the port). */
import assert from "node:assert/strict"
import type { PoolSlots, SlotEnd, SlotLane, SlotRequest, Store } from "../../runtime/index.ts"
import { later, rateExcess, type Start } from "./rates.ts"
import { holder, plain, START, type StoreCases } from "./steps.ts"

const two: readonly SlotLane[] = [{ name: "two", max: 2 }]
/** Nothing is refilled while a case runs. */
const HOUR = 3_600_000
const slow = (burst: number, cost?: number): SlotLane => ({
  name: "slow",
  rate: { every: HOUR, burst },
  cost,
})

type Asked = Partial<Omit<SlotRequest, "id">>

async function take(store: Store, id: string, asked: Asked = {}): Promise<PoolSlots> {
  const by = asked.holder ?? "worker"
  await store.beat(holder(by))
  return await store.slots.take({
    id,
    holder: by,
    pool: "pool",
    lanes: two,
    score: START,
    now: () => START,
    ...asked,
  })
}

/** Whether each of the slots was taken as soon as it was asked for. */
async function taken(store: Store, ids: readonly string[], asked: Asked = {}): Promise<string[]> {
  const found: string[] = []
  for (const id of ids) if ((await take(store, id, asked)).taken.has(id)) found.push(id)
  return found
}

async function leave(store: Store, id: string, end: Partial<SlotEnd> = {}): Promise<void> {
  await store.slots.leave({ id, pool: "pool", now: () => START, ...end })
}

async function checked(
  store: Store,
  query: { readonly holder?: string; readonly pool?: string } = {},
): Promise<{ readonly taken: string[]; readonly waiting: string[]; readonly retryIn: number | undefined }> {
  const state = await store.slots.check({ holder: "worker", pool: "pool", now: () => START, ...query })
  return { taken: [...state.taken].sort(), waiting: [...state.waiting].sort(), retryIn: state.retryIn }
}

function isSoon(milliseconds: number | undefined, most: number): void {
  assert.ok(milliseconds !== undefined && milliseconds > 0 && milliseconds <= most, `in ${milliseconds} ms`)
}

export const slotCases: StoreCases = {
  async "gives as many as a lane has, and the next when one is left"(store) {
    assert.deepEqual(await taken(store, ["a", "b", "c", "d"]), ["a", "b"])
    assert.deepEqual(await checked(store), { taken: ["a", "b"], waiting: ["c", "d"], retryIn: undefined })
    await leave(store, "b")
    assert.deepEqual(await checked(store), { taken: ["a", "c"], waiting: ["d"], retryIn: undefined })
    await leave(store, "d")
    await leave(store, "d")
    await leave(store, "never asked for")
    await leave(store, "a")
    assert.deepEqual(await checked(store), { taken: ["c"], waiting: [], retryIn: undefined })
  },

  async "gives a slot once, however often it is asked for"(store) {
    assert.deepEqual(await taken(store, ["a", "a", "b", "c", "c"]), ["a", "a", "b"])
    await leave(store, "a")
    assert.deepEqual(await checked(store), { taken: ["b", "c"], waiting: [], retryIn: undefined })
    await leave(store, "c")
    assert.deepEqual(await checked(store), { taken: ["b"], waiting: [], retryIn: undefined })
  },

  async "gives them in the order of their scores, then in that in which they were asked for (T3)"(store) {
    await taken(store, ["a", "b"])
    await take(store, "late", { score: START + 5 })
    await take(store, "first", { score: START + 1 })
    await take(store, "second", { score: START + 1, holder: "other" })
    await take(store, "urgent", { score: START - 60_000 })
    const order: string[] = []
    for (let last = "a"; order.length < 4; last = order.at(-1) as string) {
      await leave(store, last)
      const all = [...(await checked(store)).taken, ...(await checked(store, { holder: "other" })).taken]
      order.push(...all.filter((id) => id !== "b" && !order.includes(id)))
    }
    assert.deepEqual(order, ["urgent", "first", "second", "late"])
  },

  async "lets a slot that waits for a narrow lane hold up nobody in a broad one (T3)"(store) {
    const of = (tenant: string): readonly SlotLane[] => [
      { name: `tenant ${tenant}`, max: 1 },
      { name: "all", max: 3 },
    ]
    await take(store, "a1", { lanes: of("a") })
    await take(store, "a2", { lanes: of("a") })
    await take(store, "b1", { lanes: of("b") })
    await take(store, "c1", { lanes: of("c") })
    await take(store, "d1", { lanes: of("d") })
    assert.deepEqual((await checked(store)).taken, ["a1", "b1", "c1"])
    // It is the first in its own lane now, and before d1 in the broad one.
    await leave(store, "a1")
    assert.deepEqual((await checked(store)).taken, ["a2", "b1", "c1"])
    await leave(store, "c1")
    assert.deepEqual((await checked(store)).taken, ["a2", "b1", "d1"])
  },

  async "lets a slot that waits for a broad lane keep its turn in a narrow one (T3)"(store) {
    const lanes: readonly SlotLane[] = [
      { name: "narrow", max: 1 },
      { name: "broad", max: 1 },
    ]
    await take(store, "other", { lanes: [{ name: "broad", max: 1 }] })
    await take(store, "first", { lanes })
    await take(store, "narrow only", { lanes: [{ name: "narrow", max: 1 }] })
    assert.deepEqual((await checked(store)).taken, ["other"])
    await leave(store, "other")
    assert.deepEqual((await checked(store)).taken, ["first"])
  },

  async "gives no more than a rate admits, and says when it admits the next (T2)"(store) {
    const lanes = [slow(2)]
    assert.deepEqual(await taken(store, ["a", "b", "c"], { lanes }), ["a", "b"])
    await leave(store, "a")
    await leave(store, "b")
    const { taken: none, waiting, retryIn } = await checked(store)
    assert.deepEqual([none, waiting], [[], ["c"]])
    isSoon(retryIn, HOUR)
    // A slot that was never taken has used nothing up.
    await leave(store, "c")
    isSoon((await take(store, "d", { lanes })).retryIn, HOUR)
  },

  async "counts what a slot costs, and what it cost in the end"(store) {
    await take(store, "a", { lanes: [slow(10, 6)] })
    assert.ok(!(await take(store, "b", { lanes: [slow(10, 6)] })).taken.has("b"))
    assert.ok(!(await take(store, "small", { lanes: [slow(10, 1)] })).taken.has("small"))
    await leave(store, "a", { costs: [3] })
    assert.deepEqual((await checked(store)).taken, ["b", "small"])
    // Nothing is left, and a burst is owed.
    await leave(store, "b", { costs: [1_000] })
    const { retryIn = 0 } = await take(store, "c", { lanes: [slow(10, 1)] })
    isSoon(retryIn - 10 * HOUR, HOUR)
  },

  async "gives a slot that costs more than a burst when nothing else was begun"(store) {
    assert.deepEqual(await taken(store, ["huge"], { lanes: [slow(10, 50)] }), ["huge"])
    assert.deepEqual(await taken(store, ["a"], { lanes: [slow(10, 1)] }), [])
    assert.deepEqual(await taken(store, ["elsewhere"], { lanes: [slow(10, 50)], pool: "other" }), [
      "elsewhere",
    ])
  },

  async "closes a pool to everybody for a time"(store) {
    await taken(store, ["a", "b"])
    await take(store, "c", { holder: "other" })
    await leave(store, "a", { closeFor: HOUR })
    const { taken: none, retryIn } = await checked(store, { holder: "other" })
    assert.deepEqual(none, [])
    isSoon(retryIn, HOUR)
    // The longer time counts.
    await leave(store, "b", { closeFor: 1 })
    assert.deepEqual((await checked(store, { holder: "other" })).waiting, ["c"])
    assert.deepEqual(await taken(store, ["d"], { pool: "another pool" }), ["d"])
  },

  async "takes back the slots of a holder that is gone, and its places in line (T1)"(store) {
    await taken(store, ["a", "b", "c"], { holder: "dying" })
    await take(store, "d", { holder: "living" })
    await store.dismiss("dying", { reason: "died" })
    assert.deepEqual((await checked(store, { holder: "living" })).taken, ["d"])
    await store.beat(holder("dying"))
    const back = await checked(store, { holder: "dying" })
    assert.deepEqual([back.taken, back.waiting], [[], []])
    assert.deepEqual(await taken(store, ["e", "f"], { holder: "living" }), ["e"])
  },

  async "never gives more than a lane has to many that ask and leave at once (T2)"(store) {
    const holders = Array.from({ length: 8 }, (_, i) => `holder ${i}`)
    for (const one of holders) await store.beat(holder(one))
    const ask = (id: string, by: string) =>
      store.slots.take({ id, holder: by, pool: "pool", lanes: two, score: START, now: () => START })
    await Promise.all(holders.flatMap((by) => [ask(`${by} a`, by), ask(`${by} b`, by)]))
    let left = 0
    for (;;) {
      const states = await Promise.all(holders.map((one) => checked(store, { holder: one })))
      const all = states.flatMap((state) => state.taken)
      if (all.length === 0) break
      assert.equal(all.length, Math.min(2, 16 - left))
      await Promise.all(all.map((id) => leave(store, id)))
      left += all.length
    }
    assert.equal(left, 16)
  },

  async "gives no more than a rate admits to many that ask at once, and gives each its slot (T2)"(store) {
    const rate = { every: 10, burst: 3 }
    const lanes: readonly SlotLane[] = [{ name: "fast", rate }]
    const holders = Array.from({ length: 4 }, (_, i) => `holder ${i}`)
    for (const one of holders) await store.beat(holder(one))
    const starts: Start[] = []
    await Promise.all(
      holders.map(async (by) => {
        for (let n = 0; n < 4; n++) {
          const id = `${by} ${n}`
          const query = { holder: by, pool: "pool", now: Date.now }
          let asked = Date.now()
          let state = await store.slots.take({ ...query, id, lanes, score: START })
          while (!state.taken.has(id)) {
            await later(state.retryIn ?? 1)
            // It may have been granted by what others asked since it was last seen to wait.
            const seen = asked
            asked = Date.now()
            state = await store.slots.check(query)
            if (state.taken.has(id)) asked = seen
          }
          starts.push({ earliest: asked, latest: Date.now() + 1 })
          await store.slots.leave({ id, pool: "pool", now: Date.now })
        }
      }),
    )
    assert.equal(starts.length, 16)
    assert.equal(rateExcess(starts, rate), undefined)
  },

  async "shows what a run has and waits for"(store) {
    const by = (runId: string) => ({ runId, node: "fetch" })
    await taken(store, ["a", "b", "c"], { by: by("other") })
    await take(store, "d", { by: by("run") })
    assert.deepEqual(plain(await store.slots.ofRun("run")), [
      { node: "fetch", pool: "pool", lanes: ["two"], taken: false, ahead: 1 },
    ])
    assert.equal((await store.slots.ofRun("other")).filter((slot) => slot.taken).length, 2)
    assert.deepEqual(await store.slots.ofRun("unknown"), [])
  },

  async "keeps any name, however long or odd"(store) {
    for (const [i, name] of ["__proto__", "x".repeat(5_000), "\ud800 \u0000 ' \" \\", ""].entries()) {
      const lanes = [{ name, max: 1, rate: { every: HOUR, burst: 5 } }]
      const asked = { lanes, pool: name, holder: `h ${name}`, by: { runId: `r ${name}`, node: name } }
      assert.deepEqual(await taken(store, [`a ${i}`, `b ${i}`], asked), [`a ${i}`])
      const [first] = await store.slots.ofRun(`r ${name}`)
      assert.deepEqual(plain(first), { node: name, pool: name, lanes: [name], taken: true, ahead: 0 })
      await leave(store, `a ${i}`, { pool: name })
      assert.deepEqual((await checked(store, { pool: name, holder: `h ${name}` })).taken, [`b ${i}`])
    }
  },
}
