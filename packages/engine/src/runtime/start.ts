/** The first entry of a run: its input checked, its limits resolved to data. */
import {
  BUDGET_PARTS,
  DEFAULT_VALUE_BYTES,
  graphData,
  type Json,
  jsonProblem,
  type Limits,
  printJsonProblem,
  type RunId,
  type RunStarted,
  SuperstepError,
  signatureOf,
  writeProblem,
} from "../core/index.ts"
import { checkSize } from "./check-json.ts"
import { labelsProblem } from "./labels.ts"
import type { RunOptions } from "./options.ts"
import type { Program, ProgramNode } from "./program.ts"
import { validate } from "./schema.ts"
import { checkThread } from "./thread.ts"

export function runStarted(
  program: Program,
  runId: RunId,
  input: Json,
  at: number,
  options: Pick<RunOptions, "limits" | "budget" | "state" | "timeout"> & {
    readonly trace?: string | undefined
    readonly thread?: RunStarted["thread"]
  },
): RunStarted {
  const { graph } = program
  return {
    type: "run.started",
    at,
    runId,
    workflow: graph.name,
    signature: signatureOf(graph).hash,
    graph: graphData(graph).hash,
    input,
    state: options.state as RunStarted["state"],
    limits: options.limits,
    budget: options.budget,
    deadline: options.timeout === undefined ? undefined : at + options.timeout,
    trace: options.trace,
    thread: options.thread,
  }
}

/** The largest single value that a run of the program takes. */
export function valueBytesOf({ graph }: Program, limits?: Limits): number {
  return limits?.valueBytes ?? graph.spec.limits?.valueBytes ?? DEFAULT_VALUE_BYTES
}

/** Rejects with VALUE_TOO_LARGE when the input is too large, with INPUT_INVALID when no handler of the start node takes the input. */
export function checkInput(
  program: Program,
  input: unknown,
  valueBytes: number = valueBytesOf(program),
): Promise<void> | undefined {
  const problem = jsonProblem(input, valueBytes)
  checkSize(problem, valueBytes, () => `The input of workflow "${program.graph.name}"`)
  if (problem !== undefined) throw inputInvalid(program, printJsonProblem(problem))
  const { handlers } = program.nodes[program.graph.start] as ProgramNode
  if (handlers.some((handler) => handler.schema === undefined)) return undefined
  return findHandler(program, handlers, input)
}

async function findHandler(
  program: Program,
  handlers: ProgramNode["handlers"],
  input: unknown,
): Promise<void> {
  const reasons: string[] = []
  for (const { schema } of handlers) {
    if (schema === undefined) return
    const checked = await validate(schema, input)
    if (checked.ok) return
    reasons.push(checked.reason)
  }
  throw inputInvalid(program, reasons.join(" | "))
}

function inputInvalid({ graph }: Program, reason: string): SuperstepError {
  const start = graph.nodes[graph.start]?.id
  return new SuperstepError(
    "INPUT_INVALID",
    `Workflow "${graph.name}" does not take this input: ${reason} (start node "${start}").`,
  )
}

const LIMITS = new Set(["supersteps", "visits", "loops", "concurrency", "valueBytes"])
const BUDGET = new Set<string>([...BUDGET_PARTS, "allowUnpriced"])

/** Options come from callers that may not be typed: they are checked before anything starts. */
export function checkOptions(program: Program, options: RunOptions): void {
  const { state, thread, labels } = options
  for (const name of ["runId", "key", "thread"] as const) {
    const value = options[name]
    if (value !== undefined && (typeof value !== "string" || value === "")) {
      throw optionInvalid(`${name} must be a text that is not empty, not ${JSON.stringify(value)}`)
    }
  }
  checkBounds(options)
  const badLabels = labels === undefined ? undefined : labelsProblem(labels)
  if (badLabels !== undefined) throw optionInvalid(badLabels)
  for (const [key, value] of Object.entries({ ...state }))
    checkState(program, key, value, valueBytesOf(program, options.limits))
  if (thread !== undefined) checkThread(program.graph, thread, state)
}

/** How far a run may go. */
export type RunBounds = Pick<RunOptions, "limits" | "budget" | "timeout">

export function checkBounds({ limits, budget, timeout }: RunBounds): void {
  for (const [name, value] of Object.entries({ ...limits })) {
    if (!LIMITS.has(name)) throw optionInvalid(`limits has no "${name}"; it has ${[...LIMITS].join(", ")}`)
    if (value !== undefined && !(Number.isInteger(value) && value >= 1)) {
      throw optionInvalid(`limits.${name} must be a whole number of at least 1, not ${value}`)
    }
  }
  for (const [name, value] of Object.entries({ ...budget })) {
    if (!BUDGET.has(name)) throw optionInvalid(`budget has no "${name}"; it has ${[...BUDGET].join(", ")}`)
    if (name === "allowUnpriced") checkFlag(`budget.${name}`, value)
    else checkAmount(`budget.${name}`, value)
  }
  checkAmount("timeout", timeout)
}

function checkFlag(name: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return
  throw optionInvalid(`${name} must be true or false, not ${value}`)
}

function checkAmount(name: string, value: unknown): void {
  if (value === undefined || (Number.isFinite(value) && (value as number) >= 0)) return
  throw optionInvalid(`${name} must be a number of at least 0, not ${value}`)
}

function checkState({ graph }: Program, key: string, value: unknown, valueBytes: number): void {
  const channel = graph.channels.get(key)
  if (channel === undefined)
    throw optionInvalid(`state has "${key}", which is no channel of workflow "${graph.name}"`)
  const problem = jsonProblem(value, valueBytes)
  checkSize(problem, valueBytes, () => `state.${key} of a run of workflow "${graph.name}"`)
  if (problem !== undefined)
    throw optionInvalid(`state.${key} cannot be stored: ${printJsonProblem(problem)}`)
  const misfit = writeProblem(channel.reducer, value as Json)
  if (misfit !== undefined) throw optionInvalid(`state.${key}: ${misfit}`)
}

function optionInvalid(message: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad run option: ${message}.`)
}
