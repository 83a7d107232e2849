/** The options of a run's driver, the keeper that holds the run, and the driver's owner. */
import type { RequestId, RunId, RunStatus } from "../../core/index.ts"
import type { ThreadAtStart } from "../journal/thread.ts"
import type { SlotKeeper } from "../lease/slot-keeper.ts"
import type { Clock } from "../ports/clock.ts"
import type { Dispatcher } from "../ports/dispatcher.ts"
import type { Store } from "../ports/store.ts"
import type { Labels, Lease } from "../ports/stored.ts"
import type { Telemetry } from "../ports/telemetry.ts"
import type { Places } from "./activity.ts"
import type { GraphChangePolicy } from "./graph-change.ts"
import type { CallProbe } from "./restored-calls.ts"

export interface DriverOptions {
  readonly runId: RunId
  readonly labels?: Labels | undefined
  readonly store: Store | undefined
  readonly clock: Clock
  readonly telemetry?: Telemetry | undefined
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** Holds the run, if it has a store. */
  readonly keeper?: DriverKeeper | undefined
  readonly context?: unknown
  /** Decides when a sub-workflow that has ended returns to its caller; by default at once. */
  readonly onReturn?: ((frame: string, returnNow: () => void) => void) | undefined
  /** Without a store: keeps its first records for a later iteration. */
  readonly keepsEarly?: boolean | undefined
  /** Only handlers that wait for sub-workflows run, up to their calls: no step, no new sub-workflow, nothing written. */
  readonly probe?: CallProbe | undefined
}

/** The keeper of the process, as the driver uses it. */
export interface DriverKeeper {
  readonly places: Pick<Places, "take" | "leave"> | undefined
  readonly slots: SlotKeeper
  readonly dispatcher: Dispatcher | undefined
  /** K4. Undefined while the leases are known to be valid; otherwise resolves when they are again. */
  sure(): Promise<void> | undefined
  /** A task of the run has control from now on. */
  enter(runId: RunId, node: string): void
  /** Resolves when an answer to the question that was stored before the run was loaded is delivered. */
  answering(runId: RunId, request: RequestId): Promise<void> | undefined
  report(runId: RunId, error: Error): void
}

/** The owner of the driver: the run, as its callers see it. */
export interface DriverOwner {
  /** The run may have a result now. */
  checkResult(): void
  /** Everything left to do is to wait. */
  idle(): void
  finished(): void
  /** The run has stopped, and the error may be reported. */
  failed(error: unknown): void
  /** The run cannot continue in this process, though it could in another. */
  release(error: unknown): void
}

export interface RestoreOptions {
  readonly lease?: Lease | undefined
  readonly status: RunStatus
  readonly thread?: ThreadAtStart | undefined
}
