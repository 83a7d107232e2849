/**
 * `superstep runs signal`: sends a named signal. A run that another process executes takes it there. A run that no process
 * executes continues here if its definition is found; otherwise the signal is stored, and is delivered when the run resumes.
 */
import { type Delivery, type Json, Runtime } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { complete, outputFlags, storeFlags } from "../flags.ts"
import { type OpenStore, storeFlagOf, withStore } from "../open/store.ts"
import { canReopenWorkflow } from "../open/workflow.ts"
import { liveHolder } from "../print/run-report.ts"
import { findRun, shortId, typedId } from "../run/find-run.ts"
import { readJson } from "../run/read-input.ts"
import { type ResumeFlags, resume, resumeFlags } from "../run/run-workflow.ts"
import { jsonText, sanitizeLine } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

interface SignalFlags extends ResumeFlags {
  readonly id?: string | undefined
}

export function signalCommand(cli: Cli): Command {
  const command = new Command("signal")
    .description("send a signal that a run waits for, or will wait for")
    .argument("<run>", RUN_ID)
    .argument("<name>", "the name of the signal")
    .argument("[json]", "its value as JSON; null if absent")
    .option("--id <id>", "the run takes a signal with the same id once")
    .action((run: string, name: string, json: string | undefined, flags: SignalFlags) =>
      withStore(cli, flags, (store) => signal(cli, store, { run, name, json }, flags)),
    )
  return complete(
    command,
    [resumeFlags, storeFlags, outputFlags],
    [
      "superstep runs signal 4f2a91c0 shipped",
      `superstep runs signal 4f2a91c0 paid '{"usd":40}' --id invoice-17`,
    ],
  )
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
