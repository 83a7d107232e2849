/**
 * Simulated runs ("days") of one workflow that must all end like the first one, which has no faults. Shared by
 * `crashTest` and `explore`, which differ in the faults that they choose.
 *
 * It checks that the first day ends as expected, that the others end the same way, and that declared effects happen equally
 * often. The simulation checks what happens within a day.
 */

import { isDeepStrictEqual } from "node:util"
import { type NodeId, SuperstepError } from "../../core/index.ts"
import type { RunResult } from "../../runtime/index.ts"
import type { OptionNames } from "../../runtime/internal.ts"
import { built, type SimulateOptions, type Simulation, type WorkflowSource } from "./simulate-options.ts"
import { simulate } from "./simulation.ts"

export interface ComparedOptions extends Omit<SimulateOptions, "seed" | "faults"> {
  /**
   * The status at the end of a run without faults. Default `completed`: a workflow that always fails, or only waits for an
   * answer, is barely tested.
   */
  readonly status?: RunResult["status"] | undefined
  /** Called before every simulated run: reset external state here, such as a fake mail server. */
  readonly before?: (() => void) | undefined
  /**
   * Counters of side effects. Each must have the same count on every simulated run as without faults, even if the outputs do
   * not show it.
   */
  readonly effects?: Effects | undefined
}

export const COMPARED: OptionNames<ComparedOptions> = {
  answers: true,
  signals: true,
  timers: true,
  run: true,
  status: true,
  before: true,
  effects: true,
}

/** A handler that was begun more than once for one task. */
export interface Repetition {
  readonly node: NodeId
  /** The highest count for one task of one simulated run. Code outside of steps ran as often. */
  readonly begun: number
}

export interface ComparedDays {
  /** The day without faults. */
  first(day: SimulateOptions): Promise<Simulation>
  next(day: SimulateOptions): Promise<void>
  report(): {
    /** The common outcome: the result of `compare`. */
    readonly outcome: unknown
    readonly crashes: number
    /** Handlers that were begun more than once for one task, the most often begun first. */
    readonly repeated: readonly Repetition[]
  }
}

/** `failed` creates the error of a day, from its options and the finding. */
export function compareDays<In, Out>(
  workflow: WorkflowSource<In, Out>,
  input: In,
  options: ComparedOptions & { readonly compare: (simulation: Simulation) => unknown },
  failed: { readonly code: string; text(day: SimulateOptions, what: string, replay: string): string },
): ComparedDays {
  const { status = "completed", before, effects: counters = {}, compare } = options
  const begun = new Map<NodeId, number>()
  let expected: Counts = {}
  let outcome: unknown
  let crashes = 0

  const error = (day: SimulateOptions, what: string, cause?: unknown) =>
    new SuperstepError(failed.code, failed.text(day, what, replayLine(input, day)), { cause })

  async function simulated(day: SimulateOptions) {
    before?.()
    const counted = readEffects(counters)
    try {
      const simulation = await simulate(workflow, input, day)
      for (const { node, calls } of simulation.executions)
        begun.set(node, Math.max(calls, begun.get(node) ?? 0))
      return { simulation, effects: readEffects(counters, counted) }
    } catch (cause) {
      throw error(day, cause instanceof Error ? cause.message : String(cause), cause)
    }
  }

  function differentEnd(end: unknown, { result }: Simulation): string {
    const ended = `it ends with ${JSON.stringify(end)}; undisturbed, with ${JSON.stringify(outcome)}. `
    if (result.error?.code === "SCRIPT_EXHAUSTED" && typeof workflow !== "function")
      return `${ended}The workflow's scripted model was used up by an earlier process: ${result.error.message} Pass a function that builds the workflow and its model, () => workflow, so that every process has its own.`
    return `${ended}If the outcome may depend on timing, define with \`compare\` what must be the same.`
  }

  return {
    async first(day) {
      const { simulation, effects } = await simulated(day)
      const problem = unexpectedEnd(simulation.result, status)
      if (problem !== undefined) throw error(day, `undisturbed, ${problem}`)
      outcome = plain(compare(simulation))
      expected = effects
      return simulation
    },
    async next(day) {
      const { simulation, effects } = await simulated(day)
      crashes += simulation.crashes
      const end = plain(compare(simulation))
      if (!isDeepStrictEqual(end, outcome)) throw error(day, differentEnd(end, simulation))
      const problem = effectProblem(counters, expected, effects, simulation)
      if (problem !== undefined) throw error(day, problem)
    },
    report: () => ({
      outcome,
      crashes,
      repeated: [...begun]
        .flatMap(([node, times]) => (times > 1 ? [{ node, begun: times }] : []))
        .sort((a, b) => b.begun - a.begun),
    }),
  }
}

