/**
 * Simulated fleets: several processes on one store, killed at random, whose runs share limits of a node and of a model
 * provider. No limit is ever exceeded, every run ends, and older tasks come before younger ones of their lane.
 */
import { expect, inject, test } from "vitest"
import { agent } from "../agents/index.ts"
import {
  type Clock,
  memoryStore,
  node,
  type PoolSlots,
  Runtime,
  type SlotRequest,
  type Slots,
  type Store,
  type StoredHolder,
  workflow,
} from "../index.ts"
import { type Model, providerLimits } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { seededRandom } from "../testing/simulation/simulate-options.ts"
import { rateExcess, startsAt } from "../testing/store-suite/rates.ts"

const FLEETS = inject("isProof") ? 80 : 3
const SEED = inject("seed")
const RUNS = 40
const IN_ALL = 4
const PER_TENANT = 2
/** Of the starts of the node: in all, and for each tenant. */
const RATES = { all: { every: 100, burst: 5 }, tenant: { every: 280, burst: 2 } }
const REQUESTS = 3
const PER_MINUTE = 30
/** Milliseconds after which a dead process is noticed. */
const LEASE = 2_000

interface Job {
  readonly n: number
  readonly tenant: string
}

const sleeps = ({ n }: Job) => n % 7 === 0

const counts = {
  fleets: 0,
  kills: 0,
  tasks: 0,
  starts: 0,
  requests: 0,
  refusals: 0,
  mostTasks: 0,
  mostRequests: 0,
}

/** What is executed by processes that are alive. */
class World {
  readonly clock = manualClock(1_000_000)
  readonly store
  readonly problems: string[] = []
  readonly tasks = new Map<Process, Set<Job>>()
  readonly requests = new Map<Process, number>()
  /** When the store admitted slots that count against rates, and when handlers were called. */
  readonly admitted: Admitted[] = []
  readonly called: Pick<Admitted, "at" | "runId" | "machine">[] = []
  closedUntil = 0
  readonly random

  constructor(seed: number) {
    this.random = seededRandom(seed)
    const store = memoryStore()
    this.store = { ...store, slots: observed(store, this.admitted) }
  }

  async pause(process: Process, most: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const at = this.clock.now() + 20 + this.random.below(most)
      this.clock.setTimer(at, () => process.isDead || resolve())
    })
  }

  async work(job: Job, process: Process): Promise<void> {
    const own = this.tasks.get(process) ?? new Set()
    this.tasks.set(process, own)
    own.add(job)
    counts.tasks++
    const all = [...this.tasks.values()].flatMap((jobs) => [...jobs])
    const ofTenant = all.filter(({ tenant }) => tenant === job.tenant).length
    counts.mostTasks = Math.max(counts.mostTasks, all.length)
    if (all.length > IN_ALL) this.problems.push(`${all.length} tasks at the same time`)
    if (ofTenant > PER_TENANT) this.problems.push(`${ofTenant} tasks of ${job.tenant}`)
    await this.pause(process, 400)
    own.delete(job)
  }

  /** A provider that refuses now and then. */
  async request(process: Process): Promise<boolean> {
    this.requests.set(process, (this.requests.get(process) ?? 0) + 1)
    counts.requests++
    const all = [...this.requests.values()].reduce((sum, count) => sum + count, 0)
    counts.mostRequests = Math.max(counts.mostRequests, all)
    if (all > REQUESTS) this.problems.push(`${all} requests at the same time`)
    if (this.clock.now() < this.closedUntil)
      this.problems.push("a request while the provider asked for patience")
    await this.pause(process, 300)
    this.requests.set(process, (this.requests.get(process) ?? 0) - 1)
    const isRefused = this.random.chance(0.05)
    if (isRefused) {
      counts.refusals++
      this.closedUntil = Math.max(this.closedUntil, this.clock.now() + 3_000)
    }
    return isRefused
  }
}

