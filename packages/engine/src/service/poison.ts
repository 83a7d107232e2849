/** A run that brings down every process that takes it up is not tried for ever: it fails, with what was at work. */
import type { ErrorData, Machine } from "../core/index.ts"
import { type Lease, loadRun, type Store } from "../runtime/index.ts"

export async function poison(store: Store, lease: Lease, deaths: number, at: number): Promise<void> {
  const run = await loadRun(store, lease.runId)
  const machine = run?.frames.get("")?.machine
  if (run === undefined || machine === undefined || machine.isOver()) return
  const before = machine.eventCount
  const entry = { type: "run.failed", at, error: poisoned(machine, deaths) } as const
  machine.apply(entry)
  const record = { seq: run.seq + 1, frame: "", entry, events: run.events + machine.eventCount - before }
  await store.append(lease, run.seq, [record], { status: "failed" })
}

function poisoned(machine: Machine, deaths: number): ErrorData {
  const atWork = [...machine.tasks()]
    .filter(({ status }) => status === "running" || status === "parked")
    .slice(0, 5)
    .map(({ id, node, attempt }) => `"${node.id}" (task ${id}, attempt ${attempt})`)
  const what = atWork.length === 0 ? "" : ` At work: ${atWork.join(", ")}.`
  const message = `${deaths} processes died while they ran it, without any progress.${what} Find out why, then rerun it.`
  return { code: "POISONED", message, retryable: false }
}
