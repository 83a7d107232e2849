/** The environment of a run's handle: the keeper of its store, the clock, telemetry, and how to claim the run. */
import type { RunId } from "../../core/index.ts"
import type { RunEnvironment } from "../lease/claim-run.ts"
import type { Keeper } from "../lease/keeper.ts"
import { keeperOf } from "../lease/store-keeper.ts"
import { systemClock } from "../ports/clock.ts"
import type { EndedRun } from "../ports/dispatcher.ts"
import { deferred } from "../ports/maybe-promise.ts"
import type { StoredRun } from "../ports/stored.ts"
import { currentTelemetry } from "../ports/telemetry.ts"
import type { ResumeOptions, RunOptions } from "./options.ts"
import type { RunHost } from "./run-host.ts"

/** Loads a run into this process. */
type ClaimRun = (run: StoredRun) => Promise<RunHost | undefined>

/** What callers of a run want while it is being created. */
export class Demand {
  /** Somebody awaits the result. */
  isAwaited = false
  /** Resolves when somebody needs more of the run than its result. */
  readonly more = deferred()
}

/** A run that was created. */
export interface Begun {
  readonly runId: RunId
  /** It has ended already. */
  readonly ended?: EndedRun | undefined
}

/** A runtime's own keeper, claim function and contexts. */
export type Kept = Pick<HandleEnvironment, "keeper" | "claim" | "contextOf">

export interface HandleEnvironment extends Omit<RunEnvironment, "keeper"> {
  readonly keeper: Keeper | undefined
  readonly claim?: ClaimRun | undefined
}

/** Shared by all runs with the defaults: it is part of every run in memory. */
let byDefault: HandleEnvironment | undefined

export function environmentOf(
  options: RunOptions & Pick<ResumeOptions, "onGraphChange">,
  kept?: Kept,
): HandleEnvironment {
  const { store, clock, telemetry, context, onGraphChange } = options
  const own = store ?? clock ?? telemetry ?? onGraphChange ?? kept
  // A context may be null.
  if (own !== undefined || context !== undefined) return newEnvironment(options, kept)
  if (byDefault === undefined || byDefault.telemetry !== currentTelemetry()) byDefault = newEnvironment({})
  return byDefault
}

function newEnvironment(
  { store, clock, telemetry, context, onGraphChange }: RunOptions & Pick<ResumeOptions, "onGraphChange">,
  kept?: Kept,
): HandleEnvironment {
  return {
    keeper: kept?.keeper ?? (store && keeperOf(store)),
    claim: kept?.claim,
    clock: clock ?? systemClock,
    telemetry: telemetry ?? currentTelemetry(),
    onGraphChange,
    contextOf: kept?.contextOf ?? (context === undefined ? undefined : () => context),
  }
}
