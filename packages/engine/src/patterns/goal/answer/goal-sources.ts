/**
 * The basis of an answer of the whole pipeline, as data: its sources, its searches, and the assistants without citations.
 */
import { append, type Channel, channel } from "../../../runtime/index.ts"
import type { Incomplete } from "../../failures.ts"
import type { FoundBy, GoalRoute } from "../search/search-stages.ts"
import type { Evidence } from "./evidence.ts"

/** The answer of one assistant. */
export interface LaneAnswer {
  readonly target: string
  readonly text: string
  readonly foundBy: FoundBy
  /** The evidence that the assistant received, numbered from 1. */
  readonly evidence: readonly Evidence[]
  /** The numbers that the text cites. Absent if there is no answer. */
  readonly cited?: readonly number[] | undefined
  readonly routes: readonly GoalRoute[]
  /** Sources that could not be queried. */
  readonly incomplete: readonly Incomplete[]
}

/** Evidence that an assistant received, under the number that the answer cites. */
export interface GoalSource extends Evidence {
  readonly number: number
  /** The assistants whose answers cite it. */
  readonly citedBy: readonly string[]
}

export interface GoalBasis {
  readonly sources: readonly GoalSource[]
  readonly routes: readonly GoalRoute[]
  /** The assistants whose answers cite no source. */
  readonly uncited: readonly string[]
}

export const sources: Channel<readonly GoalSource[], readonly GoalSource[], "sources"> = channel(
  "sources",
  append<GoalSource>(),
)
export const goalRoutes: Channel<readonly GoalRoute[], readonly GoalRoute[], "routes"> = channel(
  "routes",
  append<GoalRoute>(),
)
export const uncited: Channel<readonly string[], readonly string[], "uncited"> = channel(
  "uncited",
  append<string>(),
)
