/** `superstep research`: writes a report with sources. */
import { resolve } from "node:path"
import type { ResearchBudget } from "@superstep/engine/patterns"
import { Command, Option } from "commander"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import {
  type BudgetFlag,
  collect,
  complete,
  type DefinitionFlags,
  modelFlag,
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
import { usageError } from "../print/errors.ts"
import { REPORT_FORMATS, type ReportFlags, reportOutput, writeReport } from "../print/report-format.ts"
import { readInput } from "../run/read-input.ts"
import { runWorkflow, starting } from "../run/run-workflow.ts"

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
    [
      'superstep research "Which heat pumps work below -20 °C?"',
      'superstep research "Our returns policy" --deep --docs docs --out report.html',
    ],
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
