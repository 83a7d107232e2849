/**
 * Ways that were begun together come together again: what each has left is kept until all of them are there. It may take
 * several steps, where ways were begun on a way.
 */
import type { Json } from "../../core/index.ts"
import { GOAL, OUTPUTS } from "./graph-channels.ts"
import type { Result } from "./merge-values.ts"
import type { Lane } from "./token.ts"
import type { Visit } from "./visit.ts"

/** Where to find an output; of a way that ended elsewhere there is none. */
interface Arrival {
  readonly name: string
  readonly key?: string | undefined
}

interface Waiting {
  /** By the number of the way. */
  readonly [index: string]: readonly Arrival[]
}

interface Gathered {
  readonly results: readonly Result[]
  /** The ways that are left. */
  readonly lanes: readonly Lane[]
}

/** Undefined: others are still on their way. `closes` says which ways end here. */
export function gather(visit: Visit, closes: (lane: Lane) => boolean): Gathered | undefined {
  const { ctx, token } = visit
  let lanes = visit.lanes
  const { branch = token.from } = lanes.at(-1) ?? {}
  let arrived: readonly Arrival[] = token.gone
    ? []
    : [{ name: branch, ...(token.key === undefined ? {} : { key: token.key }) }]
  for (;;) {
    const lane = lanes.at(-1)
    if (lane === undefined || !closes(lane)) break
    const name = `from ${lane.at} ${lane.task}`
    const waiting: Waiting = { ...ctx.local.get<Waiting>(name), [lane.index]: arrived }
    const isAll = Object.keys(waiting).length === lane.of
    ctx.local.set(name, isAll ? {} : waiting)
    if (!isAll) return undefined
    arrived = Array.from({ length: lane.of }, (_, i) => waiting[i] ?? []).flat()
    lanes = lanes.slice(0, -1)
  }
  const outputs = ctx.state.get(OUTPUTS)
  const goal = ctx.state.get(GOAL)
  const left = ({ key }: Arrival): Json => (key === undefined ? goal : outputs[key]) ?? null
  return { results: arrived.map((one) => ({ name: one.name, value: left(one) })), lanes }
}
