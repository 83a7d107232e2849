/**
 * `superstep ask`: answers a question over your own data, from a configuration file or from the sources that flags name.
 */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { RunResult } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  modelFlag,
  type OutputFlags,
  outputFlags,
  type RunFlags,
  runFlags,
  type StoreFlags,
  storeFlags,
  variableFlags,
} from "../flags.ts"
import { embeddingsFlag } from "../open/document-index.ts"
import { askSettings, cacheFlag, hasSources, type SourceFlags, sourceFlags } from "../open/source-flags.ts"
import { type UseOptions, type WorkflowSource, withWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { readInput } from "../run/read-input.ts"
import { runWorkflow, starting, startOptions } from "../run/run-workflow.ts"
import { printText, sanitizeLine } from "../terminal/terminal.ts"

type Flags = OutputFlags & StoreFlags & RunFlags & DefinitionFlags & SourceFlags & { readonly cache?: string }

function askCommand(cli: Cli): Command {
  const command = new Command()
    .description("Answer a question over your own data: triage, search, assistants, review.")
    .argument("[file]", "the agents and the data, as YAML or JSON; omit it to name the data with flags")
    .argument("[question]", "the question; - reads it from stdin")
    .option("--chat", "ask follow-up questions; with --thread ID, continue a conversation")
    .action((first: string | undefined, second: string | undefined, flags: Flags) =>
      ask(first, second, flags, cli),
    )
  return complete(
    command,
    [sourceFlags, embeddingsFlag, cacheFlag, variableFlags, modelFlag, runFlags, storeFlags, outputFlags],
    'superstep ask "How many lamps are in stock?" --csv data --docs handbook',
    "superstep init goal creates such a file. superstep sources check reports the contents and problems of your sources.",
  )
}

async function ask(
  first: string | undefined,
  second: string | undefined,
  flags: Flags,
  cli: Cli,
): Promise<void> {
  const { file, question } = wordsOf(first, second, flags, cli)
  if (flags.chat) return await chat(file, question, flags, cli)
  // Before anything is read or paid for.
  if (question === undefined ? !isInteractive(cli) : question.trim() === "") throw questionMissing()
  const { source, flags: used } = sourceOf(file, flags, cli)
  await withWorkflow(source, cli, { flags: used }, async (opened, store) => {
    const input = await readInput(question, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    if (String(input).trim() === "") throw questionMissing()
    if ((await opened.prepare?.()) === false) return cli.exit(EXIT.cancelled)
    const begin = starting(opened, input, startOptions(flags, opened))
    cli.exit((await runWorkflow(cli, { opened, store: await store(), flags, begin })).code)
  })
}

async function chat(
  file: string | undefined,
  question: string | undefined,
  flags: Flags,
  cli: Cli,
): Promise<void> {
  if (flags.runId !== undefined)
    throw usageError("--run-id works with one question only. For a conversation, use --thread.")
  if (flags.strict) throw usageError("--strict cannot be used with --chat.")
  if (question === "-") throw usageError("--chat already reads questions from stdin. Remove the -.")
  const { source, flags: used } = sourceOf(file, flags, cli)
  await withWorkflow(source, cli, { flags: used }, async (opened, store) => {
    if ((await opened.prepare?.()) === false) return cli.exit(EXIT.cancelled)
    const { converse } = await import("../run/converse.ts")
    const onResult = flags.quiet || flags.json ? undefined : (result: RunResult) => printAsked(result, cli)
    cli.exit(
      await converse(cli, opened, await store(), flags, { first: question, isSpoken: false, onResult }),
    )
  })
}

/** Prints how a follow-up question was interpreted: the answer alone would hide a wrong interpretation. */
function printAsked({ state }: RunResult, { err }: Cli): void {
  const { question, standalone } = (state.asked ?? {}) as Partial<Record<string, unknown>>
  if (typeof standalone !== "string" || standalone === question) return
  printText(err, sanitizeLine(`Asked as: ${standalone}`), { paint: err.paint.dim })
}

interface Words {
  readonly file?: string | undefined
  readonly question?: string | undefined
}

/** Decides which of the two arguments is the file. */
function wordsOf(first: string | undefined, second: string | undefined, flags: Flags, { io }: Cli): Words {
  const isFile = (word: string | undefined) =>
    word !== undefined &&
    (/\.(?:ya?ml|json)$/i.test(word) || (word !== "-" && existsSync(resolve(io.cwd, word))))
  if (hasSources(flags)) {
    const file = second === undefined ? undefined : [first, second].find(isFile)
    if (file !== undefined) {
      throw usageError(`${file} defines its own data sources. Remove the file, or --docs, --csv and --db.`)
    }
    if (second !== undefined) throw usageError("Put the question in quotes, so that it is one argument.")
    return { question: first }
  }
  if (second !== undefined && !isFile(first) && isFile(second)) return { file: second, question: first }
  if (first === undefined || (second === undefined && !isFile(first))) throw noDataSource(first)
  return { file: first, question: second }
}

/** Moves passwords in URLs to secrets, which the run does not store. */
function sourceOf(
  file: string | undefined,
  flags: Flags,
  { io }: Cli,
): { readonly source: WorkflowSource; readonly flags: UseOptions["flags"] } {
  if (file !== undefined) {
    if (flags.embeddings !== undefined)
      throw usageError("--embeddings works only with --docs. A file sets its own embeddings.")
    return { source: { goal: file }, flags }
  }
  if (flags.untrusted) throw usageError("--untrusted works only with a file.")
  const { settings, secrets } = askSettings(flags, io)
  const setSecret = { ...flags.setSecret, ...secrets }
  const has = Object.keys(setSecret).length > 0
  return { source: { ask: settings }, flags: { ...flags, ...(has && { setSecret }) } }
}

function questionMissing(): Error {
  return usageError('Write a question: superstep ask CONFIG "…", or - to read it from stdin.')
}

function noDataSource(question: string | undefined): Error {
  const what = question === undefined ? '"…"' : "QUESTION"
  return usageError(
    `No data source is set. Add one: superstep ask ${what} --docs FOLDER, --csv FOLDER or --db URL. ` +
      "Or write a file: superstep init goal creates one.",
  )
}

export const commands = { ask: askCommand }
