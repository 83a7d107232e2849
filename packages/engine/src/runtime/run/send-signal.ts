/** A signal that a caller sends. */
import { type Json, type RunId, type SignalId, SuperstepError } from "../../core/index.ts"
import type { Clock } from "../ports/clock.ts"
import { ownValue } from "../ports/values.ts"
import { isOptions, newRunId, type OptionNames, shown, unknownOption } from "./options.ts"
import { isSpan, spanInvalid } from "./question.ts"
import { checkSignalName } from "./signal-wait.ts"

export interface SignalOptions {
  /** A run receives a signal with the same id once. Default: a new id. */
  readonly id?: SignalId | undefined
}

export interface UpdateOptions extends SignalOptions {
  /** Milliseconds until the call throws UPDATE_TIMEOUT. Default: it waits as long as the run lasts. */
  readonly timeout?: number | undefined
}

export interface OwnedSignal {
  readonly id: SignalId
  readonly name: string
  readonly value: Json
}

const UPDATE: OptionNames<UpdateOptions> = { id: true, timeout: true }

/** Copied before anything is awaited: the caller may reuse the value. The process that takes it knows its size limit. */
export function ownSignal(runId: RunId, name: string, value: unknown, options: UpdateOptions): OwnedSignal {
  checkSignalName("name", name)
  if (!isOptions(options)) throw optionInvalid(`the options must be an object, not ${shown(options)}`)
  const unknown = unknownOption(options, UPDATE)
  if (unknown !== undefined) throw optionInvalid(unknown)
  const { id = newRunId() as string } = options
  checkSignalName("id", id)
  const anySize = { runId, valueBytes: Number.POSITIVE_INFINITY }
  return { id, name, value: ownValue(value ?? null, anySize, () => `The value of signal "${name}"`) }
}

export function deadlineOf(name: string, { timeout }: UpdateOptions, clock: Clock): number | undefined {
  if (timeout === undefined) return undefined
  if (!isSpan(timeout)) throw spanInvalid(`The timeout of update "${name}"`, timeout)
  return clock.now() + timeout
}

function optionInvalid(message: string): SuperstepError {
  const end = message.endsWith("?") ? "" : "."
  return new SuperstepError("OPTION_INVALID", `Bad signal option: ${message}${end}`)
}
