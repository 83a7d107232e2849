/**
 * One process of a crash test: finishes the run that killed processes left, then starts or resumes one, and kills itself at
 * the configured point. It checks that nothing runs whose end is recorded (M1).
 */
import { writeSync } from "node:fs"
import type { JournalRecord, Run, Store } from "superstep"
import { saveEvery } from "../../packages/engine/src/runtime/journal/load-run.ts"
import { openStore } from "../stores.ts"
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
    for (const name of WRITES) {
      const method = store[name] as (...args: unknown[]) => unknown
      wrapped[name] = async (...args: unknown[]) => {
        const count = this.kill === undefined ? 0 : ++this.#writes
        const kill = this.kill !== undefined && "write" in this.kill ? this.kill : undefined
        if (kill?.write === count && kill.moment === "before") die(`before ${name}`)
        const result = await method(...args)
        if (kill?.write === count && kill.moment === "after") die(`after ${name}`)
        return result
      }
    }
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
  const { workflow, input, run: options } = scenario
  // A run that was killed before its first write never was.
  const isKnown = (await store.run(runId)) !== undefined
  const run: Run = isKnown
    ? workflow.resume(runId, { store })
    : workflow.run(input as never, { ...options, runId, store })
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
