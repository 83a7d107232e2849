/** When a fan-in fires. */
import type { JoinPolicy } from "../core/index.ts"

declare const join: unique symbol

/** Carries, for the compiler, which list the target gets. */
export interface Join<Kind extends JoinPolicy["kind"] = JoinPolicy["kind"]> {
  readonly policy: JoinPolicy
  readonly [join]?: Kind
}

/** When every source has sent: the target gets one message of each, in the declared order. */
export function all(): Join<"all"> {
  return { policy: { kind: "all" } }
}

/** With the first message; those of the other sources are late and reported. */
export function any(): Join<"any"> {
  return { policy: { kind: "any" } }
}

/** When `count` sources have sent: their messages, in the declared order. */
export function quorum(count: number): Join<"quorum"> {
  return { policy: { kind: "quorum", count } }
}

/** When every source has sent or can no longer send: `{ ok: true, value }` or `{ ok: false, error }` for each. */
export function settle(): Join<"settle"> {
  return { policy: { kind: "settle" } }
}
