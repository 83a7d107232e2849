/** `superstep research QUESTION`: a report with its sources. */
import { existsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Runtime } from "@superstep/engine"
import type { ResearchBudget } from "@superstep/engine/patterns"
import { Command, InvalidArgumentError, Option } from "commander"
import { atTheTerminal, isInteractive } from "../answerers.ts"
import { storeFlagOf } from "../attend.ts"
import type { Cli } from "../cli.ts"
import {
  type DefinitionFlags,
  modelFlag,
  type OutputFlags,
  outputFlags,
  type StoreFlags,
  storeFlags,
} from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { modeModel, openResearch, type ResearchSettings } from "../open-research.ts"
import { openStore, storeAddress, storeNotices } from "../open-store.ts"
import type { OpenedWorkflow } from "../open-workflow.ts"
import { printEnded, printOutputs } from "../print-ended.ts"
import { jsonEvents } from "../progress/json-events.ts"
import { plainProgress } from "../progress/plain-progress.ts"
import type { Watcher } from "../progress/watcher.ts"
import { readInput } from "../read-prompt.ts"
import { type Ended, runWorkflow } from "../run-workflow.ts"
import { usageError } from "../usage-error.ts"
import { embeddingsFlag } from "../use-index.ts"
import { writeFile } from "../write-file.ts"

interface Flags extends OutputFlags, StoreFlags, Pick<DefinitionFlags, "model"> {
  readonly deep?: true | undefined
  readonly auto?: true | undefined
  readonly docs?: readonly string[] | undefined
  readonly embeddings?: string | undefined
  readonly search?: string | undefined
  readonly web: boolean
  readonly out?: string | undefined
  readonly budget?: (ResearchBudget & { readonly usd?: number | undefined }) | undefined
  readonly runId?: string | undefined
}

const BUDGET_HELP =
  "tokens=…,seconds=…,iterations=…,usd=…; by default 100000 tokens, 600 seconds, 10 iterations"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Researches a question on the web and in your documents: a report with its sources.")
    .argument("[question]", "what you want to know; - reads it from stdin")
    .option("--deep", "a report in sections, each researched by itself")
    .option("--auto", "let the model say whether it is to be deep")
    .option("--docs <path>", "files or a folder of your own, or an index; again for more", collect)
    .addOption(
      new Option("--search <engine>", "by default the one that has a key in the environment").choices([
        "searxng",
        "brave",
        "tavily",
        "serper",
      ]),
    )
    .option("--no-web", "search your documents alone")
    .option("--out <file>", "write the report there, instead of to stdout")
    .option("--budget <parts>", BUDGET_HELP, parseResearchBudget)
    .option("--run-id <id>", "a name for the run; one that is there is joined")
    .action((question: string | undefined, flags: Flags) => research(question, flags, cli))
    .addHelpText(
      "after",
      '\nFor example:\n  superstep research "Which heat pumps work below -20 °C?"\n  superstep research "Our returns policy" --deep --docs handbook --out report.md',
    )
  for (const add of [embeddingsFlag, modelFlag, storeFlags, outputFlags]) add(made)
  return made
}

async function research(question: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  // Before anything is read, or paid for.
  if (question === undefined ? !isInteractive(cli) : question.trim() === "") throw questionMissing()
  const out = outOf(flags, cli)
  const opened = await openResearch(await settingsOf(question, flags, cli), cli, flags)
  try {
    const input = await readInput(question, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    if (String(input).trim() === "") throw questionMissing()
    const ended = await run(String(input), opened, flags, cli)
    const isDone = ended.result?.status === "completed"
    if (out !== undefined && isDone) keepReport(out, ended, flags, cli)
    const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
    printEnded(cli, ended, {
      json: flags.json,
      isKept,
      storeFlag: storeFlagOf(flags),
      isShown: out !== undefined,
    })
    if (out !== undefined && isDone && !flags.quiet) cli.err.line(`The report is in ${flags.out}.`)
    cli.exit(ended.code)
  } finally {
    await opened.close()
  }
}

function questionMissing(): Error {
  return usageError('Say what you want to know: superstep research "…", or - to read it from stdin.')
}

/** Where the report goes, and can go. */
function outOf({ out }: Flags, { io }: Cli): string | undefined {
  if (out === undefined) return undefined
  const path = resolve(io.cwd, out)
  if (!existsSync(dirname(path))) throw usageError(`Cannot write ${out}: there is no such folder.`)
  if (existsSync(path) && statSync(path).isDirectory()) {
    throw usageError(`Cannot write ${out}: it is a folder. Name a file in it.`)
  }
  return path
}

/** A report that cannot be written is shown: it is paid for. */
function keepReport(path: string, { result }: Ended, { json }: Flags, cli: Cli): void {
  if (result === undefined) return
  try {
    writeFile(path, String(result.outputs[0] ?? ""))
  } catch (error) {
    if (!json) printOutputs(cli, result)
    throw error
  }
}

async function settingsOf(question: string | undefined, flags: Flags, cli: Cli): Promise<ResearchSettings> {
  const { docs, embeddings, search, web, budget } = flags
  const { usd: _, ...parts } = budget ?? {}
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
  if (!flags.quiet && !flags.json) cli.err.line(cli.err.paint.dim(`The research is ${mode}.`))
  return mode === "deep"
}

async function run(question: string, opened: OpenedWorkflow, flags: Flags, cli: Cli): Promise<Ended> {
  const store = await openStore(flags.store, cli.io.cwd, storeNotices(cli))
  const { runId, budget } = flags
  const begin = (runtime: Runtime) => ({
    run: runtime.stream(opened.workflow, question as never, {
      labels: opened.labels,
      ...(runId !== undefined && { runId }),
      ...(budget?.usd !== undefined && { budget: { usd: budget.usd } }),
    }),
  })
  try {
    const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
    const watcher = watcherOf(flags, opened, cli)
    return await runWorkflow(cli, { opened, store, isKept, begin, watcher, answerer: atTheTerminal(cli) })
  } finally {
    await store.close()
  }
}

function watcherOf(flags: Flags, opened: OpenedWorkflow, { out, err }: Cli): Watcher {
  if (flags.json) return jsonEvents(out)
  if (flags.quiet) return { event() {}, pause() {}, resume() {}, end() {} }
  return (!flags.verbose && opened.progress?.(err)) || plainProgress(err, { isVerbose: true })
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

function parseResearchBudget(text: string): NonNullable<Flags["budget"]> {
  const budget: Record<string, number> = {}
  for (const part of text.split(",")) {
    const [, name, amount] = /^(tokens|seconds|iterations|usd)=(\d+(?:\.\d+)?|\.\d+)$/.exec(part.trim()) ?? []
    if (name === undefined || !(Number(amount) > 0)) {
      throw new InvalidArgumentError(
        "A budget is written tokens=50000,seconds=300,iterations=5,usd=0.5: one of them or more.",
      )
    }
    budget[name] = Number(amount)
  }
  return budget
}
