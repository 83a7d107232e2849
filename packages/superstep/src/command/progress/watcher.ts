/** Somebody who looks at a run while it goes on. */
import type { RunEvent, RunResult } from "@superstep/engine"

export interface Watcher {
  event(event: RunEvent): void
  /** A person is asked: the screen is theirs until `resume`. */
  pause(): void
  resume(): void
  /** The run is over, waits, or was let go of; without a result it is the last. */
  end(result: RunResult | undefined): void
}
