/** Signals that were accepted while no process executed their run. */
import type { RunId, SignalReceived } from "../../core/index.ts"
import { loadRun } from "../journal/load-run.ts"
import type { Store } from "../ports/store.ts"
import type { JournalRecord, Lease, Mail } from "../ports/stored.ts"

interface AcceptedMail extends Mail {
  readonly command: Extract<Mail["command"], { type: "signal" }>
}

/** A signal that was reported to its sender as accepted. */
export function isAccepted(mail: Mail): mail is AcceptedMail {
  return mail.command.type === "signal" && mail.command.isAccepted === true
}

/** Writes accepted signals to the journal of a run that is about to be loaded. */
export async function bufferSignals(
  store: Store,
  lease: Lease,
  mail: readonly AcceptedMail[],
  at: number,
): Promise<void> {
  if (mail.length === 0) return
  const loaded = await loadRun(store, lease.runId as RunId)
  const machine = loaded?.frames.get("")?.machine
  if (loaded === undefined || machine === undefined || machine.isOver()) return
  let { seq, events } = loaded
  const records: JournalRecord[] = []
  const known: string[] = []
  for (const { id: mailId, command } of mail) {
    const { id, name, value } = command
    known.push(mailId)
    if (machine.hasReceived(id)) continue
    const entry: SignalReceived = { type: "signal.received", at, id, name, value, mail: mailId }
    const before = machine.eventCount
    machine.apply(entry)
    events += machine.eventCount - before
    records.push({ seq: ++seq, frame: "", entry, events })
  }
  // Nothing executed: the run stays under the suspicion that it is under.
  await store.append(lease, loaded.seq, records, { mail: known, intent: true })
}
