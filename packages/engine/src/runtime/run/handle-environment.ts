/** The environment of a run's handle: the keeper of its store, the clock, telemetry, and how to claim the run. */
import type { RunEnvironment } from "../lease/claim-run.ts"
import type { Keeper } from "../lease/keeper.ts"
import { keeperOf } from "../lease/store-keeper.ts"
import { systemClock } from "../ports/clock.ts"
import type { StoredRun } from "../ports/stored.ts"
import { currentTelemetry } from "../ports/telemetry.ts"
import type { ResumeOptions, RunOptions } from "./options.ts"
import type { RunHost } from "./run-host.ts"

/** Loads a run into this process. */
type ClaimRun = (run: StoredRun) => Promise<RunHost | undefined>

/** A runtime's own keeper, claim function and contexts. */
export type Kept = Pick<HandleEnvironment, "keeper" | "claim" | "contextOf">

export interface HandleEnvironment extends Omit<RunEnvironment, "keeper"> {
  readonly keeper: Keeper | undefined
  readonly claim?: ClaimRun | undefined
}

export function environmentOf(
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
