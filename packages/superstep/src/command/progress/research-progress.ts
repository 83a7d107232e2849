/** A research in lines: what each section is at, pass by pass, and the figures at the end. */
import type { RunEvent, RunResult } from "@superstep/engine"
import { type ResearchEvent, ResearchProjection, type ResearchSection } from "@superstep/engine/patterns"
import { clipped, foreignLine, type Terminal } from "../terminal.ts"
import { summaryLine } from "./progress-lines.ts"
import type { Watcher } from "./watcher.ts"

const SIGNS: { readonly [T in ResearchEvent["type"]]?: string } = {
  started: "·",
  searching: "·",
  search_complete: "✓",
  judge_complete: "✓",
  looping: "↻",
  synthesizing: "·",
  error: "!",
}
const LONGEST_TITLE = 24

export function researchProgress(terminal: Terminal, now: () => number = Date.now): Watcher {
  const projection = new ResearchProjection()
  let startedAt: number | undefined
  return {
    event(event: RunEvent) {
      startedAt ??= event.at
      for (const one of projection.add(event)) {
        const line = lineOf(one, terminal)
        if (line !== undefined) terminal.line(line)
      }
    },
    pause: () => undefined,
    resume: () => undefined,
    end(result: RunResult | undefined) {
      if (result !== undefined)
        terminal.line(summaryLine(result, now() - (startedAt ?? now()), terminal.paint))
    },
  }
}

function lineOf(
  { type, message, data, iteration }: ResearchEvent,
  { width, paint }: Terminal,
): string | undefined {
  const sign = SIGNS[type]
  // A run that ends badly is told about at its end.
  if (sign === undefined || data.status !== undefined) return undefined
  const section = data.section as unknown as ResearchSection | undefined
  const where =
    section === undefined
      ? ""
      : `[${section.number}/${section.of} ${clipped(foreignLine(section.title), LONGEST_TITLE)}] `
  const pass = type === "looping" || iteration === 0 ? "" : `pass ${iteration}: `
  const told = type === "started" ? message : `${where}${type === "error" ? "" : pass}${message}`
  const text = clipped(foreignLine(told), width - 2)
  if (type === "error") return `${paint.red(sign)} ${text}`
  return `${sign === "✓" ? paint.green(sign) : paint.dim(sign)} ${text}`
}
