/**
 * Faults of a store and of the clock while runs execute: a run stops with an error that says why, or continues. When the
 * fault is over, runs resume from their journals. Acknowledged work is neither lost nor repeated.
 */
import { append, channel, node, type Store, workflow } from "superstep"
import { manualClock } from "superstep/testing"
import { beforeEach, expect, test } from "vitest"
import { saveEvery } from "../../packages/engine/src/runtime/journal/load-run.ts"
import { openStore } from "../stores.ts"

const log = channel("log", append<string>())

/** Called with every round before its step. */
let onRound: (round: number) => unknown
/** The rounds whose steps ran. */
let steps: number[]
beforeEach(() => {
  onRound = () => undefined
  steps = []
})

/** The steps that ran since the last call. */
export function stepsRun(): number[] {
  return steps.splice(0)
}

/** Does something before the step of a round, instead of what it did before. */
export function beforeRound(round: number, act: () => unknown): void {
  onRound = (n) => (n === round ? act() : undefined)
}

/** Eight rounds with a step each, whose results fill pages. */
const round = node("round", async (n: number, ctx) => {
  await onRound(n)
  const text = await ctx.step("text", () => {
    steps.push(n)
    return `${n}`.repeat(6_000)
  })
  ctx.state.write(log, [text.slice(0, 1)])
  return n + 1
})
export const rounds = workflow("rounds", { state: [log] })
  .start(round)
  .loop(round, round, { while: (n) => n < 8 })
  .build()

export const DONE = {
  status: "completed",
  outputs: [8],
  state: { log: ["0", "1", "2", "3", "4", "5", "6", "7"] },
}

/** The recorded steps. */
export async function recorded(store: Store): Promise<number[]> {
  const records = await store.read("r", 0)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
  return records.flatMap(({ entry }) =>
    entry.type === "step.recorded" ? [Number((entry.value as string)[0])] : [],
  )
}

/** The heartbeats of this process stop: for the others it is dead. */
export async function isGone(store: Store): Promise<void> {
  for (const { id } of await store.holders()) await store.dismiss(id, { reason: "died" })
}

type ClosableStore = Store & { close(): Promise<void> | void }

/** A store that can be broken and repaired. */
export interface Breakable {
  readonly store: ClosableStore
  /** As somebody sees it whom the fault does not concern. */
  readonly address: string
  fault(): unknown
  repair(): unknown
}

export interface FaultTests {
  /** Faults that stop a run, by what they are. */
  readonly faults: {
    readonly [what: string]: {
      readonly code: string
      readonly message: RegExp
      make(): Breakable | Promise<Breakable>
    }
  }
  newAddress(): string
  /** Executes SQL on the store, on a connection of its own. */
  sql(address: string, text: string): unknown
}

