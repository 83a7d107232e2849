/** Prints the result of a run: the answer on stdout; on stderr the reason if there is none, and how to continue. */
import type { OpenRequest, OpenWait, RunResult } from "@superstep/engine"
import type { GoalBasis, GoalRoute, GoalSource } from "@superstep/engine/patterns"
import type { Cli } from "../cli.ts"
import { clipped, printText, sanitize, sanitizeLine, shellWord, type Terminal } from "../terminal/terminal.ts"
import { causeLines, errorLines } from "./errors.ts"
import { counted } from "./figures.ts"
import { printMarkdown } from "./markdown.ts"
import { NO_NAMES, type NodeNames } from "./node-names.ts"

export interface PrintEndedOptions {
  /** Stdout contains only JSON. */
  readonly json?: true | undefined
  readonly isKept: boolean
  /** False if the run was stopped before the store had it. */
  readonly isRecorded: boolean
  /** ` --store …`, unless the store is the default one. */
  readonly storeFlag: string
  /** The answer was printed as it streamed. */
  readonly isShown?: boolean | undefined
  readonly names?: NodeNames | undefined
}

export function printEnded(
  cli: Cli,
  runId: string,
  result: RunResult | undefined,
  options: PrintEndedOptions,
): void {
  const { json, isKept, storeFlag, isShown } = options
  const { err } = cli
  const id = shellWord(runId)
  if (result === undefined) {
    if (!options.isRecorded) return err.line("Stopped before the run started.")
    err.line("Stopped. The run is stored. Resume it:")
    return err.line(`  superstep runs resume ${id}${storeFlag}`)
  }
  if (result.status === "completed") {
    if (!json && !isShown) printOutputs(cli, result)
    return printUndelivered(cli, result)
  }
  if (result.status === "waiting") {
    if (result.requests.length > 0) printOpen(cli, result.requests, id, options)
    if (result.waits.length > 0) printWaits(cli, result.waits, id, options)
    return
  }
  if (result.status === "paused") {
    err.line("The run is paused. Resume it:")
    return err.line(`  superstep runs resume ${id}${storeFlag}`)
  }
  printFailure(cli, result, options.names)
  if (result.status === "cancelled") return
  const more = LIMIT_FLAGS[result.error?.code ?? ""]
  if (!isKept) {
    if (more !== undefined) err.line(`  Raise the limit with ${more}.`)
    return
  }
  const isFailed = result.status === "failed"
  const next = isFailed
    ? ", or retry it from where it failed"
    : more && ", or continue it with a higher limit"
  err.line(`Inspect the run${next ?? ""}:`)
  err.line(`  superstep runs show ${id}${storeFlag}`)
  if (isFailed) err.line(`  superstep runs retry ${id}${storeFlag}`)
  else if (more !== undefined) err.line(`  superstep runs retry ${id} ${more}${storeFlag}`)
}

export function printOutputs({ out }: Cli, { outputs }: RunResult): void {
  for (const output of outputs) {
    // A pipe receives the text unchanged.
    if (typeof output === "string") printMarkdown(out, output)
    else {
      const text = JSON.stringify(output, undefined, 2) ?? "null"
      out.line(out.isTerminal ? sanitize(text) : text)
    }
  }
}

const MAX_UNDELIVERED = 5

/**
 * A run that completes without an output, or leaves messages in a join, probably did not do what its author intended. If
 * there is an output, a message that matched no condition is normal.
 */
function printUndelivered({ err }: Cli, { outputs, undelivered }: RunResult): void {
  const stuck = outputs.length === 0 ? undelivered : undelivered.filter(({ to }) => to !== undefined)
  if (stuck.length === 0) return
  const what = outputs.length === 0 ? "The run completed without an output" : "The run completed"
  const were = stuck.length === 1 ? "was" : "were"
  err.line(
    `${err.paint.magenta("warning:")} ${what}, and ${counted(stuck.length, "message")} ${were} not delivered:`,
  )
  for (const { path, from, to, reason } of stuck.slice(0, MAX_UNDELIVERED)) {
    const where = path === undefined ? "" : `in ${path.join(" > ")}: `
    const route =
      `${where}${from === undefined ? "" : `from "${from}"`}${to === undefined ? "" : ` to "${to}"`}`.trim()
    printText(err, sanitize(`${route}: ${reason}`), { indent: 2 })
  }
  if (stuck.length > MAX_UNDELIVERED) err.line(`  … and ${stuck.length - MAX_UNDELIVERED} more`)
}

/** The flags that raise a limit. */
const LIMIT_FLAGS: Readonly<Record<string, string>> = {
  BUDGET_EXCEEDED: "--budget tokens=…,usd=…",
  CONVERGENCE: "--max-steps N",
  STEP_LIMIT: "--max-steps N",
  RUN_TIMEOUT: "--timeout TIME",
}

function printFailure(
  { err, isVerbose }: Cli,
  { error, status }: RunResult,
  names: NodeNames = NO_NAMES,
): void {
  if (error === undefined) return
  const isNamed = error.node !== undefined && !names.isInternal(error.node)
  const where = isNamed ? ` at ${sanitizeLine(names.title(error.node))}` : ""
  const word = status === "limit" ? "limit reached" : status
  for (const line of errorLines(sanitize(`${word}${where}: ${error.message}`), err)) err.line(line)
  for (const line of causeLines(error, err)) err.line(line)
  if (isVerbose && error.stack !== undefined) err.line(sanitize(error.stack))
}

