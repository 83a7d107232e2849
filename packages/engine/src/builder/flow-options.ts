/** How runs of a workflow are queued and limited, across all processes of a store. */
import type { SuperstepError } from "../core/index.ts"
import type { FlowKey, LaneLimit, NodeFlow, NodeFlowRun, ProgramFlow } from "../runtime/index.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "../runtime/internal.ts"

/** What of the input decides: inputs with the same key share a limit, or a run. */
// biome-ignore lint/suspicious/noExplicitAny: the options of a workflow come before its input's type is known.
export type KeyOf = (input: any) => string | number | boolean

export interface FlowOptions {
  /** How many runs execute at the same time. A run that waits for a person, a timer or a place gives its place back. */
  readonly concurrency?: number | ConcurrencyLimit | readonly ConcurrencyLimit[] | undefined
  /** How many runs start in a time. Those above it wait. */
  readonly rateLimit?: RateLimit | readonly RateLimit[] | undefined
  /** At most one run in each period; what is enqueued meanwhile is dropped in favour of that run. */
  readonly throttle?: Throttle | undefined
  /** A run starts when nothing was enqueued for a while, with the last input. */
  readonly debounce?: Debounce | undefined
  /** A run gets a list of what was enqueued, when there is enough of it or the first item has waited long enough. */
  readonly batch?: Batch | undefined
  /** Higher is earlier; each point is worth a minute of waiting. `enqueue` may say otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly priority?: number | ((input: any) => number) | undefined
  /** Whose run it is: tenants are served in turn. `enqueue` may say otherwise. */
  readonly tenant?: KeyOf | undefined
}

/** What of a node's message, or of the run's state, decides: tasks with the same key share a limit. */
// biome-ignore lint/suspicious/noExplicitAny: the policies of a node come before its message's type is known.
export type NodeKeyOf = (message: any, run: NodeFlowRun) => string | number | boolean

/** How tasks of a node are limited, across all processes of a store and all runs. */
export interface NodeFlowOptions {
  /** How many tasks execute at the same time. One that waits for a person, a timer or a sub-workflow gives its place back. */
  readonly concurrency?:
    | number
    | ConcurrencyLimit<NodeKeyOf>
    | readonly ConcurrencyLimit<NodeKeyOf>[]
    | undefined
  /** How many tasks start in a time, retries and those that another process begins again included. Those above it wait. */
  readonly rateLimit?: RateLimit<NodeKeyOf> | readonly RateLimit<NodeKeyOf>[] | undefined
  /** Higher is earlier; each point is worth a minute of waiting. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly priority?: number | ((message: any, run: NodeFlowRun) => number) | undefined
}

export interface ConcurrencyLimit<Key = KeyOf> {
  readonly max: number
  /** Each key has `max` places of its own. Absent: all share them. */
  readonly key?: Key | undefined
}

export interface RateLimit<Key = KeyOf> {
  /** So many starts in each period, evenly spread. */
  readonly max: number
  /** Milliseconds. */
  readonly period: number
  /** So many may start at once after a pause. Default 1. */
  readonly burst?: number | undefined
  readonly key?: Key | undefined
}

export interface Throttle {
  /** Milliseconds. Periods are counted from 1970, not from the first run. */
  readonly period: number
  readonly key?: KeyOf | undefined
}

export interface Debounce {
  /** Milliseconds without further input. */
  readonly period: number
  /** Milliseconds from the first input after which it starts in any case. Default: none. */
  readonly timeout?: number | undefined
  readonly key?: KeyOf | undefined
}

export interface Batch {
  readonly maxSize: number
  /** Milliseconds that the first item waits for others. */
  readonly timeout: number
  readonly key?: KeyOf | undefined
}

const FLOW: OptionNames<FlowOptions> = {
  concurrency: true,
  rateLimit: true,
  throttle: true,
  debounce: true,
  batch: true,
  priority: true,
  tenant: true,
}
const NODE_FLOW: OptionNames<NodeFlowOptions> = { concurrency: true, rateLimit: true, priority: true }
const CONCURRENCY: OptionNames<ConcurrencyLimit> = { max: true, key: true }
const RATE: OptionNames<RateLimit> = { max: true, period: true, burst: true, key: true }
const THROTTLE: OptionNames<Throttle> = { period: true, key: true }
const DEBOUNCE: OptionNames<Debounce> = { period: true, timeout: true, key: true }
const BATCH: OptionNames<Batch> = { maxSize: true, timeout: true, key: true }

const MAX_BATCH = 10_000

type Refuse = (reason: string) => SuperstepError

