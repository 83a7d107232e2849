/** `superstep runs resume`, `retry` and `signal`: continue a run in this process. */
import { type Delivery, isSuperstepError, type Json, Runtime, rerun, type StoredRun } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import {
  type BoundFlags,
  boundFlags,
  complete,
  limitsOf,
  outputFlags,
  storeFlags,
  strictFlag,
} from "../flags.ts"
import { withMaxSteps } from "../open/run-labels.ts"
import { type OpenStore, storeFlagOf, withStore } from "../open/store.ts"
import { canReopenWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { liveHolder } from "../print/run-report.ts"
import { findRun, shortId, typedId } from "../run/find-run.ts"
import { readJson } from "../run/read-input.ts"
import { type ResumeFlags, resume, resumeFlags } from "../run/run-workflow.ts"
import { jsonText, sanitizeLine } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

interface TakeOverFlags extends ResumeFlags {
  readonly takeOver?: true | undefined
}

const RESUMABLE: readonly StoredRun["status"][] = ["queued", "running", "waiting", "paused"]

export function resumeCommand(cli: Cli): Command {
  const command = new Command("resume")
    .description("resume a run that was paused or stopped, or that waits")
    .argument("<run>", RUN_ID)
    .option("--take-over", "take the run from a process that is stuck")
    .action((id: string, flags: TakeOverFlags) =>
      withStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        const { status } = run
        if (!RESUMABLE.includes(status)) throw cannotResume(run, storeFlagOf(flags))
        await resume(cli, store, run, flags, { takeOver: flags.takeOver })
      }),
    )
  return complete(
    command,
    [strictFlag, resumeFlags, storeFlags, outputFlags],
    "superstep runs resume 4f2a91c0",
  )
}

function cannotResume({ runId, status }: StoredRun, storeFlag: string): Error {
  const id = typedId(runId)
  const suggest = (why: string, command: string) =>
    usageError(`Run ${shortId(runId)} is ${why}:\nsuperstep runs ${command}${storeFlag}`)
  if (status === "quarantined") {
    const why = "quarantined: each process that executed it died. Find the cause, then release it"
    return suggest(why, `release ${id}`)
  }
  if (status === "failed") return suggest("failed. Retry it from where it failed", `retry ${id}`)
  if (status === "limit") {
    const why = "stopped at a limit. Continue it with a higher --budget, --max-steps or --timeout"
    return suggest(why, `retry ${id} --budget usd=…`)
  }
  return suggest(`${status}. Repeat a part of it from a superstep`, `fork ${id} --at N`)
}

interface RetryFlags extends ResumeFlags, BoundFlags {
  readonly from?: string | undefined
}

export function retryCommand(cli: Cli): Command {
  const command = new Command("retry")
    .description("retry a run that failed or reached a limit, as a new run with the same history")
    .argument("<run>", RUN_ID)
    .option("--from <node>", "retry from the last visit of this node, whether it failed or not")
    .action((id: string, flags: RetryFlags) =>
      withStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        await resume(cli, store, run, flags, {
          makeRun: ({ definition }) => retry(cli, store, run, flags, definition?.dialect),
        })
      }),
    )
  return complete(
    command,
    [boundFlags, strictFlag, resumeFlags, storeFlags, outputFlags],
    "superstep runs retry 4f2a91c0 --model openai/gpt-5",
    "The new run keeps the limits and budgets of the old one, unless you set others. Usage of the old run counts.",
  )
}

async function retry(
  { err }: Cli,
  store: OpenStore,
  run: StoredRun,
  flags: RetryFlags,
  dialect: string | undefined,
): Promise<string> {
  const { runId, status } = run
  const made = await rerun(store, runId, {
    ...limitsOf(flags, dialect),
    labels: withMaxSteps(run, flags),
    from: flags.from === undefined ? undefined : { node: flags.from },
  }).catch((error) => {
    if (!isSuperstepError(error, "RUN_NOT_FAILED")) throw error
    throw usageError(
      `Run ${shortId(runId)} is ${status}, not failed: there is nothing to retry. ` +
        "To repeat a part of it, add --from NODE.",
    )
  })
  if (!flags.quiet) err.line(err.paint.dim(`run ${made}, which continues ${shortId(runId)}`))
  return made
}

// `superstep runs signal`: sends a named signal. A run that another process executes takes it there. A run that no process
// executes continues here if its definition is found; otherwise the signal is stored, and is delivered when the run resumes.

interface SignalFlags extends ResumeFlags {
  readonly id?: string | undefined
}

export function signalCommand(cli: Cli): Command {
  const command = new Command("signal")
    .description("send a signal that a run waits for, or will wait for")
    .argument("<run>", RUN_ID)
    .argument("<name>", "the name of the signal")
    .argument("[json]", "its value as JSON; null if absent")
    .option("--id <id>", "deliver the signal once, however often it is sent with this id")
    .action((run: string, name: string, json: string | undefined, flags: SignalFlags) =>
      withStore(cli, flags, (store) => signal(cli, store, { run, name, json }, flags)),
    )
  return complete(command, [resumeFlags, storeFlags, outputFlags], "superstep runs signal 4f2a91c0 shipped")
}

interface Arguments {
  readonly run: string
  readonly name: string
  readonly json: string | undefined
}

async function signal(cli: Cli, store: OpenStore, args: Arguments, flags: SignalFlags): Promise<void> {
  const { name, json } = args
  const run = await findRun(store, args.run)
  const value: Json = json === undefined ? null : readJson(json, "The value")
  const options = { id: flags.id }
  const isFree = run.status !== "queued" && (await liveHolder(store, run)) === undefined
  if (isFree && (flags.file !== undefined || (await canReopenWorkflow(cli, store, run)))) {
    return await resume(cli, store, run, flags, {
      first: async (claimed) => void (await claimed.signal(name, value, options)),
    })
  }
  const runtime = new Runtime({ store, workflows: [], recover: false })
  let delivery: Delivery
  try {
    delivery = await runtime.signal(run.runId, name, value, options)
  } finally {
    await runtime.close()
  }
  if (flags.json) return cli.out.line(jsonText({ runId: run.runId, signal: name, delivery }))
  if (flags.quiet) return
  const { err } = cli
  if (delivery === "taken") {
    return err.line(`Run ${shortId(run.runId)} has the signal "${sanitizeLine(name)}".`)
  }
  err.line("The signal is stored. It is delivered when the run resumes.")
  if (run.status === "queued") return
  err.line(
    `To resume it here:\n  superstep runs resume ${typedId(run.runId)} --file FILE${storeFlagOf(flags)}`,
  )
}
