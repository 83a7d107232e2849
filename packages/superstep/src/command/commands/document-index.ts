/** `superstep index`: documents that agents and research look things up in. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { addCommand } from "./index-add.ts"
import { listCommand } from "./index-list.ts"
import { rmCommand } from "./index-rm.ts"
import { searchCommand } from "./index-search.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Documents that are found by words and by meaning, in one file.")
    .addHelpText(
      "after",
      '\nFor example:\n  superstep index add docs\n  superstep index search "how to install"',
    )
  for (const below of [addCommand, searchCommand, listCommand, rmCommand]) made.addCommand(below(cli))
  return made
}