export function faultTests({ faults, newAddress, sql }: FaultTests): void {
  test.each(Object.entries(faults))(
    "%s stops the run, which resumes when the fault is over",
    async (_, { code, message, make }) => {
      const { store, address, fault, repair } = await make()
      const reader = openStore(address)
      beforeRound(4, fault)
      const failure = await rounds.run(0, { store, runId: "r" }).result.catch((e) => e)
      expect(failure).toMatchObject({ code, message: expect.stringMatching(message) })
      beforeRound(-1, () => undefined)
      expect(await recorded(reader)).toEqual([0, 1, 2, 3])
      expect(await reader.run("r")).toMatchObject({ status: "running", seq: 9 })
      await reader.close()
      await repair()
      expect(await rounds.resume("r", { store }).result).toMatchObject(DONE)
      // Recorded steps were not repeated; the step that could not be recorded was.
      expect(stepsRun()).toEqual([0, 1, 2, 3, 4, 4, 5, 6, 7])
      expect(await recorded(store)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      await store.close()
    },
  )

  test("a damaged record is named and the run is left unchanged; once the record is fixed, the run resumes", async () => {
    const address = newAddress()
    await leftRun(address, 1_000)
    const store = openStore(address)
    const row = await store.run("r")
    await sql(address, "UPDATE journal SET body = '!' || body WHERE seq = 4")
    for (let i = 0; i < 2; i++) {
      const resumed = rounds.resume("r", { store }).result
      await expect(resumed).rejects.toMatchObject({
        code: "STORE_CORRUPT",
        message: expect.stringContaining("r"),
      })
    }
    const after = await store.run("r")
    expect(after).toMatchObject({ status: row?.status, seq: row?.seq })
    expect(after?.holder).toBeUndefined()
    expect(stepsRun()).toEqual([])
    // Other runs are none the worse for it.
    expect(await rounds.run(6, { store, runId: "other" }).result).toMatchObject({ status: "completed" })
    await sql(address, "UPDATE journal SET body = substr(body, 2) WHERE body LIKE '!%'")
    stepsRun()
    expect(await rounds.resume("r", { store }).result).toMatchObject(DONE)
    expect(stepsRun()).toEqual([4, 5, 6, 7])
    await store.close()
  })

  test("a snapshot that is damaged is named, not passed over in silence", async () => {
    const address = newAddress()
    await leftRun(address, 2)
    await sql(address, "UPDATE snapshots SET body = '{\"version\":'")
    const store = openStore(address)
    // Else the journal is too short for a snapshot, and none is looked for.
    saveEvery(store, 2)
    await expect(rounds.resume("r", { store }).result).rejects.toMatchObject({ code: "STORE_CORRUPT" })
    expect(stepsRun()).toEqual([])
    await store.close()
  })

  test("a clock that goes back, in a process or from one to the next, delays what waits and loses nothing", async () => {
    const waiting = node("waiting", async (text: string, ctx) => {
      const [answer] = await Promise.all([
        ctx.ask({
          prompt: "well?",
          timeout: 5_000,
          escalate: [{ to: "boss", timeout: 5_000 }],
          default: "none",
        }),
        ctx.sleep(2_000),
      ])
      await ctx.sleep(1_000)
      return `${text} ${answer}`
    })
    const flow = workflow("waiting").start(waiting).build()
    const address = newAddress()

    const first = openStore(address)
    const clock = manualClock(1_000_000)
    void flow.run("x", { store: first, clock, runId: "r" }).result.catch(() => undefined)
    await until(async () => (await first.run("r"))?.seq === 3 && clock.pending === 2)
    clock.set(400_000)
    await clock.advance(100_000)
    expect(await first.run("r")).toMatchObject({ seq: 3 })
    await clock.advance(502_000)
    await until(async () => (await first.run("r"))?.seq === 4)
    await isGone(first)

    const second = openStore(address)
    const earlier = manualClock(900_000)
    const run = flow.resume("r", { store: second, clock: earlier })
    // What comes of one timer sets the next.
    await until(async () => {
      await earlier.advance(1_000)
      return (await second.run("r"))?.status === "completed"
    })
    expect(await run.result).toMatchObject({ status: "completed", outputs: ["x none"] })
    // Both deadlines of the question, and a sleep after it.
    expect(earlier.now()).toBeGreaterThanOrEqual(1_011_000)
    const entries = (await second.read("r", 0)).map(({ entry }) => entry.type)
    expect(entries.filter((type) => type === "timer.fired")).toHaveLength(4)
    await second.close()
    await first.close()
  })
}

/** A run that its process left in the middle. */
async function leftRun(address: string, snapshots: number): Promise<void> {
  const store = openStore(address)
  const dying: Store = {
    ...store,
    append: (...args) => (args[1] < 9 ? store.append(...args) : new Promise(() => undefined)),
  }
  saveEvery(dying, snapshots)
  const left = new Promise<void>((resolve) => {
    beforeRound(4, resolve)
  })
  void rounds.run(0, { store: dying, runId: "r" })
  await left
  await isGone(store)
  await store.close()
  beforeRound(-1, () => undefined)
  stepsRun()
}

/** Lets everything happen until this holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
