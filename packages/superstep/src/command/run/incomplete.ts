/** What an answer lacks, as the workflow reports it: shown to the person, and a failure with `--strict`. */
import type { RunEvent, RunResult } from "@superstep/engine"
import type { Cli } from "../cli.ts"
import type { Watcher } from "../print/progress/watcher.ts"
import { printText, sanitize } from "../terminal/terminal.ts"

export interface NoticingWatcher extends Watcher {
  /** `SOURCE: REASON`, each once. */
  readonly noticed: ReadonlySet<string>
}

/** Also notices what a called workflow lacks: the run does not see its state, but receives its events. */
export function noticeIncomplete(watcher: Watcher): NoticingWatcher {
  const noticed = new Set<string>()
  return {
    noticed,
    event(event: RunEvent) {
      if (event.type === "custom" && event.name.endsWith(".incomplete")) noticed.add(problemText(event.data))
      watcher.event(event)
    },
    pause: () => watcher.pause?.(),
    resume: () => watcher.resume?.(),
    end: (result) => watcher.end?.(result),
  }
}

/** For a completed run: what its state reports, and what was noticed while it executed. */
export function incompleteOf(result: RunResult | undefined, { noticed }: NoticingWatcher): readonly string[] {
  if (result?.status !== "completed") return []
  const { incomplete } = result.state
  const own = Array.isArray(incomplete) ? incomplete.map(problemText) : []
  return [...new Set([...own, ...noticed])]
}

/** On stderr, unless the printed answer contains it. */
export function printIncomplete({ err }: Cli, problems: readonly string[], shown: readonly unknown[]): void {
  const text = plain(shown.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n"))
  for (const problem of problems) {
    if (text.includes(plain(problem))) continue
    printText(err, sanitize(problem), { label: `${err.paint.magenta("incomplete:")} `, indent: 2 })
  }
}

function problemText(data: unknown): string {
  const { source, reason } = (data ?? {}) as { readonly source?: unknown; readonly reason?: unknown }
  return [source, reason].filter((one) => typeof one === "string" && one !== "").join(": ") || "a source"
}

/** A report in Markdown escapes what a reason quotes. */
function plain(text: string): string {
  return text.replace(/[\\`\s]+/g, "")
}
