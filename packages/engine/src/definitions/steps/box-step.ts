/**
 * Several steps as one: they run as a workflow of their own, inside one task, so that they can fail, be tried again and
 * run out of time together. What they leave comes back when all of it is done; a failed attempt leaves nothing.
 */
import type { Workflow } from "../../builder/index.ts"
import { fromErrorData, isSuperstepError, SuperstepError, toErrorData } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import type { Carried } from "./arrival.ts"
import { RECORDS, type StepRecord } from "./records.ts"
import type { StepList } from "./step-list.ts"
import { makeNode, resultAt, type StepNode, type StepOptions } from "./step-node.ts"
import type { View } from "./view.ts"

export interface BoxStepOptions extends StepOptions {
  /** Every item of a map: its output is that of the last step. */
  readonly item?: boolean | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: it is made by the same plan, and takes what `boxStep` gives.
type Box = Workflow<any, any>

export function boxStep(steps: StepList, id: string, box: Box, options: BoxStepOptions = {}): StepNode {
  const { last, timeout, item, ...policies } = options
  return makeNode(steps, id, { kind: "workflow", nested: box, ...policies }, async (view, ctx) => {
    const [records = []] = await inTime(ctx, view, timeout, async () => {
      try {
        return await ctx.call<Carried, StepRecord[]>(box, carried(view))
      } catch (error) {
        throw failureOf(error)
      }
    })
    const output = item ? lastOf(records) : undefined
    const all = output === undefined ? records : [...records, { id: view.path, last: output }]
    if (all.length > 0) ctx.state.write(RECORDS, all)
    const after = { after: ctx.node }
    if (!last) return after
    const path = lastOf(all)
    return path === undefined ? null : resultAt(view.with(...all), path)
  })
}

/** The last node of such a workflow: gives back what its steps have left. */
export function boxEnd(steps: StepList, id: string): StepNode {
  return makeNode(steps, id, { kind: "end", id: `${id}#out` }, (view) => view.own)
}

/** That the steps are a workflow of their own is nothing a user knows: what failed is one of them. */
function failureOf(error: unknown): unknown {
  if (!isSuperstepError(error) || !isSuperstepError(error.cause)) return error
  const { fatal: _, ...data } = toErrorData(error.cause)
  return fromErrorData(data)
}

function carried(view: View): Carried {
  const { prompt, items } = view
  return { prompt, records: [...view.latest.values()], ...(items.length === 0 ? {} : { items }) }
}

function lastOf(records: readonly StepRecord[]): string | undefined {
  return records.findLast(({ begun }) => begun !== true)?.id
}

/** The time of a node stands still while it waits for its workflow; this one does not. */
async function inTime<T>(
  ctx: Context,
  { path }: View,
  timeout: number | undefined,
  run: () => Promise<T>,
): Promise<T> {
  if (timeout === undefined) return await run()
  // A sleep is on record for good: every attempt has its own.
  const late = ctx.scope(`attempt ${ctx.attempt}`).sleep(timeout)
  const tooLate = late.then((): never => {
    throw new SuperstepError("TIMEOUT", `Step "${path}" took longer than ${timeout} ms.`)
  })
  return await Promise.race([run(), tooLate])
}