/** Throws what `refuse` makes of the first thing that is wrong. */
export function checkFlowOptions(flow: unknown, refuse: Refuse): void {
  if (flow === undefined) return
  checkPart("flow", flow, FLOW, refuse)
  const { concurrency, rateLimit, throttle, debounce, batch, priority, tenant } = flow as FlowOptions
  if (typeof concurrency === "number") checkWhole("flow.concurrency", concurrency, refuse)
  else {
    for (const [name, limit] of named("flow.concurrency", concurrency)) {
      checkPart(name, limit, CONCURRENCY, refuse)
      checkWhole(`${name}.max`, limit.max, refuse)
    }
  }
  for (const [name, limit] of named("flow.rateLimit", rateLimit)) {
    checkPart(name, limit, RATE, refuse)
    checkWhole(`${name}.max`, limit.max, refuse)
    checkTime(`${name}.period`, limit.period, refuse)
    if (limit.burst !== undefined) checkWhole(`${name}.burst`, limit.burst, refuse)
  }
  if (throttle !== undefined) {
    checkPart("flow.throttle", throttle, THROTTLE, refuse)
    checkTime("flow.throttle.period", throttle.period, refuse)
  }
  if (debounce !== undefined) {
    checkPart("flow.debounce", debounce, DEBOUNCE, refuse)
    checkTime("flow.debounce.period", debounce.period, refuse)
    if (debounce.timeout !== undefined) checkTime("flow.debounce.timeout", debounce.timeout, refuse)
  }
  if (batch !== undefined) {
    checkPart("flow.batch", batch, BATCH, refuse)
    checkWhole("flow.batch.maxSize", batch.maxSize, refuse)
    if (batch.maxSize > MAX_BATCH)
      throw refuse(`flow.batch.maxSize must be at most ${MAX_BATCH}, not ${batch.maxSize}`)
    checkTime("flow.batch.timeout", batch.timeout, refuse)
  }
  const merging = Object.entries({ throttle, debounce, batch }).flatMap(([name, one]) => (one ? [name] : []))
  if (merging.length > 1) throw refuse(`flow.${merging.join(" and flow.")} exclude each other`)
  if (priority !== undefined && typeof priority !== "function" && !Number.isFinite(priority)) {
    throw refuse(`flow.priority must be a number or a function of the input, not ${shown(priority)}`)
  }
  checkKey("flow.tenant", tenant, refuse)
}

/** The same for those of a node. */
export function checkNodeFlow(flow: unknown, refuse: Refuse): void {
  if (flow === undefined) return
  checkPart("flow", flow, NODE_FLOW, refuse)
  checkFlowOptions(flow, refuse)
}

function checkPart<Options>(name: string, part: unknown, known: OptionNames<Options>, refuse: Refuse): void {
  if (!isOptions(part)) {
    throw refuse(`${name} must be an object such as { ${Object.keys(known)[0]}: … }, not ${shown(part)}`)
  }
  const problem = unknownOption(part, known)
  if (problem !== undefined) throw refuse(`${name}: ${problem}`)
  checkKey(`${name}.key`, (part as { key?: unknown }).key, refuse)
}

function checkKey(name: string, key: unknown, refuse: Refuse): void {
  if (key === undefined || typeof key === "function") return
  throw refuse(`${name} must be a function of the input, not ${shown(key)}`)
}

function checkWhole(name: string, value: unknown, refuse: Refuse): void {
  if (Number.isInteger(value) && (value as number) >= 1) return
  throw refuse(`${name} must be a whole number of at least 1, not ${shown(value)}`)
}

function checkTime(name: string, value: unknown, refuse: Refuse): void {
  if (Number.isFinite(value) && (value as number) > 0) return
  throw refuse(`${name} must be milliseconds, more than 0, not ${shown(value)}`)
}

/** One limit or several, each with its name. */
function named<T extends object>(
  option: string,
  limits: T | readonly T[] | undefined,
): readonly (readonly [string, T])[] {
  if (limits === undefined) return []
  if (!Array.isArray(limits)) return [[option, limits as T]]
  return (limits as readonly T[]).map((limit, i) => [`${option}[${i}]`, limit])
}

/** The options as a runtime uses them. */
export function programFlow(workflow: string, flow: FlowOptions | undefined): ProgramFlow | undefined {
  if (flow === undefined) return undefined
  const { concurrency, rateLimit, ...rest } = flow
  const limits: LaneLimit[] = []
  const lanes: { limit: string; option: string; key: FlowKey | undefined }[] = []
  const add = (option: string, key: FlowKey | undefined, limit: Omit<LaneLimit, "name">) => {
    const name = `${workflow}/${option}`
    limits.push({ name, ...limit })
    lanes.push({ limit: name, option: `${option}.key`, key })
  }
  for (const { option, key, ...limit } of limitsOf(flow)) add(option, key, limit)
  return Object.freeze({ ...rest, limits, lanes })
}

function limitsOf({ concurrency, rateLimit }: Pick<NodeFlowOptions, "concurrency" | "rateLimit">) {
  const places = typeof concurrency === "number" ? { max: concurrency } : concurrency
  return [
    ...named("concurrency", places).map(([option, { max, key }]) => ({ option, key, max })),
    ...named("rateLimit", rateLimit).map(([option, { max, period, burst = 1, key }]) => ({
      option,
      key,
      rate: { every: period / max, burst },
    })),
  ]
}

/** The options of a node as its tasks use them. */
export function nodeFlow(flow: NodeFlowOptions | undefined): NodeFlow | undefined {
  if (flow === undefined) return undefined
  const limits = limitsOf(flow)
  if (limits.length === 0) return undefined
  const lanes = [...limits.filter(({ key }) => key), ...limits.filter(({ key }) => !key)]
  return Object.freeze({ lanes, priority: flow.priority })
}
