/**
 * `superstep respond`: answers a question. A run that another process has goes on there; one that nobody has goes on
 * here, if its definition can be found; else the answer is kept for the process that takes it up.
 */
import { isSuperstepError, type Json, type OpenRequest, Runtime, type StoredRun } from "@superstep/engine"
import { Command } from "commander"
import { isInteractive } from "../answerers.ts"
import { storeFlagOf } from "../attend.ts"
import type { Cli } from "../cli.ts"
import { outputFlags, storeFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { findRun, shortId, typedId } from "../find-run.ts"
import { type GoOnFlags, goOn, goOnFlags } from "../go-on.ts"
import { jsonLine } from "../json-line.ts"
import { livingHolder } from "../living-holder.ts"
import type { OpenStore } from "../open-store.ts"
import { fits } from "../question-text.ts"
import { readAnswer, readJsonAnswer } from "../read-answer.ts"
import { saysItsWorkflow } from "../stored-workflow.ts"
import { foreignLine } from "../terminal.ts"
import { usageError } from "../usage-error.ts"
import { useStore } from "../use-store.ts"

interface RespondFlags extends GoOnFlags {
  readonly jsonAnswer?: string | undefined
  readonly by?: string | undefined
}

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Answers a question of a run, which then goes on.")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .argument("[request]", "the question's id; not needed where there is only one")
    .argument("[answer]", "a text, a number, yes or no: what the question asks for")
    .option("--json-answer <json>", "the answer as JSON")
    .option("--by <who>", "who answers, for the record")
    .addHelpText(
      "after",
      "\nWithout an answer it is asked for at the terminal. Questions: superstep inbox\n\nFor example:\n  superstep respond 4f2a91c0 yes\n  superstep respond 4f2a91c0 r1 yes --by Ada",
    )
    .action((run: string, request: string | undefined, answer: string | undefined, flags: RespondFlags) =>
      useStore(cli, flags, (store) => respond(cli, store, { run, request, answer }, flags)),
    )
  for (const add of [goOnFlags, storeFlags, outputFlags]) add(made)
  return made
}

interface Given {
  readonly run: string
  readonly request: string | undefined
  readonly answer: string | undefined
}

async function respond(cli: Cli, store: OpenStore, given: Given, flags: RespondFlags): Promise<void> {
  const run = await findRun(store, given.run)
  const { request, answer } = await findRequest(store, run, given, flags)
  const value = await answerTo(cli, request, answer, flags)
  if (value === undefined) return cli.exit(EXIT.cancelled)
  const { env } = cli.io
  const options = { by: flags.by ?? env.USER ?? env.USERNAME }
  const isAtWork = (await livingHolder(store, run)) !== undefined
  if (!isAtWork && (flags.file !== undefined || saysItsWorkflow(run))) {
    return await goOn(cli, store, run, flags, {
      first: (taken) => taken.respond(request.id, value, options),
    })
  }
  if (!isAtWork && !flags.quiet)
    cli.err.line(cli.err.paint.dim("Waiting for a process that has its workflow…"))
  const runtime = new Runtime({ store, workflows: [] })
  try {
    await runtime.respond(run.runId, request.id, value, options)
  } catch (error) {
    throw isSuperstepError(error, "MAIL_UNREAD") ? unread(run.runId, storeFlagOf(flags), error) : error
  } finally {
    await runtime.close()
  }
  if (flags.json) cli.out.line(jsonLine({ runId: run.runId, request: request.id, answered: true }))
  else if (!flags.quiet) cli.err.line(`Answered. Run ${shortId(run.runId)} goes on where it is at work.`)
}

/** As the engine makes them up: such a word is never meant as an answer. */
const REQUEST_ID = /(?:^|\/)r\d+$/

/** Where there is one question only, its id may be left out. */
async function findRequest(
  store: OpenStore,
  { runId, status }: StoredRun,
  { request: id, answer }: Given,
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
  const what = id === undefined ? `asks several things` : `has no open question "${foreignLine(id)}"`
  throw usageError(`Run ${name} ${what}. Open: ${foreignLine(ids)}.`)
}

/** Undefined when the person does not want to answer now. */
async function answerTo(
  cli: Cli,
  request: OpenRequest,
  text: string | undefined,
  { jsonAnswer }: RespondFlags,
): Promise<Json | undefined> {
  if (text !== undefined && jsonAnswer !== undefined) {
    throw usageError("There are two answers: give a text, or --json-answer.")
  }
  if (jsonAnswer !== undefined) return readJsonAnswer(jsonAnswer)
  if (text !== undefined) return await readAnswer(text, request)
  if (!isInteractive(cli)) {
    throw usageError(`There is no answer to "${foreignLine(request.prompt)}". An answer is ${fits(request)}.`)
  }
  const { askPerson } = await import("../ask-person.ts")
  const { stdin: input, stderr: output } = cli.io
  const said = await askPerson(request, { input, output, signal: new AbortController().signal })
  return said.kind === "answer" ? (said.value as Json) : undefined
}

function unread(runId: string, storeFlag: string, cause: Error): Error {
  return usageError(
    `The answer is kept, and nobody has run ${shortId(runId)} at work. To go on with it here:\n` +
      `superstep runs resume ${typedId(runId)} --file FILE${storeFlag}`,
    cause,
  )
}