/** A slot that the store has granted, and that counts against the rates of these lanes. */
interface Admitted {
  readonly at: number
  readonly pool: string
  readonly lanes: readonly string[]
  readonly runId: string
  /** That of the process which has it. */
  readonly machine: string | undefined
}

/**
 * Records the moment at which each slot is taken. A call of one process can admit the slots of another: after each call, it looks
 * up all processes that wait, at the same moment, at which nothing more can be admitted.
 */
function observed({ slots, holders: known }: Store, admitted: Admitted[]): Slots {
  const waiting = new Map<string, SlotRequest>()
  const look = (pool: string, now: () => number) => {
    const holders = new Set<string>()
    for (const request of waiting.values()) if (request.pool === pool) holders.add(request.holder)
    for (const holder of holders) {
      const { machine } = (known() as readonly StoredHolder[]).find(({ id }) => id === holder) ?? {}
      for (const id of (slots.check({ holder, pool, now }) as PoolSlots).taken) {
        const { lanes = [], by } = waiting.get(id) ?? {}
        waiting.delete(id)
        const limited = lanes.flatMap(({ name, rate }) => (rate === undefined ? [] : [name]))
        if (limited.length === 0) continue
        admitted.push({ at: now(), pool, lanes: limited, runId: by?.runId ?? "", machine })
      }
    }
  }
  return {
    ...slots,
    take(request) {
      waiting.set(request.id, request)
      slots.take(request)
      look(request.pool, request.now)
      return slots.check(request)
    },
    check(query) {
      slots.check(query)
      look(query.pool, query.now)
      return slots.check(query)
    },
    leave(end) {
      waiting.delete(end.id)
      slots.leave(end)
      look(end.pool, end.now)
    },
  }
}

/** Nothing of a process that is dead happens any more: no timer fires, no call of the store returns. */
class Process {
  isDead = false
  readonly runtime: Runtime
  readonly flow

  constructor(number: number, world: World) {
    const never = new Promise<never>(() => undefined)
    const { clock } = world
    const machine = `machine ${number}`
    const own: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic?.() ?? clock.now(),
      setTimer: (at, callback) => clock.setTimer(at, () => (this.isDead ? undefined : callback())),
    }
    const guarded = <T extends object>(part: T): T =>
      new Proxy(part, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown
          if (name === "queue" || name === "slots") return guarded(value as object)
          if (typeof value !== "function") return value
          return (...args: unknown[]) => (this.isDead ? never : Reflect.apply(value, target, args))
        },
      })
    const fetch = node({
      id: "fetch",
      flow: {
        concurrency: [{ max: IN_ALL }, { max: PER_TENANT, key: ({ tenant }: Job) => tenant }],
        rateLimit: [
          { max: 1, period: RATES.tenant.every, burst: RATES.tenant.burst, key: ({ tenant }: Job) => tenant },
          { max: 1, period: RATES.all.every, burst: RATES.all.burst },
        ],
      },
      run: async (job: Job, ctx) => {
        world.called.push({ at: clock.now(), runId: ctx.runId, machine })
        if (sleeps(job)) await ctx.sleep(500)
        await world.work(job, this)
        return `Summarize ${job.n}`
      },
    })
    const limits = providerLimits({ acme: { concurrency: REQUESTS, perMinute: PER_MINUTE } }, { clock: own })
    const writer = agent({
      name: "writer",
      model: modelOf(() => world.request(this)),
      stream: false,
      calling: { limits, retry: { attempts: 50 }, random: () => 0 },
    })
    this.flow = workflow("job").chain(fetch, writer).build()
    this.runtime = new Runtime({
      store: guarded(world.store as Store),
      workflows: [this.flow],
      clock: own,
      machine,
      lease: LEASE,
      concurrency: 6,
      maxTakeovers: 1_000,
    })
  }
}

