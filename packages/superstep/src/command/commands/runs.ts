/** `superstep runs`: what runs did, and what is to become of them. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { cancelCommand } from "./runs-cancel.ts"
import { eventsCommand } from "./runs-events.ts"
import { forkCommand } from "./runs-fork.ts"
import { listCommand } from "./runs-list.ts"
import { releaseCommand } from "./runs-release.ts"
import { replayCommand } from "./runs-replay.ts"
import { resumeCommand } from "./runs-resume.ts"
import { retryCommand } from "./runs-retry.ts"
import { rmCommand } from "./runs-rm.ts"
import { salvageCommand } from "./runs-salvage.ts"
import { showCommand } from "./runs-show.ts"
import { stateCommand } from "./runs-state.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Runs of the store: what they did, and how to go on with them.")
    .addHelpText("after", "\nFor example:\n  superstep runs\n  superstep runs show 4f2a91c0")
    .addCommand(listCommand(cli), { isDefault: true })
  for (const below of [showCommand, eventsCommand, stateCommand, resumeCommand, cancelCommand]) {
    made.addCommand(below(cli))
  }
  for (const below of [releaseCommand, retryCommand, forkCommand, replayCommand, rmCommand, salvageCommand]) {
    made.addCommand(below(cli))
  }
  return made
}
