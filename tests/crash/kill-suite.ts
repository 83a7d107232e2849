/**
 * Kills processes for real, before and after everything that they write, in the middle of handlers and steps, and at any
 * time. What follows must be as if nothing had happened.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import { memoryStore } from "superstep"
import { afterAll, beforeAll, expect, inject, test } from "vitest"
import { bundledTogether } from "../bundled.ts"
import { sized } from "../sized.ts"
import { comeToEnd } from "./come-to-end.ts"
import type { ChildMessage, Job, Kill } from "./job.ts"
import { Process } from "./processes.ts"
import { type Outcome, type ScenarioName, scenarios } from "./scenarios/index.ts"

/** All but the one whose runs see what those before them left. */
const ALL = (Object.keys(scenarios) as ScenarioName[]).filter((name) => name !== "threads")
/** One of each kind: these are killed at every write. */
const SIX = ["everything", "people", "nested", "calls", "retries", "inbox"] as const
const SEED = inject("seed")

export interface KillOptions {
  /** Every so many writes of each workflow a process is killed: odd, so that some are killed while they recover. */
  readonly stride: number
  /** Random kills for each workflow; 0: only those of the writes, of one workflow. */
  readonly random: number
  /** The store with this name, in a folder of its own. */
  addressOf(folder: string, name: string): string
}

type KillCounts = Pick<KillOptions, "stride" | "random">

/** How often a proof kills; in the check, what it is passed. */
export function proofCounts(inCheck: KillCounts): KillCounts {
  return sized({ check: inCheck, short: { stride: 7, random: 3 }, full: { stride: 3, random: 6 } })
}

let folder = ""
let program = ""
let kills = 0
const places = new Set<string>()
const expected = new Map<ScenarioName, Outcome>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-kill-"))
  const file = join(import.meta.dirname, "child.ts")
  program = bundledTogether([file])(file)
  for (const name of ALL) {
    const scenario = scenarios[name](() => undefined)
    const { workflow, input, run } = scenario
    const outcome = await comeToEnd(scenario, workflow.run(input as never, { ...run, store: memoryStore() }))
    expected.set(name, JSON.parse(JSON.stringify(outcome)))
  }
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  console.log(`${kills} processes were killed, SEED=${SEED}`)
})

/** Runs of one workflow in one file, one after the other; each process ends the run that those before it left. */
class Chain {
  readonly #name: ScenarioName
  readonly #path: string
  #left: string | undefined
  #runs = 0
  #last = ""

  constructor(name: ScenarioName, path: string) {
    this.#name = name
    this.#path = path
  }

  /** A process starts a run and is killed. True when it was over before that. */
  async start(kill: Kill | undefined, atRandom?: number): Promise<boolean> {
    const finish = this.#left === undefined ? undefined : this.#target(this.#left)
    const runId = `run-${++this.#runs}`
    const survived = await this.#process({ finish, work: { ...this.#target(runId), kill } }, atRandom)
    this.#left = runId
    return survived
  }

  /** A process resumes the run that was left, and is killed too. */
  async goOn(kill: Kill): Promise<void> {
    await this.#process({ work: { ...this.#target(this.#left as string), kill } })
  }

  async end(): Promise<void> {
    await this.#process({ finish: this.#target(this.#left as string) })
  }

  #target(runId: string) {
    return { scenario: this.#name, runId }
  }

  async #process(job: Omit<Job, "path">, atRandom?: number): Promise<boolean> {
    const child = new Process<ChildMessage>(program, { path: this.#path, ...job } satisfies Job)
    if (atRandom !== undefined) {
      await child.waitFor(({ type }) => type === "working")
      setTimeout(() => child.signal("SIGKILL"), atRandom)
    }
    const { signal } = await child.end()
    const { messages } = child
    const where = `${this.#name}, SEED=${SEED}, ${JSON.stringify(job)}; before: ${this.#last}`
    for (const one of messages) {
      if (one.type === "dies") places.add(one.where)
      expect(one.type, `${where}: ${JSON.stringify(one)}`).not.toBe("again")
      if (one.type !== "finished" && one.type !== "survived") continue
      expect(one.outcome, where).toEqual(expected.get(this.#name))
      expect(one.problem, where).toBeUndefined()
    }
    expect(
      messages.some(({ type }) => type === "finished"),
      where,
    ).toBe(job.finish !== undefined)
    if (signal === "SIGKILL") kills++
    this.#last = JSON.stringify([job.work, messages.at(-1)])
    return signal === null
  }
}

/** Two at a time: that is how many there are processors for. */
async function inPairs<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items]
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(item)
  }
  await Promise.all([lane(), lane()])
}

export function killTests({ stride, random, addressOf }: KillOptions): void {
  test("killed before and after every write, and again while they recover, runs end as if nothing had happened", {
    timeout: 600_000,
  }, async () => {
    const chains = (random === 0 ? SIX.slice(0, 1) : SIX).flatMap((name) =>
      (["before", "after"] as const).map((moment) => ({ name, moment })),
    )
    // Each chain has another first write, so that a large stride meets every kind of write too.
    const numbered = chains.map((one, i) => ({ ...one, i }))
    const isWhole = inject("isProof") || random === 0
    // In the check all but the first workflow are killed either before or after their writes, in turns.
    const chosen = numbered.filter(({ i }) => isWhole || i < 2 || i % 4 === 0 || i % 4 === 3)
    await inPairs(chosen, async ({ name, moment, i }) => {
      const chain = new Chain(name, addressOf(folder, `${name}-${moment}`))
      const first = 1 + (Math.floor(i / 2) % stride)
      for (let write = first; ; write += stride) {
        if (await chain.start({ write, moment })) break
        // Around its heartbeat, its claim, and what it writes first.
        const isRecoveryKilled = stride > 3 || write % 2 === 0
        if (isRecoveryKilled) await chain.goOn({ write: 1 + (Math.floor(write / 2) % 5), moment })
      }
      await chain.end()
    })
    if (random === 0) return
    const around = (write: string) => [`before ${write}`, `after ${write}`]
    expect([...places]).toEqual(
      expect.arrayContaining(["append", "saveSnapshot", "claim", "beat"].flatMap(around)),
    )
    expect(kills).toBeGreaterThan((isWhole ? 300 : 150) / stride)
  })

  if (random === 0) return
  test("killed in the middle of any handler or step, or at any time, runs end as if nothing had happened", {
    timeout: 600_000,
  }, async () => {
    // The simulator kills all of them in the check too.
    const names = inject("isProof") ? ALL : SIX
    await inPairs([...names.entries()], async ([i, name]) => {
      const chain = new Chain(name, addressOf(folder, `${name}-random`))
      const numbers = fc.sample(fc.nat({ max: 10_000 }), { seed: SEED + i, numRuns: random })
      for (const [j, number] of numbers.entries()) {
        if (j % 2 === 0) await chain.start({ call: 1 + (number % 9) })
        // By the clock, so that it comes in the middle of a commit too; the seed alone does not repeat it.
        else await chain.start(undefined, number % 25)
        await chain.goOn({ call: 1 + (number % 4) })
      }
      await chain.end()
    })
  })
}
