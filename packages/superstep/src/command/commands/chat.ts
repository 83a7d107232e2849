/** `superstep chat FILE`. */
import { Command } from "commander"
import { checkThread } from "../check-thread.ts"
import type { Cli } from "../cli.ts"
import { definitionFlags, modelFlag, outputFlags, storeFlags, turnFlags } from "../common-flags.ts"
import { converse } from "../converse.ts"
import { withWorkflow } from "../with-workflow.ts"
import type { AllRunFlags } from "./run.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("A conversation with an agent, or with a graph, that goes on from run to run.")
    .argument("<file>", "a definition, a module, or the id of a definition in the store")
    .action((file: string, flags: AllRunFlags) => chat(file, flags, cli))
    .addHelpText("after", "\nFor example:\n  superstep chat helper.yaml --thread ada")
  for (const add of [definitionFlags, modelFlag, turnFlags, storeFlags, outputFlags]) add(made)
  return made
}

async function chat(file: string, flags: AllRunFlags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags }, async (opened, store) => {
    checkThread(opened)
    cli.exit(await converse(cli, opened, await store(), flags))
  })
}
