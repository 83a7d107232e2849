/** The `flow` of a definition, in both dialects: how its runs are queued and limited. Keys are expressions over `$input`. */
import { z } from "zod"
import type { KeyOf } from "../builder/index.ts"
import type { Json } from "../core/index.ts"
import { nearest, type Path } from "../document/index.ts"
import { ExpressionError, expression } from "../expressions/index.ts"
import { type DocumentReport, tryRead } from "./dialect-input.ts"
import { type Arg, type ArgObject, call, definedArgs, functionsFrom } from "./plan/index.ts"

/** Durations in definitions: seconds, or a string with a unit. */

const DURATION = /^\s*\d+(\.\d+)?\s*(ms|s|m|h)?\s*$/

/** The duration that other spellings of its unit stand for: `90sec`, `5 minutes`, `1d`. */
function durationMeant(text: string): string | undefined {
  const [, amount = "", unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\.?\s*$/i.exec(text) ?? []
  if (/^d(ay)?s?$/i.test(unit)) return `${Number(amount) * 24}h`
  const units = {
    ms: /^m(illi)?s(ec(ond)?s?)?$/i,
    s: /^s(ec(ond)?)?s?$/i,
    m: /^m(in(ute)?)?s?$/i,
    h: /^h((ou)?r)?s?$/i,
  }
  const found = Object.entries(units).find(([, pattern]) => pattern.test(unit))
  return found === undefined ? undefined : `${amount}${found[0]}`
}

export const durationShape = z
  .union([
    z.number().min(0),
    z
      .string()
      .superRefine((text, ctx) => {
        if (DURATION.test(text)) return
        const message = `${JSON.stringify(text)} is not a duration: write seconds, or a number with ms, s, m or h, such as 90s.`
        const params = { code: "BAD_FORMAT", suggestion: durationMeant(text) }
        ctx.addIssue({ code: "custom", message, params })
      })
      .meta({ pattern: DURATION.source }),
  ])
  .describe('Seconds, or a string such as "90s" or "5m".')

/** Of a limit: a period of no time would limit nothing. */
const periodShape = durationShape.refine((duration) => milliseconds(duration) > 0, {
  error: ({ input }) => `A period of ${JSON.stringify(input)} is not a time: it must be more than 0.`,
  params: { code: "OUT_OF_RANGE" },
})

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

export function milliseconds(duration: number | string): number {
  if (typeof duration === "number") return Math.round(duration * 1_000)
  const [, amount = "0", unit = "s"] = /([\d.]+)\s*(ms|s|m|h)?/.exec(duration) ?? []
  return Math.round(Number(amount) * (UNITS[unit] ?? 1_000))
}

const count = z.int().min(1)
const key = z
  .string()
  .min(1)
  .optional()
  .describe("An expression, such as $input.tenant. Default: all runs together.")
const oneOrMore = <T extends z.ZodType>(shape: T) => z.union([shape, z.array(shape).min(1)])

const concurrencyShape = z.strictObject({ max: count.describe("How many execute at the same time."), key })
const rateShape = z.strictObject({
  max: count.describe("How many start in a period, evenly spread."),
  period: periodShape,
  burst: count.optional().describe("How many may start at once after a pause. Default 1."),
  key,
})
const priority = z
  .union([z.number(), z.string().min(1)])
  .optional()
  .describe("Higher is earlier: a number, or an expression.")

/** Of a step or a node. */
export const nodeFlowShape = z
  .strictObject({
    concurrency: z
      .union([count, oneOrMore(concurrencyShape)])
      .optional()
      .describe("How many of its tasks execute at the same time, in all runs."),
    rateLimit: oneOrMore(rateShape)
      .optional()
      .describe("How many of its tasks start in a time; the others wait."),
    priority,
  })
  .optional()
  .describe("agent, tool: limits its tasks across all runs and processes.")

/** Of a step or a node. */
export const placementShape = z.enum(["inline", "spread"]).optional().meta({
  description:
    "agent, tool, function: where its tasks execute. inline: in the process that executes the run. spread: on any worker of a Restate cluster; it cannot ask people there.",
  default: "inline",
})

export const flowShape = z
  .strictObject({
    concurrency: z
      .union([count, oneOrMore(concurrencyShape)])
      .optional()
      .describe("How many runs execute at the same time, across all processes."),
    rateLimit: oneOrMore(rateShape).optional().describe("How many runs start in a time; the others wait."),
    throttle: z
      .strictObject({ period: periodShape, key })
      .optional()
      .describe("At most one run in each period; further inputs are dropped."),
    debounce: z
      .strictObject({
        period: periodShape,
        timeout: durationShape.optional().describe("Starts after this time in any case."),
        key,
      })
      .optional()
      .describe("Starts once nothing more was enqueued for a period, with the last input."),
    batch: z
      .strictObject({ maxSize: count.max(10_000), timeout: durationShape, key })
      .optional()
      .describe("A run gets a list of inputs: maxSize of them, or what came until the timeout."),
    priority,
    tenant: z.string().min(1).optional().describe("An expression: tenants are served in turn."),
  })
  .describe("How runtimes queue and limit its runs.")

type FlowData = z.infer<typeof flowShape>

const ROOT = "input"
const WORKFLOW = { at: ["flow"], key: "flowKey" } as const

/** The option `flow` of the workflow, or of the node at the path. Problems are reported. */
export function flowArgs(
  flow: FlowData | undefined,
  report: DocumentReport,
  place: { readonly at: Path; readonly key: "flowKey" | "stepFlowKey" | "graphFlowKey" } = WORKFLOW,
): ArgObject | undefined {
  if (flow === undefined) return undefined
  const merging = (["throttle", "debounce", "batch"] as const).filter((name) => flow[name] !== undefined)
  const [, second] = merging
  if (second !== undefined) {
    report.error(
      "FLOW_INVALID",
      `flow: ${merging.join(" and ")} exclude each other`,
      ["flow", second],
      undefined,
      "key",
    )
  }
  const keyArg = (text: string | undefined, ...path: Path): Arg => {
    if (text === undefined) return undefined
    checkKey(text, [...place.at, ...path], report)
    return call(place.key, text)
  }
  const each = <T extends object>(
    name: string,
    limits: T | readonly T[],
    arg: (limit: T, ...at: Path) => ArgObject,
  ): Arg => (Array.isArray(limits) ? limits.map((limit, i) => arg(limit, name, i)) : arg(limits as T, name))
  const { concurrency, rateLimit, throttle, debounce, batch, priority, tenant } = flow
  return definedArgs({
    concurrency:
      typeof concurrency === "number" || concurrency === undefined
        ? concurrency
        : each("concurrency", concurrency, (limit, ...at) => ({
            max: limit.max,
            key: keyArg(limit.key, ...at, "key"),
          })),
    rateLimit:
      rateLimit &&
      each("rateLimit", rateLimit, (limit, ...at) => ({
        max: limit.max,
        period: milliseconds(limit.period),
        burst: limit.burst,
        key: keyArg(limit.key, ...at, "key"),
      })),
    throttle: throttle && {
      period: milliseconds(throttle.period),
      key: keyArg(throttle.key, "throttle", "key"),
    },
    debounce: debounce && {
      period: milliseconds(debounce.period),
      timeout: debounce.timeout === undefined ? undefined : milliseconds(debounce.timeout),
      key: keyArg(debounce.key, "debounce", "key"),
    },
    batch: batch && {
      maxSize: batch.maxSize,
      timeout: milliseconds(batch.timeout),
      key: keyArg(batch.key, "batch", "key"),
    },
    priority: typeof priority === "string" ? keyArg(priority, "priority") : priority,
    tenant: keyArg(tenant, "tenant"),
  })
}

function checkKey(text: string, at: Path, report: DocumentReport): void {
  const read = tryRead(text, (one) => expression(one, "steps"))
  if (read instanceof ExpressionError) return report.invalidExpression(read, at)
  for (const { root, start, end } of read.references) {
    if (root === ROOT) continue
    const message = `A limit does not see $${root}; use $${ROOT}.`
    report.error("UNKNOWN_NAME", message, at, nearest(`$${root}`, [`$${ROOT}`]), { from: start, to: end })
  }
}

/** Evaluates an expression over `$input`, the input of a run. */
export function flowKey(text: string): KeyOf {
  const read = expression(text, "steps")
  return (input: Json) => read.evaluate((root) => (root === ROOT ? input : undefined)) as string
}

export const flowFunctions = functionsFrom("superstep/definitions", { flowKey })
