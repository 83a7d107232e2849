/** Makes the first entry of a run: validates its input and resolves its limits. */
import {
  BUDGET_PARTS,
  DEFAULT_VALUE_BYTES,
  graphData,
  type Json,
  type Limits,
  printJsonProblem,
  type RunId,
  type RunStarted,
  SuperstepError,
  signatureOf,
  writeProblem,
} from "../../core/index.ts"
import { canonicalJson, frozenCopy, NO_ITEMS } from "../../core/internal.ts"
import { nearest } from "../../text/index.ts"
import { checkThread } from "../journal/thread.ts"
import type { Program, ProgramNode } from "../ports/program.ts"
import type { Store } from "../ports/store.ts"
import { labelsProblem, VERSION_LABEL } from "../ports/stored.ts"
import { ownGiven, validate } from "../ports/values.ts"
import type { ResumeOptions, RunOptions } from "./options.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "./options.ts"

export function runStarted(
  program: Program,
  runId: RunId,
  input: Json,
  at: number,
  options: Pick<RunOptions, "limits" | "budget" | "state" | "timeout" | "trace"> & {
    readonly thread?: RunStarted["thread"]
    readonly context?: unknown
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
    ...(options.context === undefined ? {} : { context: contextNames(options.context) }),
  }
}

function contextNames(context: unknown): readonly string[] {
  return isOptions(context) ? Object.keys(context) : []
}

/** The largest single value that a run of the program accepts. */
export function valueBytesOf({ graph }: Program, limits?: Limits): number {
  return limits?.valueBytes ?? graph.spec.limits?.valueBytes ?? DEFAULT_VALUE_BYTES
}

/** The run's own copy of its input. Throws VALUE_TOO_LARGE if it is too large, INPUT_INVALID if it is not JSON. */
export function ownInput(program: Program, input: unknown, valueBytes: number): Json {
  return ownGiven(
    input,
    valueBytes,
    () => `The input of workflow "${program.graph.name}"`,
    (problem) => inputInvalid(program, printJsonProblem(problem)),
  )
}

/** Rejects with INPUT_INVALID if no handler of the start node accepts the input, or with the handler's own error. */
export function checkInput(program: Program, input: Json): Promise<void> | undefined {
  const { handlers, only } = program.nodes[program.graph.start] as ProgramNode
  if (only !== undefined) return only.check?.(input as never)
  if (handlers.some(({ schema, check }) => schema === undefined && check === undefined)) return undefined
  return findHandler(program, handlers, input)
}

async function findHandler(
  program: Program,
  handlers: ProgramNode["handlers"],
  input: unknown,
): Promise<void> {
  const reasons: string[] = []
  for (const { schema, check } of handlers) {
    const checked = schema === undefined ? { ok: true as const, value: input } : await validate(schema, input)
    if (checked.ok) return await check?.(checked.value as never)
    reasons.push(checked.reason)
  }
  throw inputInvalid(program, reasons.join(" | "))
}

/** Throws RUN_EXISTS when the run with this id was started with another workflow or another input. */
export async function checkSameRun(store: Store, id: RunId, workflow: string, input: Json): Promise<void> {
  const [first] = await store.read(id, 0, 1)
  const entry = first?.entry
  if (
    entry?.type === "run.started" &&
    entry.workflow === workflow &&
    canonicalJson(entry.input) === canonicalJson(input)
  ) {
    return
  }
  const text = `Run "${id}" already exists, with another workflow or another input. Choose another id or key.`
  throw new SuperstepError("RUN_EXISTS", text, { run: id })
}

function inputInvalid({ graph }: Program, reason: string): SuperstepError {
  const start = graph.nodes[graph.start]?.id
  return new SuperstepError(
    "INPUT_INVALID",
    `Workflow "${graph.name}" does not accept this input: ${reason} (start node "${start}").`,
  )
}

const LIMITS = new Set(["supersteps", "visits", "loops", "concurrency", "valueBytes"])
const BUDGET = new Set<string>([...BUDGET_PARTS, "allowUnpriced"])

/** Options that must be non-empty strings. */
const NAMES = ["runId", "key", "thread", "trace"] as const
/** Options that must be objects. */
const OBJECTS = ["limits", "budget", "state", "labels"] as const

/**
 * The run's own options. Callers may be untyped, so options are checked before anything starts; callers may reuse them, so
 * what the run reads later is copied.
 */
export function ownOptions(program: Program, options: RunOptions): RunOptions {
  checkNames(options)
  const { runId, key, thread, onBusy, labels, context, signal, limits, timeout, budget, state, trace } =
    options
  for (const name of NAMES) {
    const value = options[name]
    if (value !== undefined && (typeof value !== "string" || value === "")) {
      throw optionInvalid(`${name} must be a non-empty string, not ${JSON.stringify(value)}`)
    }
  }
  checkOnBusy(options)
  checkBounds(options)
  const badLabels = labels === undefined ? undefined : labelsProblem(labels)
  if (badLabels !== undefined) throw optionInvalid(badLabels)
  if (thread !== undefined) checkThread(program.graph, thread, state)
  const { store, clock, telemetry } = options
  return {
    runId,
    key,
    thread,
    onBusy,
    labels: withVersion(program, labels),
    context,
    signal,
    limits: limits && frozenCopy(limits),
    timeout,
    budget: budget && frozenCopy(budget),
    trace,
    state: state && ownState(program, state, valueBytesOf(program, limits)),
    store,
    clock,
    telemetry,
  }
}

/** The labels of a run, with the version of its workflow if that has one. */
export function withVersion({ version }: Program, labels: RunOptions["labels"]): RunOptions["labels"] {
  if (version === undefined) return labels && { ...labels }
  return { ...labels, [VERSION_LABEL]: version }
}

