/** Workers that reach the server through proxies of their own, what happens to them, and what they accepted. */
import * as fc from "fast-check"
import type { JournalRecord, Store } from "superstep"
import { expect, inject } from "vitest"
import {
  type Break,
  breakingProxy,
  type Proxy as ServerProxy,
} from "../../packages/store-postgres/src/proxy.test-support.ts"
import type { WorkerJob } from "../hostile/worker.ts"
import { type Effect, until, type Worker } from "../hostile/workers.ts"

export type Fault = "kill" | "stop" | "block" | "clock" | "cut" | "partition"

/** Statements that a cut connection is for, and how many of them. */
const WRITE = /append|claim|beat/
const CUTS = 6

/** The question needs no other answer. */
const SETTLED = new Set(["ok", "REQUEST_ANSWERED", "RUN_OVER"])

/** A command for a run: who accepted it, or why nobody did. */
interface Sent {
  readonly id: string
  readonly runId: string
  readonly worker: Worker
}

/** Something that was accepted for a run, and the id that an entry of its journal delivers, if it is one of this kind. */
export interface Accepted {
  readonly runId: string
  readonly id: string
  readonly idIn: (entry: JournalRecord["entry"]) => string | undefined
}

export class Fleet {
  readonly counts: Record<Fault, number> = { kill: 0, stop: 0, block: 0, clock: 0, cut: 0, partition: 0 }
  /** Runs that block the loop of their worker. */
  readonly blocking: string[] = []
  /** Processes that were killed, stopped, or cut off for longer than their lease. */
  readonly interrupted = new Set<number>()
  readonly stopped = new Set<number>()
  readonly #open: (job: Partial<WorkerJob>) => Promise<Worker>
  readonly #store: Store
  readonly #proxies: ServerProxy[] = []
  readonly #workers: Worker[] = []
  readonly #sent: Sent[] = []

  constructor(store: Store, open: (job: Partial<WorkerJob>) => Promise<Worker>) {
    this.#store = store
    this.#open = open
  }

