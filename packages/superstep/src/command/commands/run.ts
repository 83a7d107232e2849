/** `superstep run FILE [PROMPT | -]`. */
import type { Runtime } from "@superstep/engine"
import { Command } from "commander"
import { isInteractive } from "../answerers.ts"
import { attend } from "../attend.ts"
import { checkThread } from "../check-thread.ts"
import type { Cli } from "../cli.ts"
import {
  type DefinitionFlags,
  definitionFlags,
  limitsOf,
  modelFlag,
  type OutputFlags,
  outputFlags,
  type RunFlags,
  runFlags,
  type StoreFlags,
  storeFlags,
} from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import type { OpenedWorkflow } from "../open-workflow.ts"
import { readInput } from "../read-prompt.ts"
import { withWorkflow } from "../with-workflow.ts"

export type AllRunFlags = OutputFlags & StoreFlags & DefinitionFlags & RunFlags

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Runs a workflow from YAML, JSON or a TypeScript module, or talks to an agent.")
    .argument("<file>", "a definition, a module, or the id of a definition in the store")
    .argument("[prompt]", "what it is to do; - reads it from stdin")
    .action((file: string, prompt: string | undefined, flags: AllRunFlags) => run(file, prompt, flags, cli))
    .addHelpText(
      "after",
      '\nFor example:\n  superstep run story.yaml "a story about the sea"\n  git diff | superstep run review.yaml - --budget usd=0.5',
    )
  for (const add of [definitionFlags, modelFlag, runFlags, storeFlags, outputFlags]) add(made)
  return made
}

async function run(file: string, prompt: string | undefined, flags: AllRunFlags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags }, async (opened, store) => {
    if (flags.thread !== undefined) checkThread(opened)
    const isTalk =
      opened.definition?.dialect === "agents" && prompt === undefined && flags.runId === undefined
    if (isTalk && isInteractive(cli)) {
      const { converse } = await import("../converse.ts")
      return cli.exit(await converse(cli, opened, await store(), flags))
    }
    const input = await readInput(prompt, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    const begin = (runtime: Runtime) => ({
      run: runtime.stream(opened.workflow, input as never, startOptions(flags, opened)),
    })
    cli.exit(await attend(cli, { opened, store: await store(), flags, begin }))
  })
}

export function startOptions(flags: RunFlags, { definition, labels }: OpenedWorkflow) {
  const { runId, thread } = flags
  return {
    ...limitsOf(flags, definition?.dialect),
    ...(runId !== undefined && { runId }),
    ...(thread !== undefined && { thread }),
    labels,
  }
}
