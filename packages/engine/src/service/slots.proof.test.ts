/**
 * Simulated fleets: several processes on one store, killed at random, whose runs share limits of a node and of a model
 * provider. No limit is ever exceeded, every run ends, and older tasks come before younger ones of their lane.
 */
import { expect, inject, test } from "vitest"
import { agent } from "../agents/index.ts"
import { type Clock, memoryStore, node, Runtime, type Store, workflow } from "../index.ts"
import { type Model, providerLimits } from "../models/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { seededRandom } from "../testing/simulation/simulate-options.ts"

const FLEETS = inject("isProof") ? 80 : 3
const SEED = inject("seed")
const RUNS = 40
const IN_ALL = 4
const PER_TENANT = 2
/** Milliseconds between two starts of the node, after a burst. */
const EVERY = 100
const BURST = 5
const REQUESTS = 3
const PER_MINUTE = 120
/** Milliseconds after which a dead process is noticed. */
const LEASE = 2_000

interface Job {
  readonly n: number
  readonly tenant: string
}

const sleeps = ({ n }: Job) => n % 7 === 0

const counts = { fleets: 0, kills: 0, tasks: 0, requests: 0, refusals: 0, mostTasks: 0, mostRequests: 0 }

/** What is executed by processes that are alive. */
class World {
  readonly clock = manualClock(1_000_000)
  readonly store = memoryStore()
  readonly problems: string[] = []
  readonly tasks = new Map<Process, Set<Job>>()
  readonly requests = new Map<Process, number>()
  readonly starts: number[] = []
  readonly requestStarts: number[] = []
  closedUntil = 0
  readonly random

  constructor(seed: number) {
    this.random = seededRandom(seed)
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
    // What slept first has started before.
    if (!sleeps(job)) this.starts.push(this.clock.now())
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
    this.requestStarts.push(this.clock.now())
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

/** Nothing of a process that is dead happens any more: no timer fires, no call of the store returns. */
class Process {
  isDead = false
  readonly runtime: Runtime
  readonly flow

  constructor(number: number, world: World) {
    const never = new Promise<never>(() => undefined)
    const { clock } = world
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
        rateLimit: { max: 1, period: EVERY, burst: BURST },
      },
      run: async (job: Job, ctx) => {
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
      machine: `machine ${number}`,
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

/** So many starts at most in any window, by a rate with a burst. */
function exceeds(times: readonly number[], every: number, burst: number): boolean {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted.some((first, i) => {
    const last = sorted[i + burst]
    return last !== undefined && last - first < every - 1e-6
  })
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
  // A task that has its slot may still wait for a place in its process: as many as have slots.
  expect(exceeds(world.starts, EVERY, BURST + IN_ALL), `SEED=${seed}: starts of tasks`).toBe(false)
  expect(exceeds(world.requestStarts, 60_000 / PER_MINUTE, PER_MINUTE), `SEED=${seed}: requests`).toBe(false)
  // Nothing is left behind.
  for (const { runId } of runs) expect(await store.slots.ofRun(runId), `SEED=${seed}`).toEqual([])
  for (const { runtime } of fleet) await runtime.close()
  await settled()
  // biome-ignore lint/suspicious/noConsole: the figures of the proof.
  if (counts.fleets === FLEETS) console.log(JSON.stringify(counts))
})
