/**
 * What the runs of a key have used, for its budget, and how many it started, for its quota. Runs carry the id of their key as
 * a label. A durable consumer counts each one that is created, and adds the usage of each one that ends to two records, of its
 * day and of all time.
 */
import { type Runtime, SuperstepError } from "@superstep/engine"
import { z } from "zod"
import { KEY_LABEL, type Principal } from "../access.ts"
import { type Problem, problem } from "../problem.ts"
import { measure } from "../usage/measure.ts"

const KIND = "key-usage"
const CONSUMER = "superstep.key-usage"
/** A run is created queued, or started. */
const EVENTS = ["run.queued", "run.started", "run.ended"] as const
const DAY = 86_400_000

const usedSchema = z.object({
  usd: z.number(),
  tokens: z.number(),
  /** That were created. */
  runs: z.number().default(0),
  /** Of the last event that is counted: one that is delivered again changes nothing. */
  position: z.number(),
})
type Used = z.infer<typeof usedSchema>

const NOTHING: Used = { usd: 0, tokens: 0, runs: 0, position: 0 }

/** Runtimes that count; one consumer has one subscription in a runtime. */
const counting = new WeakMap<Runtime, Promise<unknown>>()

/** A refusal if the key of the principal may start no more runs now. */
export async function overBudget(runtime: Runtime, { key }: Principal): Promise<Response | undefined> {
  if (key?.isPaused === true) {
    return problem(
      429,
      "KEY_PAUSED",
      "This key is paused: it starts no runs. An administrator can resume it.",
    )
  }
  if (key?.budget === undefined && key?.quota === undefined) return undefined
  await beginCounting(runtime)
  const { budget, quota = {}, id } = key
  const now = Date.now()
  const { usd, tokens } = (await read(runtime, idOf(id, budget?.per ?? "day", now))).used
  if (usd >= (budget?.usd ?? Infinity) || tokens >= (budget?.tokens ?? Infinity)) {
    const until = budget?.per === "day" ? "It is renewed at midnight UTC." : "Ask for another key."
    return problem(429, "KEY_BUDGET_USED_UP", `The budget of this key is used up. ${until}`)
  }
  const { runsPerDay = Infinity, concurrentRuns = Infinity } = quota
  if ((await read(runtime, idOf(id, "day", now))).used.runs >= runsPerDay) {
    const text = `This key starts ${runsPerDay} runs a day. The next day begins at midnight UTC.`
    return refusal(text, Math.ceil((DAY - (now % DAY)) / 1_000))
  }
  if (concurrentRuns === Infinity) return undefined
  const status = ["queued", "running"] as const
  const active = await runtime.runs({ labels: { [KEY_LABEL]: id }, status, limit: concurrentRuns })
  if (active.length < concurrentRuns) return undefined
  return refusal(`${concurrentRuns} runs of this key are active, which is as many as it may have.`, 1)
}

/** What the runs of a key have used of its budget: today, or in all. */
export async function usedBy(
  runtime: Runtime,
  { id, budget }: { readonly id: string; readonly budget?: { readonly per: "day" | "total" } | undefined },
): Promise<Pick<Used, "usd" | "tokens"> | undefined> {
  if (budget === undefined) return undefined
  await beginCounting(runtime)
  const { usd, tokens } = (await read(runtime, idOf(id, budget.per, Date.now()))).used
  return { usd, tokens }
}

/** The same for a handler that knows only by the request whether it starts a run: throws the code of the refusal. */
export async function checkBudget(runtime: Runtime, principal: Principal): Promise<void> {
  const refused = await overBudget(runtime, principal)
  if (refused === undefined) return
  const { code, detail } = (await refused.json()) as Problem
  throw new SuperstepError(code, detail)
}

function refusal(text: string, seconds: number): Response {
  const response = problem(429, "KEY_QUOTA_USED_UP", text)
  response.headers.set("retry-after", `${seconds}`)
  return response
}

async function beginCounting(runtime: Runtime): Promise<void> {
  let begun = counting.get(runtime)
  if (begun === undefined) {
    begun = runtime.on(EVENTS, { consumer: CONSUMER }, (event) => count(runtime, event))
    counting.set(runtime, begun)
  }
  try {
    await begun
  } catch (error) {
    counting.delete(runtime)
    throw error
  }
}

interface Counted {
  readonly type: string
  readonly runId: string
  readonly at: number
  readonly position: number
}

async function count(runtime: Runtime, { type, runId, at, position }: Counted): Promise<void> {
  const run = await runtime.store.run(runId)
  const key = run?.labels?.[KEY_LABEL]
  if (run === undefined || key === undefined) return
  if (type !== "run.ended") {
    return await add(runtime, idOf(key, "day", at), { usd: 0, tokens: 0, runs: 1, position })
  }
  const { usage } = await measure(runtime.store, run)
  const usd = usage.usd ?? 0
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  for (const per of ["day", "total"] as const) {
    await add(runtime, idOf(key, per, at), { usd, tokens, runs: 0, position })
  }
}

async function add(runtime: Runtime, id: string, { usd, tokens, runs, position }: Used): Promise<void> {
  for (;;) {
    const { used, version } = await read(runtime, id)
    if (used.position >= position) return
    const sum = { usd: used.usd + usd, tokens: used.tokens + tokens, runs: used.runs + runs, position }
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
