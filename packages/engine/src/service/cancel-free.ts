/** A run that nobody holds is cancelled in the store: that needs no handler, so the workflow may be gone or changed. */
import { isOver, type Keeper, type Lease, loadRun, type Store, type StoredRun } from "../runtime/index.ts"

/** False when it is over, at work here or elsewhere, or somebody took it up meanwhile: ask whoever has it. */
export async function cancelFree(
  keeper: Keeper,
  run: StoredRun,
  reason: string | undefined,
  at: number,
): Promise<boolean> {
  if (isOver(run)) return false
  return await keeper.pass(run.runId, async () => {
    if (keeper.host(run.runId) !== undefined || (await keeper.isHeldElsewhere(run))) return false
    const lease = await keeper.claim(run)
    return lease !== undefined && (await cancelHeld(keeper.store, lease, run, reason, at))
  })
}

async function cancelHeld(
  store: Store,
  lease: Lease,
  run: StoredRun,
  reason: string | undefined,
  at: number,
): Promise<boolean> {
  try {
    const loaded = await loadRun(store, run.runId)
    const machine = loaded?.frames.get("")?.machine
    if (loaded === undefined || machine === undefined || machine.isOver()) return false
    const before = machine.eventCount
    const entry = { type: "run.cancelled", at, ...(reason === undefined ? {} : { reason }) } as const
    machine.apply(entry)
    const events = loaded.events + machine.eventCount - before
    await store.append(lease, loaded.seq, [{ seq: loaded.seq + 1, frame: "", entry, events }], {
      status: "cancelled",
    })
    return true
  } finally {
    // One that was ended is free already.
    await store.release(lease, run.wakeAt)
  }
}
