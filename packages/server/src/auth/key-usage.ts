/**
 * What the runs of a key have used, for its budget. Runs carry the id of their key as a label. A durable consumer adds the
 * usage of each one that ends to two records, of its day and of all time. A run counts when it ends.
 */
import type { Runtime } from "@superstep/engine"
import { z } from "zod"
import { KEY_LABEL, type Principal } from "../access.ts"
import { problem } from "../problem.ts"

const KIND = "key-usage"
const CONSUMER = "superstep.key-usage"
const DAY = 86_400_000

const usedSchema = z.object({
  usd: z.number(),
  tokens: z.number(),
  /** Of the last event that is counted: one that is delivered again changes nothing. */
  position: z.number(),
})
type Used = z.infer<typeof usedSchema>

const NOTHING: Used = { usd: 0, tokens: 0, position: 0 }

/** Runtimes that count; one consumer has one subscription in a runtime. */
const counting = new WeakMap<Runtime, Promise<unknown>>()

/** A refusal if the budget of the principal's key is used up. */
export async function overBudget(runtime: Runtime, { key }: Principal): Promise<Response | undefined> {
  if (key?.budget === undefined) return undefined
  await beginCounting(runtime)
  const { budget, id } = key
  const { usd, tokens } = (await read(runtime, idOf(id, budget.per, Date.now()))).used
  const isUsedUp = usd >= (budget.usd ?? Infinity) || tokens >= (budget.tokens ?? Infinity)
  if (!isUsedUp) return undefined
  const until = budget.per === "day" ? "It is renewed at midnight UTC." : "Ask for another key."
  return problem(429, "KEY_BUDGET_USED_UP", `The budget of this key is used up. ${until}`)
}

async function beginCounting(runtime: Runtime): Promise<void> {
  let begun = counting.get(runtime)
  if (begun === undefined) {
    begun = runtime.on("run.ended", { consumer: CONSUMER }, (event) => count(runtime, event))
    counting.set(runtime, begun)
  }
  try {
    await begun
  } catch (error) {
    counting.delete(runtime)
    throw error
  }
}

interface Ended {
  readonly runId: string
  readonly at: number
  readonly position: number
}

async function count(runtime: Runtime, { runId, at, position }: Ended): Promise<void> {
  const key = (await runtime.store.run(runId))?.labels?.[KEY_LABEL]
  if (key === undefined) return
  const { usage } = await runtime.get(runId).result
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  for (const per of ["day", "total"] as const) {
    await add(runtime, idOf(key, per, at), { usd: usage.usd ?? 0, tokens, position })
  }
}

async function add(runtime: Runtime, id: string, { usd, tokens, position }: Used): Promise<void> {
  for (;;) {
    const { used, version } = await read(runtime, id)
    if (used.position >= position) return
    const sum = { usd: used.usd + usd, tokens: used.tokens + tokens, position }
    if (await runtime.store.records.put(KIND, id, sum, version)) return
  }
}

async function read(
  runtime: Runtime,
  id: string,
): Promise<{ readonly used: Used; readonly version: number | null }> {
  const record = await runtime.store.records.get(KIND, id)
  return { used: record ? usedSchema.parse(record.value) : NOTHING, version: record?.version ?? null }
}

function idOf(key: string, per: "day" | "total", at: number): string {
  const day = new Date(Math.floor(at / DAY) * DAY).toISOString().slice(0, 10)
  return per === "total" ? `${key}:total` : `${key}:${day}`
}
