/** What a journal says: its entries folded into a machine, without running any handler. */
import { Machine, type RunStarted, SuperstepError } from "../core/index.ts"
import type { Callable, JournalRecord } from "../runtime/index.ts"

/**
 * The state that the records give. `frame` names a sub-workflow's part of the journal; give its workflow then.
 * Records are taken through JSON first, as a store would.
 */
export function foldJournal<In, Out>(
  workflow: Callable<In, Out>,
  records: readonly JournalRecord[],
  frame = "",
): Machine {
  const entries = records.filter((record) => record.frame === frame).map(({ entry }) => stored(entry))
  const [first, ...rest] = entries
  if (first?.type !== "run.started") {
    const part = frame === "" ? "" : ` for the sub-workflow "${frame}"`
    throw new SuperstepError("JOURNAL_INVALID", `The journal does not begin with "run.started"${part}.`)
  }
  const { machine } = Machine.start(workflow.program.graph, first as RunStarted)
  for (const entry of rest) machine.apply(entry)
  return machine
}

/** As it comes back from disk: a copy, and only what JSON can hold. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
