/** A workflow to be killed, with everything it needs to finish. */
import type { Context, OpenRequest, RunOptions, RunResult, Workflow } from "superstep"

/** Called for every handler call and every step, so that a test can see what ran again. */
export type Watch = (ctx: Context, step?: string) => void

export interface Scenario {
  readonly workflow: Workflow
  readonly input: unknown
  /** Undefined leaves the question to its deadline. */
  readonly answers?: ((request: Pick<OpenRequest, "prompt">) => unknown) | undefined
  readonly run?: Pick<RunOptions, "limits" | "budget" | "state" | "thread"> | undefined
  /** How it ends. Default `completed`. */
  readonly status?: RunResult["status"] | undefined
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
