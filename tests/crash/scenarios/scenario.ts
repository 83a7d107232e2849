/** A workflow to be killed, with what it needs to come to its end. */
import type { Context, OpenRequest, RunOptions, RunResult, Workflow } from "superstep"

/** Told of every handler call, and of every step, so that a test can see what ran again. */
export type Watch = (ctx: Context, step?: string) => void

export interface Scenario {
  readonly workflow: Workflow
  readonly input: unknown
  /** Undefined leaves the question to its deadline. */
  readonly answers?: ((request: Pick<OpenRequest, "prompt">) => unknown) | undefined
  readonly run?: Pick<RunOptions, "limits" | "budget" | "state" | "thread"> | undefined
  /** The outputs come in any order. */
  readonly unordered?: boolean | undefined
}

export interface Outcome {
  readonly status: string
  readonly error?: string | undefined
  readonly outputs: readonly unknown[]
  readonly state: object
  readonly usage: object
}

/** What must be the same, whatever happened on the way. */
export function outcomeOf(
  { unordered }: Pick<Scenario, "unordered">,
  { status, error, outputs, state, usage }: RunResult,
): Outcome {
  const texts = outputs.map((output) => JSON.stringify(output))
  const sorted = unordered ? texts.sort().map((text) => JSON.parse(text) as unknown) : outputs
  return {
    status,
    ...(error === undefined ? {} : { error: error.code }),
    outputs: sorted,
    state,
    usage,
  }
}
