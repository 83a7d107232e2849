/** `superstep research`: writes a report with sources. */
import { existsSync, statSync } from "node:fs"
import { dirname, extname, resolve } from "node:path"
import type { RunResult } from "@superstep/engine"
import type { ResearchBudget, ResearchReport } from "@superstep/engine/patterns"
import { Command, Option } from "commander"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import {
  type BudgetFlag,
  collect,
  complete,
  type DefinitionFlags,
  modelFlag,
  type OutputFlags,
  outputFlags,
  parseParts,
  type RunFlags,
  runIdFlag,
  type StoreFlags,
  storeFlags,
  strictFlag,
} from "../flags.ts"
import { embeddingsFlag } from "../open/document-index.ts"
import { modeModel, type ResearchSettings } from "../open/research.ts"
import { withWorkflow } from "../open/workflow.ts"
import { findBrowser, printPdf } from "../print/browser.ts"
import { printOutputs } from "../print/ended.ts"
import { usageError } from "../print/errors.ts"
import { writeFile } from "../print/output-file.ts"
import { readInput } from "../run/read-input.ts"
import { runWorkflow, starting } from "../run/run-workflow.ts"
import { jsonText, sanitize } from "../terminal/terminal.ts"

type Budget = ResearchBudget & Pick<BudgetFlag, "usd" | "allowUnpriced">

interface Flags
  extends ReportFlags,
    StoreFlags,
    Pick<DefinitionFlags, "model">,
    Pick<RunFlags, "runId" | "strict"> {
  readonly deep?: true | undefined
  readonly auto?: true | undefined
  readonly docs?: readonly string[] | undefined
  readonly embeddings?: string | undefined
  readonly search?: string | undefined
  readonly web: boolean
  readonly budget?: Budget | undefined
}

function researchCommand(cli: Cli): Command {
  const command = new Command()
    .description("Research a question on the web and in your documents, and write a report with sources.")
    .argument("[question]", "the question; - reads it from stdin")
    .option("--deep", "write a report in sections, and research each section")
    .option("--auto", "let the model choose whether to write sections")
    .option("--docs <path>", "search these files, this folder or this index; repeatable", collect)
    .addOption(
      new Option("--search <engine>", "use this search engine (default: the one whose key is set)").choices([
        "searxng",
        "brave",
        "tavily",
        "serper",
      ]),
    )
    .option("--no-web", "search your documents only")
    .addOption(
      new Option(
        "--format <format>",
        "write the report in this format (default: from the extension of --out, or md); pdf needs Chromium or Chrome",
      ).choices([...REPORT_FORMATS]),
    )
    .option("--out <file>", "write the report to this file instead of stdout")
    .option(
      "--budget <parts>",
      "stop at this budget: tokens=N,seconds=N,iterations=N,usd=N (default: 100000 tokens, 600 seconds, 10 iterations)",
      parseResearchBudget,
    )
    .action((question: string | undefined, flags: Flags) => research(question, flags, cli))
  return complete(
    command,
    [runIdFlag, strictFlag, embeddingsFlag, modelFlag, storeFlags, outputFlags],
    'superstep research "Which heat pumps work below -20 °C?"',
  )
}

async function research(question: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  // Before anything is read or paid for.
  if (question === undefined ? !isInteractive(cli) : question.trim() === "") throw questionMissing()
  const output = reportOutput(flags, cli)
  const settings = await settingsOf(question, flags, cli)
  await withWorkflow({ research: settings }, cli, { flags }, async (opened, store) => {
    const input = await readInput(question, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    if (String(input).trim() === "") throw questionMissing()
    const { runId, budget: { usd, allowUnpriced } = {} } = flags
    const { code } = await runWorkflow(cli, {
      opened,
      store: await store(),
      flags,
      begin: starting(opened, String(input), {
        runId,
        budget: usd === undefined ? undefined : { usd, allowUnpriced },
      }),
      onResult: async (result) =>
        result.status === "completed" && (await writeReport(output, result, flags, cli)),
    })
    cli.exit(code)
  })
}

function questionMissing(): Error {
  return usageError('Write a question: superstep research "…", or - to read it from stdin.')
}

async function settingsOf(question: string | undefined, flags: Flags, cli: Cli): Promise<ResearchSettings> {
  const { docs, embeddings, search, web, budget } = flags
  const { usd: _, allowUnpriced: __, ...parts } = budget ?? {}
  const isDeep = flags.deep ?? (flags.auto && (await isForSections(question, flags, cli)))
  return {
    ...(isDeep && { deep: true as const }),
    ...(docs !== undefined && { docs: docs.map((path) => resolve(cli.io.cwd, path)) }),
    ...(embeddings !== undefined && { embeddings }),
    ...(search !== undefined && { search }),
    ...(!web && { web: false as const }),
    ...(Object.keys(parts).length > 0 && { budget: parts }),
  }
}

async function isForSections(question: string | undefined, flags: Flags, cli: Cli): Promise<boolean> {
  if (question === undefined || question === "-") {
    throw usageError("--auto needs the question on the command line.")
  }
  const { detectResearchMode } = await import("@superstep/engine/patterns")
  const mode = await detectResearchMode(question, await modeModel(cli, flags))
  if (!flags.quiet && !flags.json) cli.err.line(cli.err.paint.dim(`Research mode: ${mode}.`))
  return mode === "deep"
}

function parseResearchBudget(text: string): Budget {
  const example = "tokens=50000,seconds=300,iterations=5,usd=0.5"
  return parseParts(text, ["tokens", "seconds", "iterations", "usd"], example)
}

export const commands = { research: researchCommand }

// `--format` and `--out` of a research: the report as Markdown, HTML, JSON or PDF, on stdout or in a file.

const REPORT_FORMATS = ["md", "html", "json", "pdf"] as const
type ReportFormat = (typeof REPORT_FORMATS)[number]

interface ReportFlags extends OutputFlags {
  readonly format?: ReportFormat | undefined
  readonly out?: string | undefined
}

interface ReportOutput {
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
function reportOutput({ format, out, json }: ReportFlags, { io }: Cli): ReportOutput {
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
async function writeReport(
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
