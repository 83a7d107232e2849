/** `--format` and `--out` of a research: the report as Markdown, HTML, JSON or PDF, on stdout or in a file. */
import { existsSync, statSync } from "node:fs"
import { dirname, extname, resolve } from "node:path"
import type { RunResult } from "@superstep/engine"
import type { ResearchReport } from "@superstep/engine/patterns"
import type { Cli } from "../cli.ts"
import type { OutputFlags } from "../flags.ts"
import { jsonText, sanitize } from "../terminal/terminal.ts"
import { findBrowser, printPdf } from "./browser.ts"
import { printOutputs } from "./ended.ts"
import { usageError } from "./errors.ts"
import { writeFile } from "./output-file.ts"

export const REPORT_FORMATS = ["md", "html", "json", "pdf"] as const
type ReportFormat = (typeof REPORT_FORMATS)[number]

export interface ReportFlags extends OutputFlags {
  readonly format?: ReportFormat | undefined
  readonly out?: string | undefined
}

export interface ReportOutput {
  readonly format: ReportFormat
  /** Absolute. Absent: stdout. */
  readonly path?: string | undefined
  /** For PDF. */
  readonly browser?: string | undefined
}

const BY_EXTENSION: Readonly<Record<string, ReportFormat>> = {
  ".html": "html",
  ".htm": "html",
  ".json": "json",
  ".pdf": "pdf",
}

/** Validates the flags before anything is paid for. Without `--format`, the name of the file decides. */
export function reportOutput({ format, out, json }: ReportFlags, { io }: Cli): ReportOutput {
  const chosen = format ?? BY_EXTENSION[extname(out ?? "").toLowerCase()] ?? "md"
  if (out === undefined) {
    if (chosen === "pdf") throw usageError("--format pdf needs a file: add --out report.pdf.")
    if (json && format !== undefined) {
      throw usageError(
        `--json prints the run's events on stdout: write the report to a file with --out report.${chosen}.`,
      )
    }
    return { format: chosen }
  }
  const path = resolve(io.cwd, out)
  if (!existsSync(dirname(path))) throw usageError(`Cannot write ${out}: no such folder.`)
  if (existsSync(path) && statSync(path).isDirectory()) {
    throw usageError(`Cannot write ${out}: it is a folder. Name a file in it.`)
  }
  return { format: chosen, path, ...(chosen === "pdf" && { browser: findBrowser(io.env) }) }
}

/** Writes or prints the report. Returns false if the caller must print it. */
export async function writeReport(
  output: ReportOutput,
  result: RunResult,
  flags: ReportFlags,
  cli: Cli,
): Promise<boolean> {
  const { format, path } = output
  if (format === "md" && path === undefined) return false
  try {
    const written = await rendered(output, result, cli)
    if (path === undefined) cli.out.write(shown(String(written), cli))
    else writeFile(path, written)
  } catch (error) {
    // The report was paid for, so it is printed anyway.
    if (!flags.json) printOutputs(cli, result)
    throw error
  }
  if (path !== undefined && !flags.quiet) cli.err.line(`Wrote the report to ${flags.out}.`)
  return true
}

/** A pipe receives the text unchanged. */
function shown(text: string, { out }: Cli): string {
  return out.isTerminal ? sanitize(text) : text
}

async function rendered(
  { format, browser }: ReportOutput,
  result: RunResult,
  cli: Cli,
): Promise<string | Uint8Array> {
  if (format === "md") return String(result.outputs[0] ?? "")
  const report = result.state.report as ResearchReport | undefined
  if (report === undefined) {
    throw usageError(
      `Run ${result.runId} has no structured report: an earlier version executed it. Use --format md.`,
    )
  }
  if (format === "json") {
    return `${jsonText({ run: result.runId, ...report, usage: result.usage }, 2)}\n`
  }
  const { reportHtml } = await import("@superstep/engine/patterns")
  const html = await reportHtml(report)
  if (format === "html" || browser === undefined) return html
  const stop = new AbortController()
  const forget = cli.io.onInterrupt(() => stop.abort(new Error("Printing the report was interrupted.")))
  try {
    return await printPdf(browser, html, { env: cli.io.env, signal: stop.signal })
  } finally {
    forget()
  }
}