/** Whether the order of messages and writes is independent of timing. */
export function isOrdered<In, Out>(workflow: WorkflowSource<In, Out>): boolean {
  return built(workflow).program.graph.schedule === "superstep"
}

/** How a run ended, ignoring the order of outputs if it depends on timing. */
export function endOf(inOrder: boolean): (simulation: Simulation) => object {
  return ({ result: { status, error, outputs } }) => ({
    status,
    error: error?.code,
    outputs: inOrder ? outputs : sorted(outputs),
  })
}

/** Sorts a list; returns anything else unchanged. */
export function sorted(value: unknown): unknown {
  return Array.isArray(value) ? value.map((item) => JSON.stringify(item)).sort() : value
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

/** How often an effect has happened so far, as counted by the test's fake of the external system. */
export type EffectCounter =
  | (() => number)
  | {
      count(): number
      /**
       * Without it, an effect may happen more often on a simulated run on which a step ran again because its process died
       * before the result was durable: steps run at least once. Set it for effects with an idempotency key, which must
       * happen exactly once even then.
       */
      readonly exactlyOnce: boolean
    }

export type Effects = { readonly [name: string]: EffectCounter }

type Counts = { readonly [name: string]: number }

/** How often each effect has happened since `before`. */
function readEffects(effects: Effects, before: Counts = {}): Counts {
  return Object.fromEntries(
    Object.entries(effects).map(([name, counter]) => {
      const count = typeof counter === "function" ? counter() : counter.count()
      return [name, count - (before[name] ?? 0)]
    }),
  )
}

function effectProblem(
  effects: Effects,
  expected: Counts,
  found: Counts,
  { repeatedSteps, executions }: Simulation,
): string | undefined {
  for (const [name, counter] of Object.entries(effects)) {
    const [times, usual] = [found[name] ?? 0, expected[name] ?? 0]
    const mayRepeat = repeatedSteps > 0 && (typeof counter === "function" || !counter.exactlyOnce)
    if (times === usual || (times > usual && mayRepeat)) continue
    const again = executions.flatMap(({ node, task, calls }) =>
      calls > 1 ? [`"${node}" (task ${task}), ${calls} times`] : [],
    )
    const begun = again.length === 0 ? "" : ` Handlers begun more than once: ${again.join("; ")}.`
    return (
      `effect "${name}" happened ${timesOf(times)}; undisturbed, ${timesOf(usual)}.${begun} ` +
      "Put the effect into ctx.step, and pass ctx.idempotencyKey to APIs that must not act twice."
    )
  }
  return undefined
}

function timesOf(count: number): string {
  return count === 1 ? "once" : `${count} times`
}

/** How the undisturbed run ends, if the test expects something else. */
function unexpectedEnd(result: RunResult, expected: RunResult["status"]): string | undefined {
  const { status } = result
  if (status === expected) return undefined
  const meant = `If that is intended, pass status: "${status}".`
  if (status === "waiting") {
    const open = result.requests.map(({ prompt, node }) => `${JSON.stringify(prompt)} (node "${node}")`)
    const asked = open.length === 0 ? "" : ` for an answer to ${open.join(", ")}`
    if (open.length === 0 && result.waits.length > 0) {
      const names = result.waits.map(({ name, node }) => `"${name}" (node "${node}")`)
      return `it only waits for signal ${names.join(", ")}, so the rest is not tested. Pass \`signals\`. ${meant}`
    }
    return `it only waits${asked}, so the rest is not tested. Pass \`answers\`. ${meant}`
  }
  if (result.error === undefined) return `it ends ${status}, not ${expected}. ${meant}`
  return `it ends ${status}, not ${expected}: ${described(result.error)} ${meant}`
}

function described(error: SuperstepError): string {
  const { code, message, node } = error
  const where = node === undefined ? "" : `node "${node}": `
  const text = `${where}${code}: ${/[.!?]$/.test(message) ? message : `${message}.`}`
  if (!isFrozenChange(error)) return text
  return `handler changed its input, or another value that belongs to the run: ${text} Return a new value instead.`
}

/** The messages that JavaScript engines throw when strict code changes a frozen object. */
const FROZEN =
  /read[- ]only property|object is not extensible|Cannot (delete|redefine) property|property is not configurable/i

function isFrozenChange({ message, cause }: SuperstepError): boolean {
  if (cause !== undefined && !(cause instanceof TypeError)) return false
  return FROZEN.test(message)
}

/** The code that repeats a simulated day; answers are functions, so they appear by name. */
function replayLine(input: unknown, { answers, ...data }: SimulateOptions): string {
  const shown = JSON.stringify(data).slice(1, -1)
  return `simulate(workflow, ${JSON.stringify(input)}, { ${shown}${answers === undefined ? "" : ", answers"} })`
}
