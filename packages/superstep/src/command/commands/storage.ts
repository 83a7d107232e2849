/** `superstep storage`: how much is stored, and what may go. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { pruneCommand } from "./storage-prune.ts"
import { reportCommand } from "./storage-report.ts"

export function command(cli: Cli): Command {
  return new Command()
    .description("How much is stored, and letting old runs go.")
    .addHelpText(
      "after",
      "\nFor example:\n  superstep storage report\n  superstep storage prune --older 30d --dry-run",
    )
    .addCommand(reportCommand(cli), { isDefault: true })
    .addCommand(pruneCommand(cli))
}