function modelOf(request: () => Promise<boolean>): Model {
  return {
    specificationVersion: "v3",
    provider: "acme",
    modelId: "m",
    supportedUrls: {},
    async doGenerate() {
      if (await request())
        throw Object.assign(new Error("Slow down"), {
          name: "AI_APICallError",
          statusCode: 429,
          isRetryable: true,
          responseHeaders: { "retry-after": "3" },
          url: "https://acme.example",
          requestBodyValues: {},
        })
      return {
        content: [{ type: "text", text: "Done." }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      }
    },
    doStream: () => Promise.reject(new Error("not streamed")),
  }
}

/**
 * A task starts in the moment in which the store gives it its slot. Its handler may be called later: a task that has waited for
 * its slot for more than a second also waits for a place in its process, however long that takes. So rates hold for the former,
 * exactly, and every call of a handler has a start of its own before it, in its process: also a call that repeats one of a
 * process that died.
 */
function checkRates({ admitted, called }: World, seed: number): void {
  const ofTasks = admitted.filter(({ pool }) => pool === "job/fetch")
  const ofRequests = admitted.filter(({ pool }) => pool === "model acme")
  const byLane = new Map<string, number[]>()
  for (const { at, lanes } of ofTasks)
    for (const lane of lanes) byLane.set(lane, [...(byLane.get(lane) ?? []), at])
  expect(byLane.size, `SEED=${seed}`).toBe(4)
  for (const [lane, times] of byLane) {
    const rate = lane === "rateLimit[1]" ? RATES.all : RATES.tenant
    expect(rateExcess(startsAt(times), rate), `SEED=${seed}: ${lane}`).toBeUndefined()
  }
  const perMinute = { every: 60_000 / PER_MINUTE, burst: PER_MINUTE }
  const requests = startsAt(ofRequests.map(({ at }) => at))
  expect(rateExcess(requests, perMinute), `SEED=${seed}: requests`).toBeUndefined()
  const left = [...ofTasks]
  for (const { at, runId, machine } of called) {
    const own = left.findIndex(
      (start) => start.runId === runId && start.machine === machine && start.at <= at,
    )
    expect(own, `SEED=${seed}: ${runId} is called without a start`).toBeGreaterThanOrEqual(0)
    left.splice(own, 1)
  }
  counts.starts += ofTasks.length
}

test.each(Array.from({ length: FLEETS }, (_, i) => SEED + i))("seed %i", async (seed) => {
  const world = new World(seed)
  const { clock, store, random } = world
  let made = 0
  let kills = 0
  const fleet = Array.from({ length: 3 }, () => new Process(++made, world))
  const [first] = fleet as [Process]
  for (let n = 0; n < RUNS; n++) {
    const tenant = n % 4 === 0 ? "small" : `big ${n % 2}`
    await first.runtime.enqueue(first.flow, { n, tenant }, { key: `${n}` })
  }
  for (const { runtime } of fleet) void runtime.recover().catch(() => undefined)
  const isDone = async () => (await store.runs({ status: ["completed"] })).length === RUNS
  for (let round = 0; round < 1_500 && !(await isDone()); round++) {
    await clock.advance(100)
    if (kills < 6 && random.chance(0.05)) {
      const victim = random.below(fleet.length)
      const dying = fleet[victim] as Process
      dying.isDead = true
      world.tasks.delete(dying)
      world.requests.delete(dying)
      kills++
      fleet[victim] = new Process(++made, world)
      void fleet[victim]?.runtime.recover().catch(() => undefined)
    }
  }
  counts.kills += kills
  counts.fleets++
  expect(world.problems, `SEED=${seed}`).toEqual([])
  const runs = await store.runs({})
  expect(
    runs.map(({ status }) => status),
    `SEED=${seed}`,
  ).toEqual(Array(RUNS).fill("completed"))
  checkRates(world, seed)
  // Nothing is left behind.
  for (const { runId } of runs) expect(await store.slots.ofRun(runId), `SEED=${seed}`).toEqual([])
  for (const { runtime } of fleet) await runtime.close()
  await settled()
  // biome-ignore lint/suspicious/noConsole: the figures of the proof.
  if (counts.fleets === FLEETS) console.log(JSON.stringify(counts))
})
