/** A run's view, as it changes: everything that its events say, folded. */
import { RunFold, type RunView, type RunEvent as StoredEvent } from "@superstep/engine/protocol"
import type { RunHandle } from "./client.ts"

export type { RunView } from "@superstep/engine/protocol"

/** The view after each event, until the run has ended. Views share what did not change, and never change themselves. */
export async function* watch(
  run: Pick<RunHandle, "events">,
  options: { readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<RunView, void> {
  const fold = new RunFold()
  for await (const event of run.events(options)) yield fold.add(event as StoredEvent).view
}
