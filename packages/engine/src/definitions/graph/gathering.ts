/**
 * Ways that were begun together come together again: what each has left is kept until all of them are there. It may take
 * several steps, where ways were begun on a way.
 */
import type { Json } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { GOAL, OUTPUTS } from "./graph-channels.ts"
import type { Result } from "./merge-values.ts"
import type { Lane } from "./token.ts"
import type { Visit } from "./visit.ts"

/** Where to find an output; of a way that ended elsewhere there is none. */
interface Arrival {
  readonly name: string
  readonly key?: string | undefined
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
    const all = arrivedTogether(ctx, lane, arrived)
    if (all === undefined) return undefined
    arrived = all
    lanes = lanes.slice(0, -1)
  }
  const outputs = ctx.state.get(OUTPUTS)
  const goal = ctx.state.get(GOAL)
  const left = ({ key }: Arrival): Json => (key === undefined ? goal : outputs[key]) ?? null
  return { results: arrived.map((one) => ({ name: one.name, value: left(one) })), lanes }
}

/** Each way has a place of its own, so that what is kept grows with their number alone. Undefined: some are not there. */
function arrivedTogether(
  { local }: Context,
  { at, task, index, of }: Lane,
  arrived: readonly Arrival[],
): readonly Arrival[] | undefined {
  const name = `from ${at} ${task}`
  const place = (way: number) => `${name} ${way}`
  const count = (local.get<number>(name) ?? 0) + (local.get(place(index)) === undefined ? 1 : 0)
  if (count < of) {
    local.set(name, count)
    local.set(place(index), arrived)
    return undefined
  }
  return Array.from({ length: of }, (_, way) =>
    way === index ? arrived : (local.get<readonly Arrival[]>(place(way)) ?? []),
  ).flat()
}
