/** `superstep runs`: lists, inspects, resumes and removes runs. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { helpText } from "../flags.ts"
import { diffCommand, replayCommand } from "./runs-compare.ts"
import { cancelCommand, releaseCommand, rmCommand } from "./runs-end.ts"
import { forkCommand } from "./runs-fork.ts"
import { listCommand } from "./runs-list.ts"
import { resumeCommand, retryCommand } from "./runs-resume.ts"
import { salvageCommand } from "./runs-salvage.ts"
import { eventsCommand, showCommand, stateCommand } from "./runs-show.ts"

function runsCommand(cli: Cli): Command {
  const command = new Command()
    .description("List, inspect, resume and remove the runs of a store.")
    .addHelpText("after", helpText(["superstep runs", "superstep runs show 4f2a91c0"]))
    .addCommand(listCommand(cli), { isDefault: true })
  const inspect = [showCommand, eventsCommand, stateCommand]
  const change = [resumeCommand, cancelCommand, releaseCommand, retryCommand, forkCommand]
  const others = [replayCommand, diffCommand, rmCommand, salvageCommand]
  for (const below of [...inspect, ...change, ...others]) command.addCommand(below(cli))
  return command
}

export const commands = { runs: runsCommand }
