/**
 * Guardrails: checks of an agent's input, answer and tool calls. A guardrail that trips ends the agent's work: the task
 * fails, a fixed answer replaces the model's, or another node receives the trip.
 *
 * G1 a verdict is recorded, and stays the same after a restart.
 * G2 no tool runs and no part of a reply is used before the verdict on the input is known, even if the check runs in
 *    parallel with the first model call. A trip aborts that call; the call's usage counts.
 */
import { type Json, type NodeId, SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { messageText } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"
import { compilePattern, isFound, PatternError } from "../text/patterns/index.ts"
import { matchesWord } from "../tools/index.ts"
import { type AgentScope, scopedContext } from "./step-plan.ts"

export interface Guardrail {
  /** The name in records, events and errors. */
  readonly name: string
  /** What it checks: the agent's input, its answer, or a tool call before it is made. */
  readonly on: "input" | "output" | "tool"
  /** Returns the reason for tripping, or nothing. */
  readonly check: (subject: GuardrailSubject, ctx: Context) => Reason | Promise<Reason>
  /** For input guardrails: checks in parallel with the first model call, not before it. Default false. */
  readonly parallel?: boolean | undefined
  /** For tool guardrails: the names of the tools, with `*`. Default: all. */
  readonly tools?: readonly string[] | undefined
  readonly onTrip?: OnTrip | undefined
  /** The check records its own steps through `ctx`, as a judge does. Default false: only its verdict is recorded. */
  readonly durable?: boolean | undefined
}

// biome-ignore lint/suspicious/noConfusingVoidType: a check without a return statement does not trip.
type Reason = string | undefined | void

/**
 * `fail`, the default, fails the task with GUARDRAIL_TRIPPED; `answer` is used as the agent's answer; `to` sends the trip
 * to a node.
 */
export type OnTrip = "fail" | { readonly answer: Json } | { readonly to: NodeId }

export interface GuardrailSubject {
  readonly agent: string
  readonly text: string
  /** The input, the answer, or the arguments of the call with its secrets masked. */
  readonly value: unknown
  /** The tool to be called. */
  readonly tool?: string | undefined
}

/** The message that a node receives, and the data of a GUARDRAIL_TRIPPED error. */
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

/** Thrown inside an agent's loop, and ends it. */
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

/** Checks these guardrails one after another. Throws the first trip. */
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
 * Runs `work` in parallel with checks, and waits for their verdicts. A trip aborts the signal that `work` receives. A
 * recorded trip aborts it before the work begins, so that only the recorded part of the work is repeated.
 */
export async function inParallel<T>(
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
  // Recorded verdicts resolve within a few turns of the microtask queue.
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

/** The text of an input for its guardrails. */
export function inputText(messages: readonly Message[]): string {
  return messages.map(messageText).join("\n\n")
}

/** The problem with guardrails, or undefined. */
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
  /** A regular expression. It is matched in linear time, so back-references and look-around are not supported. */
  readonly pattern: string
  /** The reason for the trip. Default: "it matches a forbidden pattern". */
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
