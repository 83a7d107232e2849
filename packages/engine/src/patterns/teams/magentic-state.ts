/** What a magentic team keeps: where it is, and what its manager has written down. */
import { type Channel, type Context, channel, replace } from "../../runtime/index.ts"
import type { ProgressLedger } from "./ledger.ts"
import type { TeamState } from "./team.ts"
import { SAID, type Said } from "./transcript.ts"

export interface MagenticState extends TeamState {
  readonly stalls: number
  readonly resets: number
  /** How much had been said when the plan was made: the team works with what came after. */
  readonly since: number
  /** The last progress ledger that could be read. */
  readonly progress?: ProgressLedger | undefined
}

/** Under the same key as every team's. */
export const MAGENTIC: Channel<MagenticState, MagenticState> = channel(
  "team",
  replace<MagenticState>({ round: 0, stalls: 0, resets: 0, since: 0 }),
)

export interface TaskLedger {
  readonly facts?: string | undefined
  readonly plan?: string | undefined
}

export const LEDGER: Channel<TaskLedger, TaskLedger> = channel("ledger", replace<TaskLedger>({}))

/** What was said since the plan was made. */
export function talkSince(ctx: Context): readonly Said[] {
  return ctx.state.get(SAID).slice(ctx.state.get(MAGENTIC).since)
}