function ownState(
  program: Program,
  state: NonNullable<RunOptions["state"]>,
  valueBytes: number,
): { readonly [key: string]: Json } {
  const entries = Object.entries(state)
  return Object.freeze(
    Object.fromEntries(entries.map(([key, value]) => [key, ownChannel(program, key, value, valueBytes)])),
  )
}

export const RUN_OPTIONS: OptionNames<RunOptions> = {
  runId: true,
  key: true,
  thread: true,
  onBusy: true,
  labels: true,
  context: true,
  signal: true,
  limits: true,
  timeout: true,
  budget: true,
  trace: true,
  state: true,
  store: true,
  clock: true,
  telemetry: true,
}
const RESUME: OptionNames<ResumeOptions> = {
  store: true,
  context: true,
  signal: true,
  clock: true,
  telemetry: true,
  onGraphChange: true,
  takeOver: true,
}

function checkNames(options: RunOptions): void {
  const unknown = unknownOption(options, RUN_OPTIONS)
  if (unknown !== undefined) throw optionInvalid(unknown)
  for (const name of OBJECTS) {
    const value = options[name]
    if (value !== undefined && !isOptions(value)) {
      throw optionInvalid(`${name} must be an object, not ${shown(value)}`)
    }
  }
}

/** Why the ports of a run or a resumption are invalid. None is used before it is checked. */
export function portProblem(options: Pick<RunOptions, "signal" | "store" | "clock">): Error | undefined {
  if (!isOptions(options)) return optionInvalid(`the options must be an object, not ${shown(options)}`)
  const { signal, store, clock } = options
  if (clock !== undefined && typeof clock?.now !== "function") {
    return optionInvalid(`clock must be a clock, such as systemClock, not ${shown(clock)}`)
  }
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    return optionInvalid(`signal must be an AbortSignal, not ${shown(signal)}`)
  }
  if (store !== undefined && typeof store?.append !== "function") {
    return optionInvalid(`store must be a store, such as memoryStore(), not ${shown(store)}`)
  }
  return undefined
}

export function checkResumeOptions(options: ResumeOptions): void {
  const problem = unknownOption(options, RESUME) ?? policyProblem(options.onGraphChange)
  if (problem !== undefined) throw optionInvalid(problem)
}

export function policyProblem(policy: unknown): string | undefined {
  if (policy === undefined || policy === "fail" || policy === "continue" || typeof policy === "function")
    return undefined
  return `onGraphChange must be "fail", "continue" or a function, not ${shown(policy)}`
}

const ON_BUSY: readonly unknown[] = ["reject", "queue", "interrupt"]

function checkOnBusy({ onBusy, thread }: RunOptions): void {
  if (onBusy === undefined) return
  if (!ON_BUSY.includes(onBusy))
    throw optionInvalid(`onBusy must be "reject", "queue" or "interrupt", not ${JSON.stringify(onBusy)}`)
  if (thread === undefined) throw optionInvalid("onBusy needs a thread")
}

/** The limits of a run. */
export type RunBounds = Pick<RunOptions, "limits" | "budget" | "timeout">

export function checkBounds({ limits, budget, timeout }: RunBounds): void {
  for (const name of limits === undefined ? NO_ITEMS : Object.keys(limits)) {
    const value = limits?.[name as keyof Limits]
    if (!LIMITS.has(name)) throw optionInvalid(unknownPart("limits", name, LIMITS))
    if (value !== undefined && !(Number.isInteger(value) && value >= 1)) {
      throw optionInvalid(`limits.${name} must be a whole number of at least 1, not ${value}`)
    }
  }
  const problem = budgetProblem(budget)
  if (problem !== undefined) throw optionInvalid(problem)
  checkAmount("timeout", timeout)
}

/** Why a budget is invalid, or undefined. */
export function budgetProblem(budget: object | undefined): string | undefined {
  if (budget === undefined) return undefined
  for (const [name, value] of Object.entries(budget)) {
    if (!BUDGET.has(name)) return unknownPart("budget", name, BUDGET)
    if (value === undefined) continue
    if (name === "allowUnpriced" && typeof value !== "boolean")
      return `budget.${name} must be true or false, not ${shown(value)}`
    if (name !== "allowUnpriced" && !isAmount(value))
      return `budget.${name} must be a number of at least 0, not ${shown(value)}`
  }
  return undefined
}

/** An unknown name, with the one that was probably meant. */
export function unknownPart(part: string, name: string, known: ReadonlySet<string>): string {
  const meant = nearest(name, known)
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`
  return `${part} has no "${name}"; it has ${[...known].join(", ")}${hint}`
}

function isAmount(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0
}

function checkAmount(name: string, value: unknown): void {
  if (value === undefined || isAmount(value)) return
  throw optionInvalid(`${name} must be a number of at least 0, not ${value}`)
}

function ownChannel({ graph }: Program, key: string, value: unknown, valueBytes: number): Json {
  const channel = graph.channels.get(key)
  if (channel === undefined)
    throw optionInvalid(`state has "${key}", which is not a channel of workflow "${graph.name}"`)
  const owned = ownGiven(
    value,
    valueBytes,
    () => `state.${key} of a run of workflow "${graph.name}"`,
    (problem) => optionInvalid(`state.${key} cannot be stored: ${printJsonProblem(problem)}`),
  )
  const misfit = writeProblem(channel.reducer, owned)
  if (misfit !== undefined) throw optionInvalid(`state.${key}: ${misfit}`)
  return owned
}

function optionInvalid(message: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad run option: ${message}${message.endsWith("?") ? "" : "."}`)
}
