/** Validates a question that a handler asks, and converts it for the journal. */
import {
  type Escalation,
  type Json,
  type RequestId,
  type RequestSpec,
  SuperstepError,
} from "../../core/index.ts"
import type { Clock } from "../ports/clock.ts"
import type { Question } from "../ports/program.ts"
import type { EscalateCommand, EscalateOptions } from "../ports/stored.ts"
import { jsonSchemaOf, ownValue, type Schema, type Validated, type ValueLimit } from "../ports/values.ts"
import { isOptions, type OptionNames, unknownOption } from "./options.ts"

const QUESTION: OptionNames<Question> = {
  prompt: true,
  data: true,
  schema: true,
  to: true,
  timeout: true,
  escalate: true,
  default: true,
}

export function requestSpec(
  question: string | Question,
  answers: Schema | undefined,
  host: ValueLimit & Pick<Clock, "now">,
): RequestSpec {
  if (typeof question === "string") return withSchema({ prompt: question }, answers, host)
  const { prompt, data, to, timeout, schema, default: fallback } = question
  const unknown = unknownOption(question, QUESTION)
  if (unknown !== undefined) {
    const text = `The question "${prompt}": ${unknown}${unknown.endsWith("?") ? "" : "."}`
    throw new SuperstepError("REQUEST_INVALID", text, { retryable: false })
  }
  const own = (value: unknown, what: string) => ownValue(value, host, () => `${what} "${prompt}"`)
  if (to !== undefined) checkName(to, prompt)
  if (timeout !== undefined && !isSpan(timeout))
    throw spanInvalid(`The timeout of the question "${prompt}"`, timeout)
  const escalate = stages(question)
  const spec = {
    prompt,
    ...(data === undefined ? {} : { data: own(data, "The data of the question") }),
    ...(to === undefined ? {} : { to }),
    ...(timeout === undefined ? {} : { deadline: host.now() + timeout }),
    ...(escalate === undefined ? {} : { escalate }),
    ...(fallback === undefined ? {} : { default: own(fallback, "The default answer to") }),
  }
  return withSchema(spec, schema ?? answers, host)
}

function withSchema(spec: RequestSpec, schema: Schema | undefined, host: ValueLimit): RequestSpec {
  const shape: Json | undefined = jsonSchemaOf(schema, "input")
  if (shape === undefined) return spec
  return { ...spec, schema: ownValue(shape, host, () => `The schema of the question "${spec.prompt}"`) }
}

/** The escalation stages. Only the last one may have no timeout. */
function stages({ prompt, timeout, escalate }: Question): Escalation[] | undefined {
  if (escalate === undefined) return undefined
  if (!Array.isArray(escalate)) throw escalateInvalid(prompt, "escalate must be a list of { to, timeout }")
  if (escalate.length === 0) return undefined
  if (timeout === undefined) throw escalateInvalid(prompt, "it needs a timeout after which to escalate")
  return escalate.map((stage: Partial<Escalation> | null, i) => {
    const { to, timeout: next } = stage ?? {}
    checkName(to, prompt)
    if (next !== undefined && !isSpan(next)) throw spanInvalid(`A timeout of the question "${prompt}"`, next)
    if (next === undefined && i < escalate.length - 1) {
      throw escalateInvalid(prompt, `"${to}" needs a timeout, or the next person is never asked`)
    }
    return next === undefined ? { to: to as string } : { to: to as string, timeout: next }
  })
}

function checkName(to: unknown, prompt: string): void {
  if (typeof to === "string" && to !== "") return
  const text = `The question "${prompt}" needs a non-empty string in "to", not ${JSON.stringify(to)}.`
  throw new SuperstepError("REQUEST_INVALID", text, { retryable: false })
}

const ESCALATE: OptionNames<EscalateOptions> = { to: true, note: true, by: true }

/** Callers may be untyped. */
export function escalateCommand(request: RequestId, options: EscalateOptions): EscalateCommand {
  const problem = isOptions(options)
    ? (unknownOption(options, ESCALATE) ??
      (typeof options.to === "string" && options.to !== "" ? undefined : "to must be a non-empty string"))
    : 'the options are an object such as { to: "ada" }'
  if (problem !== undefined) throw new SuperstepError("OPTION_INVALID", `Bad escalation: ${problem}.`)
  const { to, note, by } = options
  return { type: "escalate", request, to, note, by }
}

function escalateInvalid(prompt: string, why: string): SuperstepError {
  return new SuperstepError("REQUEST_INVALID", `The question "${prompt}" cannot escalate: ${why}.`, {
    retryable: false,
  })
}

export function isSpan(milliseconds: number): boolean {
  return milliseconds >= 0 && Number.isFinite(milliseconds)
}

export function spanInvalid(what: string, value: unknown): SuperstepError {
  const text = `${what} must be milliseconds, a number of at least 0, not ${value}.`
  return new SuperstepError("SPAN_INVALID", text, { retryable: false })
}

/** A default that its own schema rejects would fail the run unattended. */
export function checkDefault({ prompt }: Question, checked: Validated): void {
  if (checked.ok) return
  const text = `The default answer to "${prompt}" does not match its schema: ${checked.reason}`
  throw new SuperstepError("REQUEST_INVALID", text, { retryable: false })
}
