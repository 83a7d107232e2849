/** `superstep runs fork`, `diff` and `replay`: a run beside another one, or beside its changed definition. */
import {
  compareRuns,
  fork,
  type Json,
  printReplay,
  type RunDifference,
  Runtime,
  type Store,
  type StoredRequest,
  type StoredRun,
} from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  type BoundFlags,
  boundFlags,
  complete,
  limitsOf,
  type OutputFlags,
  outputFlags,
  parseWhole,
  type StoreFlags,
  storeFlags,
  strictFlag,
} from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { withMaxSteps } from "../open/run-labels.ts"
import { type OpenStore, onStore, withStore } from "../open/store.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { viewOf } from "../print/run-report.ts"
import { userOf } from "../run/answerers.ts"
import { findRun, shortId } from "../run/find-run.ts"
import { answerProblem, parseJson, readAnswer } from "../run/read-input.ts"
import { type ResumeFlags, resume, resumeFlags } from "../run/run-workflow.ts"
import { clipped, jsonText, sanitize, sanitizeLine, type Terminal } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

interface ForkFlags extends ResumeFlags, BoundFlags {
  readonly at?: number | undefined
  readonly answer?: readonly string[] | undefined
  readonly input?: string | undefined
  readonly setState?: Readonly<Record<string, Json>> | undefined
  readonly run: boolean
}

export function forkCommand(cli: Cli): Command {
  const command = new Command("fork")
    .description("start a new run with this run's history up to a superstep")
    .argument("<run>", RUN_ID)
    .option("--at <n>", "fork after superstep n; 0 is the start (default: the last one)", parseWhole)
    .option("--set-state <key=value>", "change a value in the state: JSON or text; repeatable", parseState)
    .option(
      "--answer <[request=]answer>",
      "fork where this question was open, with another answer; repeatable",
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option("--input <input>", "start again with another input: text, or JSON if the run's input is JSON")
    .option("--no-run", "create the run without executing it, and print its id")
    .action((id: string, flags: ForkFlags) =>
      withStore(cli, flags, async (store) => {
        checkFlags(flags)
        const run = await findRun(store, id)
        const make = (dialect?: string) => makeFork(cli, store, run, flags, dialect)
        if (flags.run) {
          const options = { makeRun: ({ definition }: OpenedWorkflow) => make(definition?.dialect) }
          return await resume(cli, store, run, flags, options)
        }
        const runId = await make()
        cli.out.line(flags.json ? jsonText({ runId }) : runId)
      }),
    )
  return complete(
    command,
    [boundFlags, strictFlag, resumeFlags, storeFlags, outputFlags],
    "superstep runs fork 4f2a91c0 --at 2 --set-state tone=kind",
  )
}

async function makeFork(
  cli: Cli,
  store: OpenStore,
  origin: StoredRun,
  flags: ForkFlags,
  dialect: string | undefined,
): Promise<string> {
  const { at, setState: state, answer, input } = flags
  const made = await fork(store, origin.runId, {
    ...limitsOf(flags, dialect),
    at: at === undefined ? undefined : { superstep: at },
    state,
    ...(input !== undefined && { input: await forkInput(store, origin, input) }),
    ...(answer !== undefined && { answers: await forkAnswers(store, origin, answer), by: userOf(cli) }),
    labels: withMaxSteps(origin, flags),
  })
  const { err } = cli
  if (!flags.quiet && flags.run) err.line(err.paint.dim(`run ${made}, a fork of ${shortId(origin.runId)}`))
  return made
}

function checkFlags({ input, at, answer }: ForkFlags): void {
  if (input === undefined || (at === undefined && answer === undefined)) return
  throw usageError(
    `--input starts the workflow from the beginning. Remove ${at === undefined ? "--answer" : "--at"}.`,
  )
}

/** Parses a value as JSON, and falls back to text. */
function parseState(
  text: string,
  before: Readonly<Record<string, Json>> = {},
): Readonly<Record<string, Json>> {
  const equals = text.indexOf("=")
  if (equals < 1) throw new InvalidArgumentError("Write --set-state key=value.")
  const [key, value] = [text.slice(0, equals), text.slice(equals + 1)]
  const parsed = parseJson(value)
  return { ...before, [key]: parsed === undefined ? value : parsed }
}

const ANY = ["open", "answered", "expired", "withdrawn"] as const

/** Each is `REQUEST=ANSWER`, or only the answer if the run asked once. The result is keyed by request id. */
async function forkAnswers(
  store: Pick<Store, "requests">,
  { runId }: StoredRun,
  texts: readonly string[],
): Promise<Readonly<Record<string, Json>>> {
  const asked = await store.requests({ runId, outcome: ANY })
  const answers: Record<string, Json> = {}
  for (const text of texts) {
    const { request, answer } = answerTo(asked, text, runId)
    const id = sanitizeLine(request.id)
    if (Object.hasOwn(answers, request.id)) throw usageError(`--answer answers question ${id} twice.`)
    const value = await readAnswer(answer, request)
    const problem = request.schema === undefined ? undefined : await answerProblem(value, request.schema)
    if (problem !== undefined) throw usageError(`The answer to question ${id} is invalid: ${problem}.`)
    answers[request.id] = value
  }
  return answers
}

function answerTo(
  asked: readonly StoredRequest[],
  text: string,
  runId: string,
): { readonly request: StoredRequest; readonly answer: string } {
  // An answer may contain `=` too, so the part before it must be a request id.
  for (let equals = text.indexOf("="); equals > 0; equals = text.indexOf("=", equals + 1)) {
    const request = asked.find(({ id }) => id === text.slice(0, equals))
    if (request !== undefined) return { request, answer: text.slice(equals + 1) }
  }
  const [only, ...others] = asked
  if (only !== undefined && others.length === 0) return { request: only, answer: text }
  const name = shortId(runId)
  if (only === undefined) throw usageError(`Run ${name} asked no question. Remove --answer.`)
  const ids = asked.map(({ id }) => id).join(", ")
  throw usageError(
    `Run ${name} asked several questions: ${sanitizeLine(ids)}. Write --answer REQUEST=ANSWER.`,
  )
}

/** Text if the run's own input is text, and JSON otherwise. */
async function forkInput(store: Store, { runId }: StoredRun, text: string): Promise<Json> {
  const { input } = await viewOf(store, runId)
  if (input === undefined || typeof input === "string") return text
  const value = parseJson(text)
  if (value !== undefined) return value
  throw usageError(
    `The input of run ${shortId(runId)} is not text. Write --input as JSON, for example ${example(input)}.`,
  )
}

function example(input: Json): string {
  const text = JSON.stringify(input)
  return text.length <= 60 ? sanitizeLine(text) : Array.isArray(input) ? "'[…]'" : "'{…}'"
}

// `superstep runs diff` and `superstep runs replay`: compare a run with another one, or with its changed definition.

type DiffFlags = OutputFlags & StoreFlags

export function diffCommand(cli: Cli): Command {
  const command = new Command("diff")
    .description("show what two runs did differently; exit with 1 if they differ")
    .argument("<a>", RUN_ID)
    .argument("<b>", "the other run")
    .action(onStore(cli, diff))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs diff 4f2a91c0 77be01aa",
    "Compares inputs, messages of nodes, answers, state, outputs and errors, but not times or costs. --verbose prints values in full.",
  )
}

