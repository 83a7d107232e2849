/**
 * Guardrails: checks of an agent's input, its answer and its tool calls. One that trips ends the agent's work: the task
 * fails, a fixed answer takes its place, or the trip goes to another node.
 *
 * G1 a verdict is recorded, and stands after a restart.
 * G2 no tool runs, and nothing of a reply is used, before the verdict on the input is known, also where it comes beside
 *    the first model call. A trip aborts that call; what the call used is counted.
 */
import { type Json, type NodeId, SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { messageText } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"
import { compilePattern, isFound, PatternError } from "../text/patterns/index.ts"
import { matchesWord } from "../tools/index.ts"
import { type AgentScope, scopedContext } from "./task-scope.ts"

export interface Guardrail {
  /** Its name in records, events and errors. */
  readonly name: string
  /** What it checks: what the agent is asked, what it answers, or a tool call that it wants to make. */
  readonly on: "input" | "output" | "tool"
  /** Returns the reason why it trips, or nothing. */
  readonly check: (subject: GuardrailSubject, ctx: Context) => Reason | Promise<Reason>
  /** Of an input: it is checked beside the first model call, not before it. Default false. */
  readonly parallel?: boolean | undefined
  /** Of a tool call: the names of the tools, with `*`. Default: all. */
  readonly tools?: readonly string[] | undefined
  readonly onTrip?: OnTrip | undefined
  /** It records what it does itself, through `ctx`, as a judge does. Default false: its verdict is recorded. */
  readonly durable?: boolean | undefined
}

// biome-ignore lint/suspicious/noConfusingVoidType: a check without a return statement does not trip.
type Reason = string | undefined | void

/** `fail`, the default: the task fails with GUARDRAIL_TRIPPED. `answer` is the agent's answer. `to`: a node gets the trip. */
export type OnTrip = "fail" | { readonly answer: Json } | { readonly to: NodeId }

export interface GuardrailSubject {
  readonly agent: string
  readonly text: string
  /** The input, the answer, or the arguments of the call; secret ones are masked. */
  readonly value: unknown
  /** The tool that is to be called. */
  readonly tool?: string | undefined
}

/** What a node receives, and what a GUARDRAIL_TRIPPED error is about. */
export interface GuardrailTrip {
  readonly kind: "guardrail-trip"
  readonly guardrail: string
  readonly on: Guardrail["on"]
  readonly agent: string
  readonly reason: string
  readonly tool?: string | undefined
}

export function isTrip(message: unknown): message is GuardrailTrip {
  return typeof message === "object" && message !== null && Object(message).kind === "guardrail-trip"
}

/** Thrown inside an agent's loop, which ends with it. */
export class Tripped extends SuperstepError {
  readonly trip: GuardrailTrip
  readonly onTrip: OnTrip

  constructor(trip: GuardrailTrip, onTrip: OnTrip = "fail") {
    const what = trip.on === "tool" ? `a call of "${trip.tool}"` : `its ${trip.on}`
    const text = `Guardrail "${trip.guardrail}" of agent "${trip.agent}" stopped ${what}: ${trip.reason}`
    super("GUARDRAIL_TRIPPED", text, { retryable: false })
    this.trip = trip
    this.onTrip = onTrip
  }
}

/** The verdicts of these guardrails, one after another; the first that trips is thrown. */
export async function checkAll(
  scope: AgentScope,
  guardrails: readonly Guardrail[],
  subject: GuardrailSubject,
  id?: string,
): Promise<void> {
  for (const guardrail of guardrails) {
    const { name, on, check, durable, onTrip } = guardrail
    const key = `guardrail:${subject.agent}:${name}${id === undefined ? "" : `:${id}`}`
    const judge = async (ctx: Context) => reasonOf(guardrail, await check(subject, ctx))
    const reason = durable
      ? await judge(scopedContext(scope, key))
      : await scope.ctx.step(key, async () => (await judge(scope.ctx)) ?? null)
    const verdict = { guardrail: name, on, agent: subject.agent, tripped: typeof reason === "string" }
    scope.ctx.emit("agent.guardrail", typeof reason === "string" ? { ...verdict, reason } : verdict)
    if (typeof reason !== "string") continue
    const tool = subject.tool === undefined ? {} : { tool: subject.tool }
    throw new Tripped(
      { kind: "guardrail-trip", guardrail: name, on, agent: subject.agent, reason, ...tool },
      onTrip,
    )
  }
}

function reasonOf({ name }: Guardrail, verdict: unknown): string | undefined {
  if (verdict === undefined || verdict === null) return undefined
  if (typeof verdict === "string") return verdict === "" ? "it tripped" : verdict
  const text = `Guardrail "${name}": check returned ${typeof verdict}; it must return the reason why it trips, or nothing.`
  throw new SuperstepError("GUARDRAIL_INVALID", text, { retryable: false })
}

/**
 * Work that waits for the verdicts of checks beside it. `work` gets the signal that a trip aborts: where the trip is on
 * record, before the work begins, so that only what is on record of the work is repeated.
 */
export async function beside<T>(
  checks: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  let failed: { readonly error: unknown } | undefined
  const verdict = checks(signal).catch((error: unknown) => {
    failed = { error }
    stop.abort(error)
  })
  // Verdicts on record take a few turns of the queue of promises, and nothing else.
  for (let turn = 0; turn < RECORDED_TURNS && failed === undefined; turn++) await undefined
  try {
    const done = await work(AbortSignal.any([signal, stop.signal]))
    await verdict
    if (failed === undefined) return done
  } catch (error) {
    if (signal.aborted) throw error
    await verdict
    if (failed === undefined) throw error
  }
  throw (failed as { error: unknown }).error
}

const RECORDED_TURNS = 20

/** The guardrails of an agent for one kind of subject. */
export function guardrailsOn(
  all: readonly Guardrail[] | undefined,
  on: Guardrail["on"],
  tool?: string,
): readonly Guardrail[] {
  if (all === undefined) return []
  return all.filter((one) => {
    if (one.on !== on) return false
    return tool === undefined || (one.tools?.some((pattern) => matchesWord(pattern, tool)) ?? true)
  })
}

/** An input as its guardrails see it. */
export function inputText(messages: readonly Message[]): string {
  return messages.map(messageText).join("\n\n")
}

/** What is wrong with guardrails, or undefined. */
export function guardrailsProblem(guardrails: readonly Guardrail[] | undefined): string | undefined {
  if (guardrails === undefined) return undefined
  if (!Array.isArray(guardrails)) return "guardrails must be a list of { name, on, check, onTrip }"
  const names = new Set<string>()
  for (const one of guardrails as readonly Guardrail[]) {
    const { name, on, check, parallel, tools, onTrip, durable: _, ...others } = one
    if (typeof name !== "string" || name === "") return "each guardrail needs a name"
    const whose = `guardrail "${name}"`
    if (names.has(name)) return `two guardrails are named "${name}"`
    names.add(name)
    const [other] = Object.keys(others)
    if (other !== undefined)
      return `${whose} has no option "${other}"; its options are name, on, check, parallel, tools, onTrip, durable`
    if (on !== "input" && on !== "output" && on !== "tool")
      return `${whose}: on is "input", "output" or "tool"`
    if (typeof check !== "function")
      return `${whose}: check must be a function that returns a reason, or nothing`
    if (parallel === true && on !== "input") return `${whose}: only input guardrails can be parallel`
    if (tools !== undefined && on !== "tool")
      return `${whose}: tools applies only to guardrails on tool calls`
    const problem = onTripProblem(onTrip)
    if (problem !== undefined) return `${whose}: ${problem}`
  }
  return undefined
}

function onTripProblem(onTrip: unknown): string | undefined {
  if (onTrip === undefined || onTrip === "fail") return undefined
  const { to } = Object(onTrip) as { to?: unknown }
  const isKnown =
    typeof onTrip === "object" && onTrip !== null && ("answer" in onTrip || typeof to === "string")
  return isKnown ? undefined : 'onTrip is "fail", { answer } or { to: node id }'
}

type Shared = Pick<Guardrail, "name" | "on" | "parallel" | "tools" | "onTrip">

export interface PatternGuardrailOptions extends Shared {
  /** A regular expression. It is matched in linear time, so it has no back-references and no look-around. */
  readonly pattern: string
  /** Default: that the pattern was found. */
  readonly reason?: string | undefined
}

const PATTERN_LIMITS = { length: 5_000, instructions: 5_000 }

/** Trips when the pattern is found in the text. */
export function patternGuardrail(options: PatternGuardrailOptions): Guardrail {
  const { pattern, reason = "it matches a forbidden pattern", ...guardrail } = options
  const compiled = compiledPattern(guardrail.name, pattern)
  return { ...guardrail, check: ({ text }) => (isFound(compiled, text, () => {}) ? reason : undefined) }
}

function compiledPattern(name: string, pattern: string) {
  try {
    return compilePattern(pattern, PATTERN_LIMITS)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    const text = `Guardrail "${name}": the pattern is not valid: ${error.message}.`
    throw new SuperstepError("GUARDRAIL_INVALID", text, { retryable: false })
  }
}
