/** `superstep exec FILE [PROMPT | -]`: for scripts. What agents say is on stdout as it comes; nobody is asked anything. */
import type { RunResult, Runtime } from "@superstep/engine"
import { Command } from "commander"
import { allowingTools, nobody, refusingTools } from "../answerers.ts"
import { storeFlagOf } from "../attend.ts"
import { checkThread } from "../check-thread.ts"
import type { Cli } from "../cli.ts"
import { definitionFlags, modelFlag, outputFlags, runFlags, storeFlags } from "../common-flags.ts"
import { jsonText } from "../json-line.ts"
import { type OpenStore, storeAddress } from "../open-store.ts"
import type { OpenedWorkflow } from "../open-workflow.ts"
import { printEnded, printOutputs } from "../print-ended.ts"
import { jsonEvents } from "../progress/json-events.ts"
import { spokenText } from "../progress/spoken-text.ts"
import { givenInput } from "../read-prompt.ts"
import { type Begin, runWorkflow } from "../run-workflow.ts"
import { foreign } from "../terminal.ts"
import { withWorkflow } from "../with-workflow.ts"
import { type AllRunFlags, startOptions } from "./run.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Runs a workflow in a script: the agents' text on stdout, the steps' outputs on stderr.")
    .argument("<file>", "a definition, a module, or the id of a definition in the store")
    .argument("[prompt]", "what it is to do; - reads it from stdin")
    .action((file: string, prompt: string | undefined, flags: AllRunFlags) => exec(file, prompt, flags, cli))
    .addHelpText(
      "after",
      "\nNobody is asked: tools that need consent are refused, unless --yolo or the\npermissions of the file allow them; a run with a question waits (exit code 3).\n" +
        '\nFor example:\n  echo "Translate this" | superstep exec publish.yaml - > text.md',
    )
  for (const add of [definitionFlags, modelFlag, runFlags, storeFlags, outputFlags]) add(made)
  return made
}

async function exec(file: string, prompt: string | undefined, flags: AllRunFlags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags, isScript: true }, async (opened, store) => {
    if (flags.thread !== undefined) checkThread(opened)
    const input = await givenInput(prompt, opened, cli)
    const begin = (runtime: Runtime) => ({
      run: runtime.stream(opened.workflow, input as never, startOptions(flags, opened)),
    })
    await execute(cli, opened, await store(), flags, begin)
  })
}

async function execute(
  cli: Cli,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: AllRunFlags,
  begin: Begin,
): Promise<void> {
  const { out } = cli
  const spoken = spokenText((text) => out.write(out.isTerminal ? foreign(text) : text))
  const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
  const ended = await runWorkflow(cli, {
    opened,
    store,
    isKept,
    begin,
    watcher: flags.json ? jsonEvents(out) : spoken,
    answerer: flags.yolo ? allowingTools(nobody) : refusingTools(cli, nobody),
  })
  const { result } = ended
  // Models that do not stream, and workflows without agents.
  if (!flags.json && result?.status === "completed" && !spoken.hasSpoken) printOutputs(cli, result)
  if (result !== undefined && !flags.quiet) await printContext(cli, result)
  printEnded(cli, ended, { json: flags.json, isKept, storeFlag: storeFlagOf(flags), isShown: true })
  cli.exit(ended.code)
}

/** For those who look into what happened, whatever came of it. */
async function printContext({ err }: Cli, { state, outputs }: RunResult): Promise<void> {
  const { stepContext } = await import("@superstep/engine/definitions")
  err.line("--- Step Context ---")
  err.line(jsonText(Array.isArray(state.steps) ? stepContext(state) : { outputs }, 2))
}
