/** The options of nodes, edges and workflows. Names and kinds are checked at run time too, for callers without types. */
import {
  type Budget,
  type Limits,
  type NodeId,
  type RetryPolicy,
  type Schedule,
  SuperstepError,
} from "../core/index.ts"
import type { Channel, ScheduleOptions } from "../runtime/index.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "../runtime/internal.ts"
import { scheduleSpec } from "../schedules/index.ts"
import { checkFlowOptions, checkNodeFlow, type FlowOptions } from "./flow-options.ts"
import type { AnyNode, NodePolicies } from "./wiring.ts"

export interface WorkflowOptions<Channels extends readonly Channel[] = readonly Channel[]> {
  readonly description?: string | undefined
  /** The channels of the state that nodes share. */
  readonly state?: Channels | undefined
  /** `superstep`: messages are delivered when all tasks of a step are done. `flow`: at once. */
  readonly schedule?: Schedule | undefined
  readonly limits?: Limits | undefined
  /** The default timeout in milliseconds and the default budget of a run. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
  /** How runtimes queue and limit its runs. A run without a runtime is not limited. */
  readonly flow?: FlowOptions | undefined
  /** When runtimes run it by themselves. Each schedule has the id `<workflow>/<id>` in the store. */
  readonly schedules?: readonly ScheduleOptions[] | undefined
}

export type When<M> = (message: M) => boolean | Promise<boolean>

export interface EdgeOptions<M> {
  /** The edge is taken when this holds. */
  readonly when?: When<M> | undefined
  /** How often a run may take the edge; once more ends it with status `limit`. */
  readonly max?: number | undefined
  /** Shown in diagrams. */
  readonly label?: string | undefined
}

export interface Case<M, N = AnyNode> {
  readonly when: When<M>
  readonly to: N
  readonly label?: string | undefined
}

export interface LoopOptions<M, N> {
  /** Repeats while this holds. */
  readonly while?: When<M> | undefined
  /** Repeats until this holds. */
  readonly until?: When<M> | undefined
  /** Maximum number of passes; after the last one the run takes the exit. */
  readonly max?: number | undefined
  /** Receives the message when the loop ends; if absent, the message is an output. */
  readonly exit?: N | undefined
}

/** Its own nodes can have limits across runs: the node that calls it only waits. */
export interface SubWorkflowOptions extends Omit<NodePolicies, "flow" | "placement"> {
  /** Answers a request of the sub-workflow; undefined leaves it to a person. */
  readonly onRequest?: ((request: { prompt: string; data?: unknown }) => unknown) | undefined
}

const POLICIES: OptionNames<Omit<NodePolicies, "flow" | "placement">> = {
  description: true,
  retry: true,
  timeout: true,
  concurrency: true,
  maxVisits: true,
  budget: true,
}
const NODE = {
  id: true,
  run: true,
  handlers: true,
  input: true,
  output: true,
  answer: true,
  onAnswer: true,
  onError: true,
  flow: true,
  placement: true,
  ...POLICIES,
} as const
const SUB_WORKFLOW = { onRequest: true, ...POLICIES } as const
const RETRY: OptionNames<RetryPolicy> = {
  attempts: true,
  backoff: true,
  delay: true,
  maxDelay: true,
  jitter: true,
  on: true,
  matching: true,
}
const BUDGET: OptionNames<Budget> = {
  tokens: true,
  usd: true,
  modelCalls: true,
  toolCalls: true,
  iterations: true,
  allowUnpriced: true,
}
const LIMITS: OptionNames<Limits> = {
  supersteps: true,
  visits: true,
  loops: true,
  concurrency: true,
  valueBytes: true,
}
const WORKFLOW: OptionNames<WorkflowOptions> = {
  description: true,
  state: true,
  schedule: true,
  limits: true,
  timeout: true,
  budget: true,
  flow: true,
  schedules: true,
}

const EDGES = {
  edge: { when: true, max: true, label: true } satisfies OptionNames<EdgeOptions<never>>,
  fanOut: { select: true, label: true },
  fanIn: { join: true, timeout: true },
  map: { concurrency: true, settle: true },
  switch: { when: true, to: true, label: true } satisfies OptionNames<Case<never>>,
  loop: { while: true, until: true, max: true, exit: true } satisfies OptionNames<LoopOptions<never, never>>,
} as const satisfies Readonly<Record<string, Readonly<Record<string, true>>>>

export function checkNodeOptions(id: NodeId, options: object): void {
  const refuse = refusing(`Node "${String(id)}"`)
  checkAll(options, NODE, refuse)
  for (const name of ["input", "output", "answer"]) {
    const schema = (options as Record<string, unknown>)[name]
    if (schema !== undefined && !isSchema(schema)) {
      throw refuse(`${name} must be a Standard Schema (zod, valibot, arktype, …), not ${shown(schema)}`)
    }
  }
  checkNodePolicies(id, options)
}