const LOST = "The run was in memory only and is lost. Store runs with --store sqlite:PATH."

function printOpen(
  { err }: Cli,
  requests: readonly OpenRequest[],
  run: string,
  { isKept, storeFlag }: PrintEndedOptions,
): void {
  err.line("The run is waiting for an answer:")
  for (const { id, prompt, to } of requests) {
    const whom = to === undefined ? "" : ` (for ${sanitizeLine(to)})`
    printText(err, sanitize(`${id}${whom}: ${prompt}`), { indent: 2 })
  }
  if (!isKept) return err.line(LOST)
  err.line(`Answer ${requests.length === 1 ? "it" : "them"}, and the run continues:`)
  for (const { id } of requests) err.line(`  superstep respond ${run} ${shellWord(id)} ANSWER${storeFlag}`)
  err.line("Or answer at a terminal:")
  err.line(`  superstep runs resume ${run}${storeFlag}`)
}

function printWaits(
  { err }: Cli,
  waits: readonly OpenWait[],
  run: string,
  { isKept, storeFlag }: PrintEndedOptions,
): void {
  const names = [...new Set(waits.map(({ name }) => name))]
  const shown = names.map((name) => `"${sanitizeLine(name)}"`).join(", ")
  err.line(`The run is waiting for ${names.length === 1 ? "the signal" : "the signals"} ${shown}.`)
  if (!isKept) return err.line(LOST)
  err.line("Send it, and the run continues:")
  for (const name of names) err.line(`  superstep runs signal ${run} ${shellWord(name)} JSON${storeFlag}`)
}

/** The basis of a goal answer, printed below it: the sources with their queries, and the searches. */

/** Maximum characters of a query, and of a reason. */
const MAX_QUERY = 1_000
const MAX_REASON = 200

/** `isBrief` omits the searches. */
export function printBasis({ out, err }: Cli, { state }: Pick<RunResult, "state">, isBrief = false): void {
  const basis = basisIn(state)
  if (basis === undefined) return
  const { sources, routes, uncited } = basis
  if (sources.length > 0) printSources(out, sources, uncited)
  if (sources.length === 0 && uncited.length > 0) {
    const why = routes.length === 0 ? "" : ": nothing was found"
    err.line(err.paint.dim(`The answer cites no source${why}.`))
  }
  if (isBrief) return
  if (routes.length > 1 || (sources.length === 0 && routes.length > 0)) {
    printText(err, routeTexts(routes).join("; "), { label: err.paint.dim("Searched: "), indent: 2 })
  }
}

/** Other workflows may use channels with these names. */
function basisIn(state: RunResult["state"]): GoalBasis | undefined {
  const { sources, routes, uncited } = state
  if (![sources, routes, uncited].every((list) => Array.isArray(list))) return undefined
  const isSource = (one: Partial<GoalSource> | null) =>
    typeof one?.number === "number" && typeof one.location === "string" && Array.isArray(one.citedBy)
  return sources.every(isSource) ? { sources, routes, uncited } : undefined
}

function printSources(out: Terminal, sources: readonly GoalSource[], uncited: readonly string[]): void {
  const cited = sources.filter(({ citedBy }) => citedBy.length > 0)
  const others = sources.filter(({ citedBy }) => citedBy.length === 0)
  out.line()
  out.line(out.paint.bold("Sources:"))
  for (const source of cited) printSource(out, source)
  if (cited.length === 0) {
    printText(out, "The answer cites none of the results:", { indent: 2 })
    for (const source of others) printSource(out, source)
    return
  }
  if (uncited.length > 0) {
    printText(out, `Without a source: ${uncited.map(sanitizeLine).join(", ")}`, { indent: 2 })
  }
  if (others.length > 0) {
    const names = [...new Set(others.map(({ number, location }) => `[${number}] ${sanitizeLine(location)}`))]
    printText(out, `Found, not cited: ${names.join(", ")}`, { indent: 2 })
  }
}

function printSource(out: Terminal, { number, location, score, query, rows, isTruncated }: GoalSource): void {
  const label = `  [${number}] `
  const facts = [
    ...(rows === undefined ? [] : [`${counted(rows.length, "row")}${isTruncated ? " and more" : ""}`]),
    ...(score === undefined ? [] : [`score ${Number(score.toPrecision(3))}`]),
  ]
  const about = facts.length === 0 ? "" : ` (${facts.join(", ")})`
  printText(out, `${sanitizeLine(location)}${about}`, { label })
  if (query !== undefined) {
    printText(out, clipped(sanitizeLine(query), MAX_QUERY), { indent: label.length, paint: out.paint.dim })
  }
}

/** Without duplicates: several assistants may run the same search. */
function routeTexts(routes: readonly GoalRoute[]): readonly string[] {
  const texts = routes.map(({ by, source = by, outcome, reason }) => {
    const why = reason === undefined ? "" : `, ${clipped(sanitizeLine(reason), MAX_REASON)}`
    return `${sanitizeLine(source)} (${outcome}${why})`
  })
  return [...new Set(texts)]
}
