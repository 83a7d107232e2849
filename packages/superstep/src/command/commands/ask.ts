/** `superstep ask CONFIG GOAL`: a goal, answered by the pipeline of a configuration. */
import type { Runtime } from "@superstep/engine"
import { Command } from "commander"
import { isInteractive } from "../answerers.ts"
import { attend } from "../attend.ts"
import { chooseModels } from "../choose-models.ts"
import type { Cli } from "../cli.ts"
import type { DefinitionFlags } from "../common-flags.ts"
import {
  modelFlag,
  type OutputFlags,
  outputFlags,
  type RunFlags,
  runFlags,
  type StoreFlags,
  storeFlags,
  variableFlags,
} from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { openGoal } from "../open-goal.ts"
import { openStore, storeNotices } from "../open-store.ts"
import { readInput } from "../read-prompt.ts"
import { usageError } from "../usage-error.ts"
import { startOptions } from "./run.ts"

type Flags = OutputFlags &
  StoreFlags &
  RunFlags &
  Pick<DefinitionFlags, "model" | "set" | "setSecret" | "untrusted">

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Answers a question over your own data: triage, search, assistants, review.")
    .argument("<config>", "which agents and which data: YAML or JSON")
    .argument("[goal]", "what you want to know; - reads it from stdin")
    .action((config: string, goal: string | undefined, flags: Flags) => ask(config, goal, flags, cli))
    .addHelpText("after", '\nFor example:\n  superstep ask shop.yaml "How many lamps are in stock?"')
  for (const add of [variableFlags, modelFlag, runFlags, storeFlags, outputFlags]) add(made)
  return made
}

async function ask(config: string, goal: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  // Before anything is read, or paid for.
  if (goal === undefined ? !isInteractive(cli) : goal.trim() === "") throw goalMissing()
  const chosen = await chooseModels(flags, cli)
  const opened = await openGoal(config, cli, flags, chosen)
  try {
    const input = await readInput(goal, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    if (String(input).trim() === "") throw goalMissing()
    const store = await openStore(flags.store, cli.io.cwd, storeNotices(cli))
    try {
      const begin = (runtime: Runtime) => ({
        run: runtime.stream(opened.workflow, input as never, startOptions(flags, opened)),
      })
      cli.exit(await attend(cli, { opened, store, flags, begin }))
    } finally {
      await store.close()
    }
  } finally {
    await opened.close()
  }
}

function goalMissing(): Error {
  return usageError('Say what you want to know: superstep ask CONFIG "…", or - to read it from stdin.')
}
