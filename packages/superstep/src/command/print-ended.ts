/** What came of a run: the answer on stdout, and on stderr why there is none and how to go on. */
import type { OpenRequest, RunResult } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import { causeLines } from "./print-error.ts"
import type { Ended } from "./run-workflow.ts"
import { shellWord } from "./shell-word.ts"
import { foreign, foreignLine, wrapped } from "./terminal.ts"

export interface PrintEndedOptions {
  /** Nothing but JSON is on stdout. */
  readonly json?: true | undefined
  readonly isKept: boolean
  /** ` --store …`, where the store is not the usual one. */
  readonly storeFlag: string
  /** The answer was shown as it came. */
  readonly isShown?: boolean | undefined
}

export function printEnded(cli: Cli, { runId, result }: Ended, options: PrintEndedOptions): void {
  const { json, isKept, storeFlag, isShown } = options
  const { err } = cli
  if (result === undefined) {
    err.line("Stopped. The run is kept; go on with it:")
    return err.line(`  superstep runs resume ${shellWord(runId)}${storeFlag}`)
  }
  if (result.status === "completed") {
    if (!json && !isShown) printOutputs(cli, result)
    return
  }
  if (result.status === "waiting") return printOpen(cli, result.requests, runId, options)
  printFailure(cli, result)
  if (result.status === "cancelled") return
  const more = LIMIT_FLAGS[result.error?.code ?? ""]
  if (!isKept) {
    if (more !== undefined) err.line(`  ${more} lets it go further.`)
    return
  }
  const isFailed = result.status === "failed"
  const next = isFailed ? ", and another try from where it failed" : more && ", and how it goes further"
  err.line(`What happened${next ?? ""}:`)
  err.line(`  superstep runs show ${shellWord(runId)}${storeFlag}`)
  const retry = `  superstep runs retry ${shellWord(runId)}`
  if (isFailed) err.line(`${retry}${storeFlag}`)
  else if (more !== undefined) err.line(`${retry} ${more}${storeFlag}`)
}

export function printOutputs({ out }: Cli, { outputs }: RunResult): void {
  for (const output of outputs) {
    const text = typeof output === "string" ? output : JSON.stringify(output, undefined, 2)
    // A pipe gets it as it is.
    out.line(out.isTerminal ? foreign(text ?? "null") : (text ?? "null"))
  }
}

/** What bounds a run, and can be set at the command. */
const LIMIT_FLAGS: Readonly<Record<string, string>> = {
  BUDGET_EXCEEDED: "--budget tokens=…,usd=…",
  CONVERGENCE: "--max-steps N",
  STEP_LIMIT: "--max-steps N",
  RUN_TIMEOUT: "--timeout TIME",
}

function printFailure({ err, isVerbose }: Cli, { error, status }: RunResult): void {
  if (error === undefined) return
  const where = error.node === undefined ? "" : ` at ${foreignLine(error.node)}`
  const word = status === "limit" ? "limit reached" : status
  const lines = wrapped(foreign(`${word}${where}: ${error.message}`), err.width - "superstep: ".length)
  for (const [i, line] of lines.entries())
    err.line(i === 0 ? `${err.paint.red("superstep:")} ${line}` : `  ${line}`)
  for (const line of causeLines(error, err)) err.line(line)
  if (isVerbose && error.stack !== undefined) err.line(foreign(error.stack))
}

function printOpen(
  { err }: Cli,
  requests: readonly OpenRequest[],
  runId: string,
  { isKept, storeFlag }: PrintEndedOptions,
): void {
  err.line("The run waits for an answer:")
  for (const { id, prompt, to } of requests) {
    const whom = to === undefined ? "" : ` (for ${foreignLine(to)})`
    for (const line of wrapped(foreign(`${id}${whom}: ${prompt}`), err.width - 2)) err.line(`  ${line}`)
  }
  if (!isKept) return err.line("It is in memory only, and gone now: use --store sqlite:PATH to keep it.")
  const run = shellWord(runId)
  err.line("Answer it, then go on with it:")
  for (const { id } of requests) err.line(`  superstep respond ${run} ${shellWord(id)} ANSWER${storeFlag}`)
  err.line(`  superstep runs resume ${run}${storeFlag}`)
}
