/**
 * A message comes to a step. Messages are small: they say after which node it is the step's turn. What the run was
 * given, and what steps have left, is in its state.
 */
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { textOf } from "../expressions/index.ts"
import { INPUT, type Item, RECORDS, type StepRecord } from "./records.ts"
import type { StepList } from "./step-list.ts"
import { View } from "./view.ts"

export interface Token {
  /** The node that sent it. */
  readonly after: string
  /** What a condition found. */
  readonly holds?: boolean | undefined
  readonly item?: Item | undefined
}

/** What a block that runs as a workflow of its own is given: all that its steps can see. */
export interface Carried {
  readonly prompt: string
  readonly records: readonly StepRecord[]
  readonly items?: readonly Item[] | undefined
}

export interface LoopOptions {
  /** The nodes that lead back to this one. */
  readonly after: readonly string[]
  /** How often it may run in one go. Default 100. */
  readonly limit?: number | undefined
}

const MOST_LOOPS = 100

export function arrive(
  steps: StepList,
  pattern: string,
  message: unknown,
  ctx: Context,
  loop?: LoopOptions | undefined,
): View {
  const { prompt, records, items, carried } = entered(message, ctx)
  const path = pathOf(pattern, items)
  if (loop !== undefined) countLoop(path, message, ctx, loop)
  return new View({ steps, path, prompt, records, items, carried, runId: ctx.runId })
}

interface Entered {
  readonly prompt: string
  readonly records: readonly StepRecord[]
  readonly items: readonly Item[]
  readonly carried: number
}

function entered(message: unknown, ctx: Context): Entered {
  // The step before has failed, and is passed over: its turn is this step's.
  if (isFailure(message)) return entered(message.input, ctx)
  if (isToken(message)) {
    const { prompt = "", items = [], carried = 0 } = ctx.state.get(INPUT) ?? {}
    const own = message.item === undefined ? items : [...items, message.item]
    return { prompt, records: ctx.state.get(RECORDS), items: own, carried }
  }
  if (isCarried(message)) {
    const { prompt, records, items = [] } = message
    ctx.state.write(INPUT, { prompt, ...(items.length === 0 ? {} : { items }), carried: records.length })
    if (records.length > 0) ctx.state.write(RECORDS, records)
    return { prompt, records, items, carried: records.length }
  }
  const prompt = textOf(message as Json | undefined)
  ctx.state.write(INPUT, { prompt })
  return { prompt, records: [], items: [], carried: 0 }
}

/** From node to node by a way back it is one time more; from elsewhere it is the first. */
function countLoop(path: string, message: unknown, ctx: Context, loop: LoopOptions): void {
  const { after, limit = MOST_LOOPS } = loop
  const isBack = after.includes(senderOf(message) ?? "")
  const runs = isBack ? (ctx.local.get<number>("runs") ?? 1) + 1 : 1
  if (runs > limit) {
    const text = `workflow: max loop iterations exceeded (step: ${path}, limit: ${limit})`
    throw new SuperstepError("MAX_LOOP_ITERATIONS", text, { fatal: true, retryable: false })
  }
  ctx.local.set("runs", runs)
}

function senderOf(message: unknown): string | undefined {
  if (isFailure(message)) return message.node
  return isToken(message) ? message.after : undefined
}

/** `each/*` stands for the item that the map is at. */
function pathOf(pattern: string, items: readonly Item[]): string {
  let depth = 0
  return pattern
    .split("/")
    .map((name) => (name === "*" ? String(items[depth++]?.index ?? 0) : name))
    .join("/")
}

function isToken(message: unknown): message is Token {
  return has(message, "after") && typeof message.after === "string"
}

function isCarried(message: unknown): message is Carried {
  return has(message, "records") && Array.isArray(message.records)
}

function isFailure(message: unknown): message is { readonly node: string; readonly input: unknown } {
  return (
    has(message, "error") && has(message, "input") && has(message, "node") && typeof message.node === "string"
  )
}

function has<Key extends string>(value: unknown, key: Key): value is { readonly [key in Key]: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
}
