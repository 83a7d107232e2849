/** `superstep run`, `exec` and `chat`: execute a workflow for a person, for a script, or as a conversation. */
import type { RunResult } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  definitionFlags,
  modelFlag,
  type OutputFlags,
  outputFlags,
  type RunFlags,
  runFlags,
  type StoreFlags,
  storeFlags,
  turnFlags,
} from "../flags.ts"
import { checkThread } from "../open/opened-workflow.ts"
import { withWorkflow } from "../open/workflow.ts"
import { spokenText } from "../print/progress/spoken-text.ts"
import { jsonEvents } from "../print/progress/watcher.ts"
import { refusingTools } from "../run/answerers.ts"
import { inputOf, readInput } from "../run/read-input.ts"
import { runWorkflow, starting, startOptions } from "../run/run-workflow.ts"
import { jsonText, sanitize } from "../terminal/terminal.ts"

type Flags = OutputFlags & StoreFlags & DefinitionFlags & RunFlags

const FILE = "a definition, a module, or the id of a definition in the store"
const PROMPT = "the prompt; - reads it from stdin"

function runCommand(cli: Cli): Command {
  const command = new Command()
    .description("Run a workflow from YAML, JSON or a TypeScript module, or talk to an agent.")
    .argument("<file>", FILE)
    .argument("[prompt]", PROMPT)
    .action((file: string, prompt: string | undefined, flags: Flags) => run(file, prompt, flags, cli))
  return complete(
    command,
    [definitionFlags, modelFlag, runFlags, storeFlags, outputFlags],
    [
      'superstep run story.yaml "a story about the sea"',
      "git diff | superstep run review.yaml - --budget usd=0.5",
    ],
  )
}

async function run(file: string, prompt: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags }, async (opened, store) => {
    if (flags.thread !== undefined) checkThread(opened)
    const isChat =
      opened.definition?.dialect === "agents" && prompt === undefined && flags.runId === undefined
    if (isChat && isInteractive(cli)) {
      const { converse } = await import("../run/converse.ts")
      return cli.exit(await converse(cli, opened, await store(), flags))
    }
    const input = await readInput(prompt, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    const begin = starting(opened, input, startOptions(flags, opened))
    cli.exit((await runWorkflow(cli, { opened, store: await store(), flags, begin })).code)
  })
}

function execCommand(cli: Cli): Command {
  const command = new Command()
    .description("Run a workflow in a script: agents' text on stdout, outputs of steps on stderr.")
    .argument("<file>", FILE)
    .argument("[prompt]", PROMPT)
    .action((file: string, prompt: string | undefined, flags: Flags) => exec(file, prompt, flags, cli))
  return complete(
    command,
    [definitionFlags, modelFlag, runFlags, storeFlags, outputFlags],
    'echo "Translate this" | superstep exec publish.yaml - > text.md',
    "No questions are asked. Tools that need approval are refused, unless --yolo or the file's permissions allow them. A run with an open question waits (exit code 3).",
  )
}

async function exec(file: string, prompt: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { out } = cli
  await withWorkflow(file, cli, { flags, isScript: true }, async (opened, store) => {
    if (flags.thread !== undefined) checkThread(opened)
    const input = await inputOf(prompt, opened, cli)
    const spoken = spokenText((text) => out.write(out.isTerminal ? sanitize(text) : text))
    const { code } = await runWorkflow(cli, {
      opened,
      store: await store(),
      flags,
      begin: starting(opened, input, startOptions(flags, opened)),
      watcher: flags.json ? jsonEvents(out) : spoken,
      answerer: refusingTools(cli),
      async onResult(result) {
        if (!flags.quiet) await printContext(cli, result)
        // Models that do not stream, and workflows without agents, have printed nothing.
        return spoken.hasSpoken
      },
    })
    cli.exit(code)
  })
}

/** Prints the outputs of all steps, also those of a failed run. */
async function printContext({ err }: Cli, { state, outputs }: RunResult): Promise<void> {
  const { stepContext } = await import("@superstep/engine/definitions")
  err.line("--- Step Context ---")
  err.line(jsonText(Array.isArray(state.steps) ? stepContext(state) : { outputs }, 2))
}

function chatCommand(cli: Cli): Command {
  const command = new Command()
    .description("Talk to an agent or to a graph. The conversation continues from run to run.")
    .argument("<file>", FILE)
    .action((file: string, flags: Flags) =>
      withWorkflow(file, cli, { flags }, async (opened, store) => {
        checkThread(opened)
        const { converse } = await import("../run/converse.ts")
        cli.exit(await converse(cli, opened, await store(), flags))
      }),
    )
  return complete(
    command,
    [definitionFlags, modelFlag, turnFlags, storeFlags, outputFlags],
    "superstep chat helper.yaml --thread ada",
  )
}

export const commands = { run: runCommand, exec: execCommand, chat: chatCommand }
