/**
 * `superstep inbox` lists open questions, and `superstep respond` answers one. A run that another process executes continues
 * there. A run that no process executes continues here if its definition is found; otherwise the answer is stored, and is
 * delivered when the run resumes.
 */
import { type Delivery, type Json, type OpenRequest, Runtime, type StoredRun } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import { complete, type OutputFlags, outputFlags, parseCount, type StoreFlags, storeFlags } from "../flags.ts"
import { type OpenStore, onStore, storeFlagOf, withStore } from "../open/store.ts"
import { canReopenWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { storedNames } from "../print/node-names.ts"
import { askedAt, expectedAnswer, printQuestion } from "../print/question.ts"
import { liveHolder } from "../print/run-report.ts"
import { userOf } from "../run/answerers.ts"
import { findRun, shortId, typedId } from "../run/find-run.ts"
import { readAnswer, readJson } from "../run/read-input.ts"
import { type ResumeFlags, resume, resumeFlags } from "../run/run-workflow.ts"
import { jsonText, printJsonLines, sanitizeLine } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

interface InboxFlags extends OutputFlags, StoreFlags {
  readonly to?: string | undefined
  readonly workflow?: string | undefined
  readonly limit: number
}

function inboxCommand(cli: Cli): Command {
  const command = new Command()
    .description("List the open questions of all runs, oldest first.")
    .option("--to <who>", "list only questions for this person or role")
    .option("--workflow <name>", "list only questions of this workflow")
    .option("--limit <n>", "list at most n questions", parseCount, 50)
    .action(onStore(cli, list))
  return complete(command, [storeFlags, outputFlags], "superstep inbox --to accounting")
}

async function list({ out, err }: Cli, store: OpenStore, flags: InboxFlags): Promise<void> {
  const { to, workflow, limit, json, quiet } = flags
  const found = await store.requests({ to, workflow, limit: limit + 1 })
  const shown = found.slice(0, limit)
  if (json) return printJsonLines(out, shown)
  if (shown.length === 0 && !quiet)
    err.line(
      to === undefined && workflow === undefined ? "There are no open questions." : "No question matches.",
    )
  const now = Date.now()
  for (const [i, request] of shown.entries()) {
    if (i > 0) out.line()
    const run = flags.verbose ? undefined : await store.run(request.runId)
    const node = run === undefined ? request.node : askedAt(request, await storedNames(store, run))
    printQuestion(out, { ...request, node }, { now, storeFlag: storeFlagOf(flags) })
  }
  if (found.length > limit && !quiet) err.line(err.paint.dim(`More results: --limit ${limit * 5}`))
}

interface RespondFlags extends ResumeFlags {
  readonly jsonAnswer?: string | undefined
  readonly by?: string | undefined
}

function respondCommand(cli: Cli): Command {
  const command = new Command()
    .description("Answer an open question, and let the run continue.")
    .argument("<run>", RUN_ID)
    .argument("[request]", "the question's id; optional if there is only one")
    .argument("[answer]", "the answer: text, a number, yes or no")
    .option("--json-answer <json>", "answer with JSON")
    .option("--by <who>", "record who answers")
    .action((run: string, request: string | undefined, answer: string | undefined, flags: RespondFlags) =>
      withStore(cli, flags, (store) => respond(cli, store, { run, request, answer }, flags)),
    )
  return complete(
    command,
    [resumeFlags, storeFlags, outputFlags],
    "superstep respond 4f2a91c0 yes",
    "Without an answer, you are asked at the terminal. List the questions: superstep inbox",
  )
}

interface Arguments {
  readonly run: string
  readonly request: string | undefined
  readonly answer: string | undefined
}

async function respond(cli: Cli, store: OpenStore, args: Arguments, flags: RespondFlags): Promise<void> {
  const run = await findRun(store, args.run)
  const { request, answer } = await findRequest(store, run, args, flags)
  const value = await answerTo(cli, request, answer, flags)
  if (value === undefined) return cli.exit(EXIT.cancelled)
  const options = { by: flags.by ?? userOf(cli) }
  const isExecuting = (await liveHolder(store, run)) !== undefined
  if (!isExecuting && (flags.file !== undefined || (await canReopenWorkflow(cli, store, run)))) {
    return await resume(cli, store, run, flags, {
      first: async (claimed) => void (await claimed.respond(request.id, value, options)),
    })
  }
  const runtime = new Runtime({ store, workflows: [], recover: false })
  let delivery: Delivery
  try {
    delivery = await runtime.respond(run.runId, request.id, value, options)
  } finally {
    await runtime.close()
  }
  const isStored = delivery === "stored"
  const { err } = cli
  if (flags.json) {
    const stored = isStored ? { stored: true } : {}
    cli.out.line(jsonText({ runId: run.runId, request: request.id, answered: true, ...stored }))
  } else if (flags.quiet) return
  else if (isStored) {
    err.line("The answer is stored. It is delivered when the run resumes. To resume it here:")
    err.line(`  superstep runs resume ${typedId(run.runId)} --file FILE${storeFlagOf(flags)}`)
  } else err.line(`Answered. Run ${shortId(run.runId)} continues in its process.`)
}

/** Ids that the engine generates. A word of this form is never an answer. */
const REQUEST_ID = /(?:^|\/)r\d+$/

/** If there is only one question, its id is optional. */
async function findRequest(
  store: OpenStore,
  { runId, status }: StoredRun,
  { request: id, answer }: Arguments,
  { jsonAnswer }: RespondFlags,
): Promise<{ readonly request: OpenRequest; readonly answer: string | undefined }> {
  const open = await store.requests({ runId })
  const request = open.find((one) => one.id === id)
  if (request !== undefined) return { request, answer }
  const [only, ...others] = open
  if (only !== undefined && others.length === 0) {
    if (id === undefined) return { request: only, answer }
    const isAnswer = answer === undefined && jsonAnswer === undefined && !REQUEST_ID.test(id)
    if (isAnswer) return { request: only, answer: id }
  }
  const name = shortId(runId)
  if (open.length === 0) throw usageError(`Run ${name} is ${status}, and has no open question.`)
  const ids = open.map((one) => one.id).join(", ")
  const what = id === undefined ? "has several open questions" : `has no open question "${sanitizeLine(id)}"`
  throw usageError(`Run ${name} ${what}. Open: ${sanitizeLine(ids)}.`)
}

/** Undefined if the person cancels. */
async function answerTo(
  cli: Cli,
  request: OpenRequest,
  text: string | undefined,
  { jsonAnswer }: RespondFlags,
): Promise<Json | undefined> {
  if (text !== undefined && jsonAnswer !== undefined) {
    throw usageError("Write either an answer or --json-answer, not both.")
  }
  if (jsonAnswer !== undefined) return readJson(jsonAnswer, "--json-answer")
  if (text !== undefined) return await readAnswer(text, request)
  if (!isInteractive(cli)) {
    throw usageError(
      `Write an answer to "${sanitizeLine(request.prompt)}". An answer is ${expectedAnswer(request)}.`,
    )
  }
  const { askPerson } = await import("../terminal/ask-person.ts")
  const { stdin: input, stderr: output } = cli.io
  const answered = await askPerson(request, { input, output, signal: new AbortController().signal })
  return answered.kind === "answer" ? (answered.value as Json) : undefined
}

export const commands = { inbox: inboxCommand, respond: respondCommand }