async function diff(cli: Cli, store: OpenStore, a: string, b: string, flags: DiffFlags): Promise<void> {
  const runs = [await findRun(store, a), await findRun(store, b)] as const
  const [{ runId: one }, { runId: other }] = runs
  const found = await compareRuns(store, one, other)
  const isSame = found.length === 0
  if (!isSame) cli.exit(EXIT.failed)
  if (flags.json) return cli.out.line(jsonText({ a: one, b: other, same: isSame, differences: found }))
  if (flags.quiet) return
  for (const difference of found) printDifference(cli.out, difference, flags.verbose === true)
  if (isSame) cli.err.line(`Runs ${shortId(one)} and ${shortId(other)} show no differences.`)
}

function printDifference(out: Terminal, { what, a, b }: RunDifference, isFull: boolean): void {
  const { bold, red, green } = out.paint
  out.line(bold(sanitizeLine(what)))
  const shown = (value: Json | undefined) => {
    const text = sanitizeLine(value === undefined ? "(nothing)" : jsonText(value))
    return isFull ? text : clipped(text, out.width - 4)
  }
  out.line(`  ${red("-")} ${shown(a)}`)
  out.line(`  ${green("+")} ${shown(b)}`)
}

type ReplayFlags = OutputFlags & StoreFlags & StoredWorkflowFlags

export function replayCommand(cli: Cli): Command {
  const command = new Command("replay")
    .description("replay a run against its current definition; exit with 1 if it differs")
    .argument("<run>", RUN_ID)
    .action(onStore(cli, replay))
  return complete(
    command,
    [storedWorkflowFlags, storeFlags, outputFlags],
    "superstep runs replay 4f2a91c0 --file new-version.yaml",
    "No model is called and nobody is asked: their recorded answers are used.",
  )
}

async function replay(cli: Cli, store: OpenStore, id: string, flags: ReplayFlags): Promise<void> {
  const run = await findRun(store, id)
  const opened = await openStoredWorkflow(cli, store, run, flags, { isRun: false })
  const runtime = new Runtime({ store, workflows: [], recover: false })
  try {
    const report = await runtime.replay(run.runId, opened.workflow)
    cli.out.line(flags.json ? jsonText(report) : sanitize(printReplay(report)))
    if (!report.same) cli.exit(EXIT.failed)
  } finally {
    await runtime.close()
    await opened.close()
  }
}
