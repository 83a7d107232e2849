/** A research in lines: what each section is at, pass by pass, and the figures at the end. */
import type { RunEvent, RunResult } from "@superstep/engine"
import { type ResearchEvent, ResearchProjection, type ResearchSection } from "@superstep/engine/patterns"
import { clipped, foreignLine, type Terminal, wrapped } from "../terminal.ts"
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

/** `past`: what was before of a run that goes on, so that its sections and passes are known. */
export function researchProgress(terminal: Terminal, past: readonly RunEvent[] = []): Watcher {
  const projection = new ResearchProjection()
  for (const event of past) projection.add(event)
  let startedAt: number | undefined
  /** Why searches fail is told once: most fail for the same reason again and again. */
  const told = new Set<string>()
  const tell = (reason: string) => {
    told.add(reason)
    for (const [i, text] of wrapped(foreignLine(reason), terminal.width - 2).entries())
      terminal.line(i === 0 ? `${terminal.paint.red("!")} ${text}` : `  ${text}`)
  }
  return {
    event(event: RunEvent) {
      startedAt ??= event.at
      for (const one of projection.add(event)) {
        const line = lineOf(one, terminal)
        if (line !== undefined) terminal.line(line)
        for (const reason of reasonsIn(one)) if (!told.has(reason)) tell(reason)
      }
    },
    pause: () => undefined,
    resume: () => undefined,
    end(result: RunResult | undefined) {
      if (result !== undefined)
        terminal.line(summaryLine(result, Date.now() - (startedAt ?? Date.now()), terminal.paint))
    },
  }
}

function reasonsIn({ type, data }: ResearchEvent): readonly string[] {
  return type === "search_complete" ? ((data.reasons ?? []) as readonly string[]) : []
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
