/** A process that fires schedules dies at any call of its store, before or after the store has made it: each time has one run. */
import { expect, test } from "vitest"
import { type Clock, memoryStore, node, Runtime, type Store, workflow } from "../../index.ts"
import { manualClock } from "../../testing/index.ts"

const START = Date.parse("2026-03-28T23:30Z")
const MINUTE = 60_000
/** Both catch-ups, demands and a change of the clock: 02:30 does not exist on this day. */
const TIMES = ["2026-03-29T01:00:00.000Z"]
const MINUTES = Array.from({ length: 4 }, (_, i) =>
  new Date(Date.parse("2026-03-29T00:57Z") + i * MINUTE).toISOString(),
)

const flow = workflow("flow")
  .start(node("a", (input: unknown) => input ?? "nothing"))
  .build()

/** Nothing of it happens once it is dead: no timer fires, no call of the store returns. */
class Process {
  isDead = false
  calls = 0
  readonly clock = manualClock(START)
  readonly runtime: Runtime

  constructor(store: Store, machine: string, death?: { readonly call: number; readonly isMade: boolean }) {
    const own: Clock = {
      now: () => this.clock.now(),
      monotonic: () => this.clock.monotonic?.() ?? this.clock.now(),
      setTimer: (at, callback) => this.clock.setTimer(at, () => (this.isDead ? undefined : callback())),
    }
    const never = new Promise<never>(() => undefined)
    const guarded = <T extends object>(part: T): T =>
      new Proxy(part, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown
          if (name === "queue" || name === "schedules") return guarded(value as object)
          if (typeof value !== "function") return value
          return (...args: unknown[]) => {
            if (this.isDead) return never
            this.calls++
            if (this.calls !== death?.call) return Reflect.apply(value, target, args)
            this.isDead = true
            if (death.isMade) Reflect.apply(value, target, args)
            return never
          }
        },
      })
    this.runtime = new Runtime({ store: guarded(store), workflows: [flow], clock: own, machine })
  }
}

/** A day of two processes, the first of which may die: the times that have runs, by schedule. */
async function day(death?: { readonly call: number; readonly isMade: boolean }) {
  const store = memoryStore()
  const setUp = new Process(store, "set-up")
  const { schedules } = setUp.runtime
  await schedules.set(flow, { id: "berlin", cron: "30 2 * * *", timeZone: "Europe/Berlin" })
  await schedules.set(flow, { id: "often", every: MINUTE, catchUp: "all", maxCatchUp: 4, overlap: "allow" })
  await schedules.set(flow, { id: "last", every: 30 * MINUTE, overlap: "cancel-previous" })
  await setUp.runtime.close()
  const [first, second] = [new Process(store, "one", death), new Process(store, "two")]
  const noon = Date.parse("2026-03-29T01:00:10Z")
  for (const { clock } of [first, second]) clock.set(noon)
  // It never comes back from the call that it dies in.
  first.runtime.recover().catch(() => undefined)
  await first.clock.advance(3_000)
  const callsOfFirst = first.calls
  await second.runtime.recover()
  await second.clock.advance(30_000)
  const runs = [...(await store.runs({}))].reverse()
  const times = (id: string) =>
    runs.flatMap(({ labels }) => (labels?.schedule === id ? [labels.scheduledAt] : [])).sort()
  await second.runtime.close()
  return {
    callsOfFirst,
    statuses: runs.map(({ status }) => status),
    berlin: times("berlin"),
    often: times("often"),
    last: times("last"),
  }
}

test("each time has one run, whatever call a process dies in", async () => {
  const { callsOfFirst } = await day()
  expect(callsOfFirst).toBeGreaterThan(30)
  for (let call = 1; call <= callsOfFirst; call++) {
    for (const isMade of [false, true]) {
      const { berlin, often, last } = await day({ call, isMade })
      expect({ call, isMade, berlin, often, last }).toEqual({
        call,
        isMade,
        berlin: TIMES,
        often: MINUTES,
        last: ["2026-03-29T01:00:00.000Z"],
      })
    }
  }
})
