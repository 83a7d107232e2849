/** Shared state from its writes, with the reducers of the machine itself. */
import { type BuiltInReducer, isBuiltInReducer, type Json, reduce, writeProblem } from "../core/index.ts"
import type { Draft } from "./draft.ts"
import type { WorkflowView } from "./run-view.ts"

/** The state after the write; takes the place of `state`. */
export function writeState(
  draft: Draft,
  state: WorkflowView["state"],
  { key, reducer, value }: { readonly key: string; readonly reducer: string; readonly value: Json },
): WorkflowView["state"] {
  const owned = draft.own(state)
  owned[key] = reduced(draft, isBuiltInReducer(reducer) ? reducer : "replace", owned[key], value)
  return owned
}

/**
 * Reducers write into the list or record that they are given. It has to be the draft's own, before and after:
 * neither an older view nor the event that brought a value may see it grow.
 */
function reduced(draft: Draft, reducer: BuiltInReducer, current: Json | undefined, write: Json): Json {
  if (reducer === "replace") return write
  const fits = current !== undefined && writeProblem(reducer, current) === undefined
  return ownJson(draft, reduce(reducer, fits ? ownJson(draft, current) : undefined, write))
}

function ownJson(draft: Draft, value: Json): Json {
  return typeof value === "object" && value !== null ? (draft.own(value) as Json) : value
}