  async start(count: number, address: string): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.#proxies.push(await breakingProxy(address))
      this.#workers.push(await this.#worker(i))
    }
  }

  get cuts(): number {
    return this.#proxies.reduce((sum, { broken }) => sum + broken, 0)
  }

  worker(i: number): Worker {
    return this.#workers[i % this.#workers.length] as Worker
  }

  /** Each is on a machine of its own: others know of it by its heartbeats alone. */
  #worker(i: number): Promise<Worker> {
    return this.#open({ path: (this.#proxies[i] as ServerProxy).url, machine: `machine ${i}` })
  }

  async suffer(fault: Fault, victim: number, number: number): Promise<void> {
    const one = this.worker(victim)
    const proxy = this.#proxies[victim] as ServerProxy
    this.counts[fault]++
    switch (fault) {
      case "kill":
        this.interrupted.add(one.process.pid)
        one.process.signal("SIGKILL")
        await one.process.end()
        this.#workers[victim] = await this.#worker(victim)
        break
      case "stop":
        this.interrupted.add(one.process.pid)
        this.stopped.add(one.process.pid)
        one.process.signal("SIGSTOP")
        await this.#isTakenFrom(one)
        one.process.signal("SIGCONT")
        break
      case "partition":
        this.interrupted.add(one.process.pid)
        proxy.freeze()
        await this.#isTakenFrom(one)
        proxy.thaw()
        break
      case "block":
        this.blocking.push(`b${number}`)
        one.start("block", `b${number}`, 1_500)
        await until(async () => (await this.#store.run(`b${number}`)) !== undefined)
        break
      case "clock":
        one.send({ type: "clock", by: number % 2 === 0 ? 7_200_000 : -7_200_000 })
        break
      case "cut":
        await cut(proxy, inject("seed") + number)
    }
  }

  /** Until another process has found it dead, and dismissed it. */
  async #isTakenFrom({ process: { pid } }: Worker): Promise<void> {
    await until(async () => (await this.#store.holders()).every((holder) => holder.pid !== pid))
  }

  /** Answers the questions of these runs, from one process after another. */
  answer(runIds: readonly string[]): void {
    for (const runId of runIds) {
      const number = this.#sent.length
      const sent = { id: `${runId} ${number}`, runId, worker: this.worker(number) }
      this.#sent.push(sent)
      sent.worker.send({ type: "respond", id: sent.id, runId, value: sent.id })
    }
  }

  /** Answers that were not accepted, or whose sender died, are sent again. */
  answerAgain(): void {
    const last = new Map(this.#sent.map((sent) => [sent.runId, sent]))
    for (const sent of last.values()) {
      const outcome = outcomeOf(sent)
      if (outcome === undefined ? sent.worker.process.isOver : !SETTLED.has(outcome))
        this.answer([sent.runId])
    }
  }

  /** What became of all answers, by outcome. */
  outcomes(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const sent of this.#sent) {
      const outcome = outcomeOf(sent) ?? "sender died"
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
    return counts
  }

  /** What senders got a success for: answers. What else a run accepts from others belongs here, with the entry that delivers it. */
  accepted(): Accepted[] {
    const idIn = (entry: JournalRecord["entry"]) => (entry.type === "request.answered" ? entry.by : undefined)
    return this.#sent.filter((one) => outcomeOf(one) === "ok").map(({ runId, id }) => ({ runId, id, idIn }))
  }
}

function outcomeOf({ id, worker }: Sent): string | undefined {
  const found = worker.process.messages.find((one) => one.type === "responded" && one.id === id)
  return found?.type === "responded" ? found.code : undefined
}

/** Breaks connections before and after some of the next statements that write. */
async function cut(proxy: ServerProxy, seed: number): Promise<void> {
  const kinds = fc.sample(fc.constantFrom<Break | undefined>("before", "after", undefined), {
    seed,
    numRuns: CUTS,
  })
  const left = ["before" as const, "after" as const, ...kinds]
  const before = left.length
  proxy.breaks = (sent) => (left.length > 0 && WRITE.test(sent.toString("latin1")) ? left.shift() : undefined)
  await until(() => left.length < before)
}

/** Every finished step: which process recorded it, and which attempted it. Returns how many attempts were repeated. */
export async function repeatedSteps(
  store: Store,
  effects: readonly Effect[],
  { interrupted, stopped }: Fleet,
  runs: { readonly ids: readonly string[]; readonly steps: number },
): Promise<number> {
  const where = `SEED=${inject("seed")}`
  let repeated = 0
  for (const runId of runs.ids) {
    const recorded = (await store.read(runId, 0)).flatMap(({ entry }) =>
      entry.type === "step.recorded" ? [[entry.key, entry.value] as const] : [],
    )
    expect(recorded, `${where}, ${runId}`).toHaveLength(runs.steps)
    for (const [key, pid] of recorded) {
      const name = `${where}, step ${key} of ${runId}`
      const attempts = effects.filter((one) => one.runId === runId && `step:${one.name}` === key)
      expect(new Set(attempts.map((one) => one.key)).size, `${name}: one key`).toBe(1)
      // N1
      const last = attempts.findLast((one) => one.pid === pid || !stopped.has(one.pid))
      expect(last?.pid, `${name}: attempted again after it was recorded`).toBe(pid)
      // N2
      for (const one of attempts.slice(0, -1)) {
        expect(
          interrupted.has(one.pid),
          `${name}: repeated after ${one.pid}, which was not interrupted`,
        ).toBe(true)
      }
      repeated += attempts.length - 1
    }
  }
  return repeated
}

/** N3 */
export async function expectDelivered(store: Store, accepted: readonly Accepted[]): Promise<void> {
  for (const { runId, id, idIn } of accepted) {
    const delivered = (await store.read(runId, 0)).map(({ entry }) => idIn(entry))
    expect(
      delivered.filter((one) => one !== undefined),
      `SEED=${inject("seed")}, run ${runId}`,
    ).toEqual([id])
  }
}
