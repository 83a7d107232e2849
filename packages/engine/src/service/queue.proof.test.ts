/**
 * Simulated fleets: several processes on one store, killed at random, while tenants enqueue runs of a limited workflow. No
 * limit is ever exceeded, no run is lost or executed twice at a time, and a small tenant does not wait for a large one.
 */
import { expect, inject, test } from "vitest"
import { type Clock, memoryStore, node, Runtime, type Store, workflow } from "../index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { seededRandom } from "../testing/simulation/simulate-options.ts"
import { rateExcess, startsAt } from "../testing/store-suite/rates.ts"

const FLEETS = inject("isProof") ? 80 : 3
const SEED = inject("seed")
const BIG = 40
const SMALL = 6
const PER_TENANT = 2
const IN_ALL = 3
/** Of the starts of each tenant, and of all of them. */
const RATES = { tenant: { every: 300, burst: 2 }, all: { every: 110, burst: 4 } }

const counts = { fleets: 0, kills: 0, starts: 0 }

interface Job {
  readonly n: number
  readonly tenant: string
}

/** Nothing of a process that is dead happens any more: no timer fires, no call of the store returns. */
class Process {
  isDead = false
  readonly runtime: Runtime

  constructor(
    number: number,
    store: Store,
    clock: Clock,
    run: (job: Job, process: Process) => Promise<number>,
  ) {
    const never = new Promise<never>(() => undefined)
    const own: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic?.() ?? clock.now(),
      setTimer: (at, callback) => clock.setTimer(at, () => (this.isDead ? undefined : callback())),
    }
    const guarded = <T extends object>(part: T): T =>
      new Proxy(part, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown
          if (name === "queue") return guarded(value as object)
          if (typeof value !== "function") return value
          return (...args: unknown[]) => (this.isDead ? never : Reflect.apply(value, target, args))
        },
      })
    const flow = workflow("job", {
      flow: {
        concurrency: [{ max: IN_ALL }, { max: PER_TENANT, key: ({ tenant }: Job) => tenant }],
        rateLimit: [
          { max: 1, period: RATES.tenant.every, burst: RATES.tenant.burst, key: ({ tenant }: Job) => tenant },
          { max: 1, period: RATES.all.every, burst: RATES.all.burst },
        ],
        tenant: ({ tenant }: Job) => tenant,
      },
    })
      .chain(
        node("nap", async (job: Job, ctx) => {
          if (job.n % 5 === 0) await ctx.sleep(200 + job.n)
          return job
        }),
        node("work", (job: Job) => run(job, this)),
      )
      .build()
    this.flow = flow
    this.runtime = new Runtime({
      store: guarded(store),
      workflows: [flow],
      clock: own,
      machine: `machine ${number}`,
      lease: 2_000,
      concurrency: 2,
      maxTakeovers: 1_000,
    })
  }

  readonly flow
}

test.each(Array.from({ length: FLEETS }, (_, i) => SEED + i))("seed %i", async (seed) => {
  const random = seededRandom(seed)
  const clock = manualClock(1_000_000)
  const store = memoryStore()
  const executing = new Map<Process, Job[]>()
  const problems: string[] = []
  let kills = 0

  const run = async (job: Job, process: Process) => {
    const own = executing.get(process) ?? []
    executing.set(process, [...own, job])
    const all = [...executing.values()].flat()
    const ofTenant = all.filter(({ tenant }) => tenant === job.tenant)
    if (all.length > IN_ALL) problems.push(`${all.length} execute at the same time`)
    if (ofTenant.length > PER_TENANT) problems.push(`${ofTenant.length} of ${job.tenant} execute`)
    if (ofTenant.filter(({ n }) => n === job.n).length > 1)
      problems.push(`${job.tenant} ${job.n} executes twice`)
    await new Promise<void>((resolve) => {
      clock.setTimer(clock.now() + 50 + random.below(400), () => process.isDead || resolve())
    })
    executing.set(
      process,
      (executing.get(process) ?? []).filter((one) => one !== job),
    )
    return job.n
  }

  let made = 0
  const fleet = Array.from({ length: 3 }, () => new Process(++made, store, clock, run))
  const [first] = fleet as [Process]
  const enqueue = async (tenant: string, count: number) => {
    for (let n = 0; n < count; n++)
      await first.runtime.enqueue(first.flow, { n, tenant }, { key: `${tenant} ${n}` })
  }
  await enqueue("big", BIG)
  await enqueue("small", SMALL)
  for (const { runtime } of fleet) void runtime.recover().catch(() => undefined)

  const heldOf = async () => (await store.runs({})).filter(({ holder }) => holder !== undefined)
  for (let round = 0; round < 600; round++) {
    await clock.advance(100)
    const held = await heldOf()
    if (held.length > IN_ALL) problems.push(`${held.length} runs are held`)
    if (kills < 6 && random.chance(0.06)) {
      const victim = random.below(fleet.length)
      const dying = fleet[victim] as Process
      dying.isDead = true
      executing.delete(dying)
      kills++
      const next = new Process(++made, store, clock, run)
      fleet[victim] = next
      void next.runtime.recover().catch(() => undefined)
    }
    if ((await store.runs({ status: ["completed"] })).length === BIG + SMALL) break
  }
  expect(problems, `SEED=${seed}`).toEqual([])
  const runs = await store.runs({})
  expect(runs.map(({ status }) => status)).toEqual(Array(BIG + SMALL).fill("completed"))
  // A run starts when the store first admits its claim, and once: a process that claims it again, after a death, needs no
  // second start.
  const tenants = new Map(runs.map(({ runId, flow }) => [runId, flow?.tenant]))
  const started = (await store.subscriptions.events(0, 1_000)).filter(({ type }) => type === "run.started")
  expect(started, `SEED=${seed}`).toHaveLength(BIG + SMALL)
  const startsOf = (tenant: string) =>
    started.filter(({ runId }) => tenants.get(runId) === tenant).map(({ at }) => at)
  const all = startsAt(started.map(({ at }) => at))
  expect(rateExcess(all, RATES.all), `SEED=${seed}`).toBeUndefined()
  for (const tenant of ["big", "small"]) {
    const own = startsAt(startsOf(tenant))
    expect(rateExcess(own, RATES.tenant), `SEED=${seed}: ${tenant}`).toBeUndefined()
  }
  // The small tenant takes turns with the large one.
  const lastSmall = Math.max(...startsOf("small"))
  const before = startsOf("big").filter((time) => time < lastSmall).length
  expect(before, `SEED=${seed}`).toBeLessThanOrEqual(SMALL + 8)
  for (const process of fleet) await process.runtime.close()
  await settled()
  counts.fleets++
  counts.kills += kills
  counts.starts += started.length
  // biome-ignore lint/suspicious/noConsole: the figures of the proof.
  if (counts.fleets === FLEETS) console.log(JSON.stringify(counts))
})
