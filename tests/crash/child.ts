/**
 * One process of a crash test: finishes the run that killed processes left, then starts or resumes one, and kills itself at
 * the configured point. It checks that nothing runs whose end is recorded (M1).
 */
import { writeSync } from "node:fs"
import type { JournalRecord, Run, Store } from "superstep"
import { saveEvery } from "../../packages/engine/src/runtime/journal/load-run.ts"
import { openWorker } from "../runtimes.ts"
import { clusterOf, openStore } from "../stores.ts"
import { comeToEnd } from "./come-to-end.ts"
import type { ChildMessage, Job, Kill, Target } from "./job.ts"
import { type Outcome, scenarios, type Watch } from "./scenarios/index.ts"

/** What a process writes to the store, and the calls that a kill is counted in. */
const WRITES = ["append", "saveSnapshot", "claim", "release", "beat"] as const

function report(message: ChildMessage): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

function die(where: string): void {
  report({ type: "dies", where })
  process.kill(process.pid, "SIGKILL")
}

/** Counts writes and calls, and dies when it is time; it lives on as long as nothing is set. */
class Death {
  kill: Kill | undefined
  #writes = 0
  #calls = 0

  called(what: string): void {
    if (this.kill === undefined) return
    this.#calls++
    if ("call" in this.kill && this.kill.call === this.#calls) die(`in ${what}`)
  }

  around(store: Store): Store {
    const wrapped: Record<string, unknown> = { ...store }
    const counted = (name: string, method: (...args: never[]) => unknown) => {
      return async (...args: unknown[]) => {
        const count = this.kill === undefined ? 0 : ++this.#writes
        const kill = this.kill !== undefined && "write" in this.kill ? this.kill : undefined
        if (kill?.write === count && kill.moment === "before") die(`before ${name}`)
        const result = await method(...(args as never[]))
        if (kill?.write === count && kill.moment === "after") die(`after ${name}`)
        return result
      }
    }
    for (const name of WRITES) wrapped[name] = counted(name, store[name])
    wrapped.queue = { ...store.queue, claimNext: counted("claim", store.queue.claimNext) }
    return wrapped as unknown as Store
  }
}

/** Tasks that have finished and steps that are recorded, by the names that handlers know them by. */
function done(runId: string, records: readonly JournalRecord[]): Set<string> {
  const names = records.flatMap(({ frame, entry }) => {
    const task = "task" in entry ? [runId, ...(frame === "" ? [] : [frame]), entry.task].join(":") : ""
    if (entry.type === "task.finished") return [task]
    return entry.type === "step.recorded" ? [`${task} ${entry.key}`] : []
  })
  return new Set(names)
}

async function work({ scenario: name, runId }: Target, store: Store, death: Death): Promise<Outcome> {
  const onRecord = done(runId, await store.read(runId, 0))
  const watch: Watch = ({ idempotencyKey, node }, step) => {
    const what = step === undefined ? idempotencyKey : `${idempotencyKey} step:${step}`
    if (onRecord.has(what)) report({ type: "again", what: `${what} of "${node}"` })
    death.called(what)
  }
  const scenario = scenarios[name](watch)
  const { workflow, input, run: own } = scenario
  // A run that was killed before its first write never was.
  const isKnown = (await store.run(runId)) !== undefined
  // On Restate this process is the worker too: Restate brings it the run, also one that a killed process left.
  if (clusterOf(job.path) !== undefined) {
    const options = { store, workflows: [workflow], maxTakeovers: 1_000 }
    const { runtime, close } = await openWorker(job.path, options)
    const run = isKnown ? runtime.get(runId) : runtime.start(workflow, input as never, { ...own, runId })
    const outcome = await comeToEnd(scenario, run)
    await close()
    return outcome
  }
  const run: Run = isKnown
    ? workflow.resume(runId, { store })
    : workflow.run(input as never, { ...own, runId, store })
  return await comeToEnd(scenario, run)
}

/** What is wrong with what the store has of a run that is over. */
async function problemOf(runId: string, store: Store): Promise<string | undefined> {
  const [row, records, open] = [
    await store.run(runId),
    await store.read(runId, 0),
    await store.requests({ runId }),
  ]
  if (records.some(({ seq }, i) => seq !== i + 1)) return "its records are not numbered 1, 2, 3, …"
  if (row?.seq !== records.length) return `its row says ${row?.seq} records, there are ${records.length}`
  if (row.status === "running" || row.status === "waiting") return `its row says ${row.status}`
  if (row.holder !== undefined) return "it is still held"
  return open.length > 0 ? "it has open requests" : undefined
}

const job = JSON.parse(process.argv[2] as string) as Job
const durable = openStore(job.path)
const death = new Death()
const store = death.around(durable as Store)
saveEvery(store, 4)
if (job.finish !== undefined) {
  const outcome = await work(job.finish, store, death)
  report({ type: "finished", outcome, problem: await problemOf(job.finish.runId, durable as Store) })
}
if (job.work !== undefined) {
  death.kill = job.work.kill
  report({ type: "working" })
  const outcome = await work(job.work, store, death)
  report({ type: "survived", outcome, problem: await problemOf(job.work.runId, durable as Store) })
}
await durable.close()
