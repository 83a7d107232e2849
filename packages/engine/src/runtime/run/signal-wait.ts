/** Checks what a handler waits for and what is sent, and converts it for the journal. */
import {
  type Entry,
  type Json,
  type Machine,
  type SignalId,
  type SignalWaitSpec,
  SuperstepError,
  type TaskId,
} from "../../core/index.ts"
import type { Clock } from "../ports/clock.ts"
import type { WaitOptions } from "../ports/program.ts"
import { jsonSchemaOf, ownValue, type ValueLimit, validate } from "../ports/values.ts"
import { type OptionNames, shown, unknownOption } from "./options.ts"
import { isSpan, spanInvalid } from "./question.ts"

/** What a task has recorded about a signal that it waited for: without an id if it is the default. */
export interface RecordedSignal {
  readonly id?: SignalId | undefined
  readonly value: Json
}

/** A workflow of the run, as its signals use it. */
export interface SignalFrame {
  readonly key: string
  readonly machine: Machine
  apply(entry: Entry): void
  isAbandoned(): boolean
  nextChange(): Promise<void>
}

/** The signals of the run, as its tasks use them. */
export interface TaskSignals {
  /** The task waits. It takes the oldest buffered signal at once, if there is one. */
  open(frame: SignalFrame, task: TaskId, key: string, wait: Omit<SignalWaitSpec, "order">): void
  /** Replies to a signal. Recorded as a step of the task under the key too. */
  reply(frame: SignalFrame, task: TaskId, key: string, id: SignalId, value: Json): void
}

const WAIT: OptionNames<WaitOptions> = { schema: true, timeout: true, default: true }
const MAX_NAME = 200

/** Throws SIGNAL_INVALID unless names and ids are short, non-empty strings. Callers may not be typed. */
export function checkSignalName(what: "name" | "id", value: unknown): void {
  if (typeof value === "string" && value !== "" && value.length <= MAX_NAME) return
  const text = `The ${what} of a signal must be a string of 1 to ${MAX_NAME} characters, not ${shown(value)}.`
  throw new SuperstepError("SIGNAL_INVALID", text, { retryable: false })
}

export function signalWait(
  name: string,
  options: WaitOptions,
  host: ValueLimit & Pick<Clock, "now">,
): Omit<SignalWaitSpec, "order"> {
  checkSignalName("name", name)
  const unknown = unknownOption(options, WAIT)
  if (unknown !== undefined) {
    const text = `The wait for signal "${name}": ${unknown}${unknown.endsWith("?") ? "" : "."}`
    throw new SuperstepError("OPTION_INVALID", text, { retryable: false })
  }
  const { schema, timeout, default: fallback } = options
  if (timeout !== undefined && !isSpan(timeout))
    throw spanInvalid(`The timeout of the wait for signal "${name}"`, timeout)
  const shape = jsonSchemaOf(schema, "input")
  const own = (value: unknown, what: string) =>
    ownValue(value, host, () => `${what} of the wait for signal "${name}"`)
  return {
    name,
    ...(shape === undefined ? {} : { schema: own(shape, "The schema") }),
    ...(timeout === undefined ? {} : { deadline: host.now() + timeout }),
    ...(fallback === undefined ? {} : { default: own(fallback, "The default") }),
  }
}

/** A default that its own schema rejects would fail the run unattended. */
export async function checkSignalDefault(
  name: string,
  { schema, default: fallback }: WaitOptions,
): Promise<void> {
  if (schema === undefined || fallback === undefined) return
  const checked = await validate(schema, fallback)
  if (checked.ok) return
  const text = `The default of the wait for signal "${name}" does not match its schema: ${checked.reason}`
  throw new SuperstepError("SIGNAL_INVALID", text, { retryable: false })
}

/** The value of a signal does not match the schema of the wait that takes it. */
export function signalInvalid(name: string, reason: string): SuperstepError {
  const text = `The value of signal "${name}" does not match the schema of its wait: ${reason}`
  return new SuperstepError("SIGNAL_INVALID", text, { retryable: false })
}
