/** What an answer of the goal pipeline is based on, below the answer: its sources with their queries, and what was searched. */
import type { RunResult } from "@superstep/engine"
import type { GoalBasis, GoalRoute, GoalSource } from "@superstep/engine/patterns"
import type { Cli } from "../cli.ts"
import { clipped, printText, sanitizeLine, type Terminal } from "../terminal/terminal.ts"
import { counted } from "./figures.ts"

/** Characters of a query, and of a reason. */
const MAX_QUERY = 1_000
const MAX_REASON = 200

/** `isBrief`: without what was searched. */
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

/** Other workflows may have channels of these names. */
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

function printSource(out: Terminal, { number, location, score, query, rows, isCut }: GoalSource): void {
  const label = `  [${number}] `
  const facts = [
    ...(rows === undefined ? [] : [`${counted(rows.length, "row")}${isCut ? " and more" : ""}`]),
    ...(score === undefined ? [] : [`score ${Number(score.toPrecision(3))}`]),
  ]
  const about = facts.length === 0 ? "" : ` (${facts.join(", ")})`
  printText(out, `${sanitizeLine(location)}${about}`, { label })
  if (query !== undefined) {
    printText(out, clipped(sanitizeLine(query), MAX_QUERY), { indent: label.length, paint: out.paint.dim })
  }
}

/** Each once: several assistants search alike. */
function routeTexts(routes: readonly GoalRoute[]): readonly string[] {
  const texts = routes.map(({ by, source = by, outcome, reason }) => {
    const why = reason === undefined ? "" : `, ${clipped(sanitizeLine(reason), MAX_REASON)}`
    return `${sanitizeLine(source)} (${outcome}${why})`
  })
  return [...new Set(texts)]
}
