/**
 * Signals: values that are sent to a run by name. The run buffers a signal until a wait takes it, so that it may arrive
 * before the wait. The driver matches waits with signals, across the run and its sub-workflows; the match is recorded.
 */

import { addMember, putEntry, removeEntry } from "./collections.ts"
import { emit, watched } from "./emit.ts"
import type { SignalAwaited, SignalReceived, SignalReplied, SignalTaken } from "./entries.ts"
import { checkKeyFree, checkWaiting, workingTask } from "./entry-checks.ts"
import { SuperstepError } from "./errors.ts"
import type { SignalId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { MachineState } from "./state.ts"
import type { Task } from "./task.ts"
import { clearTimer, setTimer, signalTimer } from "./waiting.ts"
import { endWait, startWait } from "./waits.ts"

/** How many replies a run keeps; older ones are only in its journal. */
const MAX_REPLIES = 1_000

/** M9. */
export function receiveSignal(m: MachineState, { id, name, value, at }: SignalReceived): void {
  if (m.signalIds.has(id))
    throw new SuperstepError("SIGNAL_KNOWN", `Signal "${id}" was received before (M9).`)
  m.signalIds = addMember(m.signalIds, id)
  m.signals = putEntry(m.signals, id, Object.freeze({ id, name, value, at }))
  if (watched(m)) emit(m, { type: "signal.received", id, name, value })
}

export function awaitSignal(m: MachineState, task: Task, { key, wait }: SignalAwaited): void {
  checkKeyFree(task, key)
  if (wait.deadline !== undefined) setTimer(m, signalTimer(task.id, key), wait.deadline)
  startWait(m, task, key, { kind: "signal", ...wait })
}

/** M9: a signal that a wait took is no longer buffered. */
export function takeSignal(m: MachineState, entry: SignalTaken): void {
  const { id, name, task: taskId, key, value = m.signals.get(id)?.value } = entry
  if (value === undefined) throw notBuffered(id)
  if (taskId === undefined || key === undefined) {
    removeEntry(m.signals, id)
    return
  }
  const task = workingTask(m, taskId)
  checkWaiting(task, key, "signal")
  removeEntry(m.signals, id)
  clearTimer(m, signalTimer(task.id, key))
  if (watched(m)) emit(m, { type: "signal.taken", id, name, task: task.id, node: task.node.id })
  endWait(m, task, key, { ok: true, value: Object.freeze({ id, value }) })
}

export function replyToSignal(m: MachineState, { id, value }: SignalReplied): void {
  if (!m.signalIds.has(id) || m.signals.has(id) || m.replies.has(id)) {
    throw new SuperstepError("SIGNAL_REPLIED", `Signal "${id}" has a reply, or no wait took it.`)
  }
  m.replies = putEntry<SignalId, Json>(m.replies, id, value)
  for (const oldest of m.replies.keys()) {
    if (m.replies.size <= MAX_REPLIES) break
    removeEntry(m.replies, oldest)
  }
  if (watched(m)) emit(m, { type: "signal.replied", id, value })
}

function notBuffered(id: SignalId): SuperstepError {
  return new SuperstepError("SIGNAL_NOT_BUFFERED", `Signal "${id}" is not in the buffer of the run (M9).`)
}
