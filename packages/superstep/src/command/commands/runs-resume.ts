/** `superstep runs resume`: goes on with a run that was stopped, in this process. */
import { Command } from "commander"
import { storeFlagOf } from "../attend.ts"
import type { Cli } from "../cli.ts"
import { outputFlags, storeFlags } from "../common-flags.ts"
import { findRun, shortId, typedId } from "../find-run.ts"
import { type GoOnFlags, goOn, goOnFlags } from "../go-on.ts"
import { usageError } from "../usage-error.ts"
import { useStore } from "../use-store.ts"

interface ResumeFlags extends GoOnFlags {
  readonly takeOver?: true | undefined
}

export function resumeCommand(cli: Cli): Command {
  const command = new Command("resume")
    .description("go on with a run that was stopped or that waits")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .option("--take-over", "from a process that still has it, and is stuck")
    .addHelpText("after", "\nFor example:\n  superstep runs resume 4f2a91c0")
    .action((id: string, flags: ResumeFlags) =>
      useStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        const { status, runId } = run
        if (status === "quarantined") throw isQuarantined(runId, storeFlagOf(flags))
        if (status !== "running" && status !== "waiting") throw isOver(runId, status, storeFlagOf(flags))
        await goOn(cli, store, run, flags, { takeOver: flags.takeOver })
      }),
    )
  for (const add of [goOnFlags, storeFlags, outputFlags]) add(command)
  return command
}

function isQuarantined(runId: string, storeFlag: string): Error {
  const text = `Run ${shortId(runId)} is quarantined: it was executing each time its process died. Find out why, then release it:`
  return usageError(`${text}\nsuperstep runs release ${typedId(runId)}${storeFlag}`)
}

function isOver(runId: string, status: string, storeFlag: string): Error {
  const id = typedId(runId)
  return usageError(`Run ${shortId(runId)} is over: ${status}. ${next(status, id, storeFlag)}`)
}

function next(status: string, id: string, storeFlag: string): string {
  if (status === "failed") return `From where it failed:\nsuperstep runs retry ${id}${storeFlag}`
  if (status === "limit") {
    return `With more of --budget, --max-steps or --timeout it goes on where it stopped:\nsuperstep runs retry ${id} --budget usd=…${storeFlag}`
  }
  return `Once more from a superstep:\nsuperstep runs fork ${id} --at N${storeFlag}`
}
