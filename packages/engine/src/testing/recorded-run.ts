/** Recorded runs in tests: replayed against the workflow, or folded into a machine without running any handler. */
import { type Json, Machine, type RunStarted, SuperstepError } from "../core/index.ts"
import { printReplay, type Recording, type ReplayOptions, replay } from "../history/index.ts"
import type { Callable, JournalRecord } from "../runtime/index.ts"

/**
 * Replays a run from `toFixture` against the workflow, offline. Rejects with REPLAY_DIFFERS if anything differs, with a
 * message that shows the difference. Model calls are answered from the record, and their prompts are not compared: changed
 * instructions of an agent do not show. For any test runner:
 *
 *     await expectReplay(invoices, JSON.parse(await readFile("invoice-17.json", "utf8")))
 */
export async function expectReplay<In, Out>(
  workflow: Callable<In, Out>,
  fixture: Recording | Json,
  options: ReplayOptions = {},
): Promise<void> {
  const report = await replay(fixture, workflow, options)
  if (!report.same) throw new SuperstepError("REPLAY_DIFFERS", printReplay(report))
}

/**
 * The state after the records. `frame` selects a sub-workflow's part of the journal; pass its workflow then. Records pass
 * through JSON first, as in a store.
 */
export function foldJournal<In, Out>(
  workflow: Callable<In, Out>,
  records: readonly JournalRecord[],
  frame = "",
): Machine {
  const stored = JSON.parse(JSON.stringify(records)) as JournalRecord[]
  const entries = stored.filter((record) => record.frame === frame).map(({ entry }) => entry)
  const [first, ...rest] = entries
  if (first?.type !== "run.started") {
    const part = frame === "" ? "" : ` for the sub-workflow "${frame}"`
    throw new SuperstepError("JOURNAL_INVALID", `The journal does not begin with "run.started"${part}.`)
  }
  const { machine } = Machine.start(workflow.program.graph, first as RunStarted)
  for (const entry of rest) machine.apply(entry)
  return machine
}
