/** The progress of a research in lines: what each section does, pass by pass, and a summary. */
import type { RunEvent, RunResult } from "@superstep/engine"
import { type ResearchEvent, ResearchProjection, type ResearchSection } from "@superstep/engine/patterns"
import { clipped, printText, sanitizeLine, type Terminal } from "../../terminal/terminal.ts"
import { summaryLine } from "./progress-lines.ts"
import type { Watcher } from "./watcher.ts"

const MARKS: { readonly [T in ResearchEvent["type"]]?: string } = {
  started: "·",
  searching: "·",
  search_complete: "✓",
  judge_complete: "✓",
  looping: "↻",
  synthesizing: "·",
  error: "!",
}
const MAX_TITLE_LENGTH = 24

/** `past` are the earlier events of a resumed run: they define its sections and passes. */
export function researchProgress(terminal: Terminal, past: readonly RunEvent[] = []): Watcher {
  const projection = new ResearchProjection()
  for (const event of past) projection.add(event)
  let startedAt: number | undefined
  /** Each reason is printed once: most searches fail for the same reason repeatedly. */
  const reported = new Set<string>()
  const report = (reason: string) => {
    if (reported.has(reason)) return
    reported.add(reason)
    printText(terminal, sanitizeLine(reason), { label: `${terminal.paint.red("!")} ` })
  }
  return {
    event(event: RunEvent) {
      startedAt ??= event.at
      for (const one of projection.add(event)) {
        const line = lineOf(one, terminal)
        if (line !== undefined) terminal.line(line)
        if (one.type === "search_complete") ((one.data.reasons ?? []) as readonly string[]).forEach(report)
      }
    },
    end(result: RunResult | undefined) {
      if (result !== undefined)
        terminal.line(summaryLine(result, Date.now() - (startedAt ?? Date.now()), terminal.paint))
    },
  }
}

function lineOf(
  { type, message, data, iteration }: ResearchEvent,
  { width, paint }: Terminal,
): string | undefined {
  const mark = MARKS[type]
  // A failed run is reported at its end.
  if (mark === undefined || data.status !== undefined) return undefined
  const section = data.section as unknown as ResearchSection | undefined
  const where =
    section === undefined
      ? ""
      : `[${section.number}/${section.of} ${clipped(sanitizeLine(section.title), MAX_TITLE_LENGTH)}] `
  const pass = type === "looping" || type === "error" || iteration === 0 ? "" : `pass ${iteration}: `
  const line = type === "started" ? message : `${where}${pass}${message}`
  const color = type === "error" ? paint.red : mark === "✓" ? paint.green : paint.dim
  return `${color(mark)} ${clipped(sanitizeLine(line), width - 2)}`
}