/** Checks any node of a workflow, also one from another layer, such as an agent. */
export function checkNodePolicies(id: NodeId, options: object): void {
  const refuse = refusing(`Node "${String(id)}"`)
  checkPolicies(options, refuse)
  const { onError, flow, placement } = options as { onError?: unknown; flow?: unknown; placement?: unknown }
  checkNodeFlow(flow, refuse)
  if (placement !== undefined && placement !== "inline" && placement !== "spread") {
    throw refuse(`placement must be "inline" or "spread", not ${shown(placement)}`)
  }
  if (onError !== undefined && onError !== "fail" && onError !== "settle") {
    throw refuse(`onError must be "fail" or "settle", not ${shown(onError)}`)
  }
}

/** A schema may be a function, as those of arktype are. */
function isSchema(value: unknown): boolean {
  return (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value
}

export function checkSubWorkflowOptions(id: NodeId, options: object): void {
  const refuse = refusing(`Node "${id}"`)
  checkAll(options, SUB_WORKFLOW, refuse)
  checkPolicies(options, refuse)
}

export function checkWorkflowOptions(name: string, options: WorkflowOptions): void {
  const refuse = refusing(`Workflow "${name}"`)
  checkAll(options, WORKFLOW, refuse)
  checkPart(options, "limits", LIMITS, refuse)
  checkPart(options, "budget", BUDGET, refuse)
  const { allowUnpriced: _, ...amounts } = options.budget ?? {}
  for (const [part, value] of Object.entries(amounts)) checkAmount(`budget.${part}`, value, refuse)
  checkAmount("timeout", options.timeout, refuse)
  checkFlowOptions(options.flow, refuse)
  checkSchedules(options.schedules, refuse)
  if (options.state !== undefined && !Array.isArray(options.state)) {
    throw refuse(`state must be a list of channels, not ${shown(options.state)}`)
  }
}

function checkSchedules(schedules: readonly ScheduleOptions[] | undefined, refuse: Refuse): void {
  if (schedules === undefined) return
  if (!Array.isArray(schedules)) {
    throw refuse(`schedules must be a list such as [{ id, cron }], not ${shown(schedules)}`)
  }
  for (const schedule of schedules) scheduleSpec(schedule)
  const ids = schedules.map(({ id }) => id)
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  if (twice !== undefined) throw refuse(`two schedules have the id "${twice}"`)
}

/** Checks the options of a builder call: `.edge(a, b, options)`. */
export function checkEdgeOptions(call: keyof typeof EDGES, from: NodeId, options: object): void {
  const refuse = refusing(`.${call}() of "${from}"`)
  checkAll<Record<string, true>>(options, EDGES[call], refuse)
  for (const name of ["when", "select", "while", "until"]) {
    const option = (options as Record<string, unknown>)[name]
    if (option !== undefined && typeof option !== "function") {
      throw refuse(`${name} must be a function, not ${shown(option)}`)
    }
  }
  if (call === "switch" && (options as Partial<Case<never>>).when === undefined) {
    throw refuse("a case needs when, a function that decides whether it matches the message")
  }
}

function checkAmount(name: string, value: unknown, refuse: Refuse): void {
  if (value === undefined || (Number.isFinite(value) && (value as number) >= 0)) return
  throw refuse(`${name} must be a number of at least 0, not ${shown(value)}`)
}

function checkPolicies(options: object, refuse: Refuse): void {
  checkPart(options, "retry", RETRY, refuse, "{ attempts: 3 }")
  checkPart(options, "budget", BUDGET, refuse)
  const { backoff, on, matching } = (options as NodePolicies).retry ?? {}
  for (const [name, list] of Object.entries({ on, matching })) {
    if (list === undefined || Array.isArray(list)) continue
    throw refuse(`retry.${name} must be a list, not ${shown(list)}`)
  }
  if (backoff !== undefined && backoff !== "fixed" && backoff !== "exponential") {
    throw refuse(`retry.backoff must be "fixed" or "exponential", not ${shown(backoff)}`)
  }
}

type Refuse = (reason: string) => SuperstepError

function refusing(what: string): Refuse {
  return (reason) =>
    new SuperstepError("OPTION_INVALID", `${what}: ${reason}${reason.endsWith("?") ? "" : "."}`)
}

function checkAll<Options>(options: object, known: OptionNames<Options>, refuse: Refuse): void {
  const problem = unknownOption(options, known)
  if (problem !== undefined) throw refuse(problem)
}

/** Checks an option that has its own options. */
function checkPart<Options>(
  options: object,
  name: string,
  known: OptionNames<Options>,
  refuse: Refuse,
  example = `{ ${Object.keys(known)[0]}: … }`,
): void {
  const part = (options as Record<string, unknown>)[name]
  if (part === undefined) return
  if (!isOptions(part)) throw refuse(`${name} must be an object such as ${example}, not ${shown(part)}`)
  const problem = unknownOption(part, known)
  if (problem !== undefined) throw refuse(`${name}: ${problem}`)
}
