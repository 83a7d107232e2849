/** A recorded run as a test: the workflow is to do now what it did then. */
import { type Json, SuperstepError } from "../core/index.ts"
import { printReplay, type Recording, type ReplayOptions, replay } from "../history/index.ts"
import type { Callable } from "../runtime/index.ts"

/**
 * Replays a run, as `toFixture` gave it, against the workflow, offline. Rejects with REPLAY_DIFFERS when anything differs,
 * with a message that shows what. For any test runner:
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
