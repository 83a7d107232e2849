/** Limits of a graph: how many nodes a run may visit, and that it does not go in circles. */
import { createHash } from "node:crypto"
import type { Context } from "../../runtime/index.ts"
import { type Footprint, STEPS, TRAIL } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import type { Reason } from "./token.ts"

/** How often the same nodes may come round with nothing new. */
const ROUNDS = 3

/** What speaks against another visit. */
export function breachOf({ maxSteps, chat }: GraphInfo, ctx: Context): Reason | undefined {
  if (ctx.state.get(STEPS) > maxSteps) {
    return { code: "STEP_LIMIT", message: `Execution exceeded max steps limit: ${maxSteps}` }
  }
  const circle = chat ? circleIn(ctx.state.get(TRAIL)) : undefined
  if (circle === undefined) return undefined
  const [first] = circle
  const way = [...circle, first].join(" → ")
  return { code: "CYCLE", message: `The run goes in circles: ${way}, ${ROUNDS} times with nothing new.` }
}

/** The nodes that came round so often at the end of the trail, and left the same each time. */
export function circleIn(trail: readonly Footprint[]): readonly string[] | undefined {
  for (let length = 1; length * ROUNDS <= trail.length; length++) {
    if (comesRound(trail, length)) return trail.slice(-length).map(({ node }) => node)
  }
  return undefined
}

function comesRound(trail: readonly Footprint[], length: number): boolean {
  for (let i = trail.length - 1; i >= trail.length - length * (ROUNDS - 1); i--) {
    if (!isEqual(trail[i], trail[i - length])) return false
  }
  return true
}

function isEqual(one: Footprint | undefined, other: Footprint | undefined): boolean {
  return one?.node === other?.node && one?.print === other?.print
}

/** A digest: trails are long, and only whether two are the same matters. */
export function printOf(news: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(news) ?? "")
    .digest("base64url")
    .slice(0, 16)
}
