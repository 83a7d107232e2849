/** `superstep run`, `exec` and `chat`: execute a workflow for a person, for a script, or as a conversation. */
import type { Json, RunResult } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT, type ExitCode, isInteractive } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  definitionFlags,
  type ModelChoices,
  messageFlags,
  modelFlag,
  type OutputFlags,
  outputFlags,
  type RunFlags,
  runFlags,
  type StoreFlags,
  storeFlags,
  turnFlags,
} from "../flags.ts"
import { checkThread, type OpenedWorkflow } from "../open/opened-workflow.ts"
import type { OpenStore } from "../open/store.ts"
import { openWorkflow, withWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { markdownWriter } from "../print/markdown.ts"
import { spokenText } from "../print/progress/spoken-text.ts"
import { jsonEvents } from "../print/progress/watcher.ts"
import { refusingTools } from "../run/answerers.ts"
import { type Attachment, checkTakesFiles, messageInput, readAttachment } from "../run/attachments.ts"
import { chatSettings, expanded } from "../run/chat-settings.ts"
import { inputOf, readInput } from "../run/read-input.ts"
import { runWorkflow, type StartRun, starting, startOptions } from "../run/run-workflow.ts"
import { jsonText } from "../terminal/terminal.ts"

type Flags = OutputFlags & StoreFlags & DefinitionFlags & RunFlags

const FILE = "a definition, a module, or the id of a definition in the store"
const PROMPT =
  "the prompt; - reads it from stdin; /NAME is a command of the agent. Several are messages of one conversation"

function runCommand(cli: Cli): Command {
  const command = new Command()
    .description("Run a workflow from YAML, JSON or a TypeScript module, or talk to an agent.")
    .argument("<file>", FILE)
    .argument("[prompt...]", PROMPT)
    .action((file: string, prompts: readonly string[], flags: Flags) => run(file, prompts, flags, cli))
  return complete(
    command,
    [definitionFlags, modelFlag, messageFlags, runFlags, storeFlags, outputFlags],
    'superstep run story.yaml "a story about the sea"',
  )
}

async function run(file: string, prompts: readonly string[], typed: Flags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags: typed }, async (opened, store) => {
    const flags = await inSession(opened, store, typed)
    const attachments = await attachmentsOf(opened, flags, cli)
    const isChat =
      opened.definition?.dialect === "agents" && prompts.length === 0 && flags.runId === undefined
    if (isChat && isInteractive(cli)) return await chat(file, opened, await store(), flags, cli)
    const [first, ...others] = prompts
    const input = await readInput(first, opened, cli)
    if (input === undefined) return cli.exit(EXIT.cancelled)
    const inputs = [input, ...(await Promise.all(others.map((one) => inputOf(one, opened, cli))))]
    cli.exit(
      await runAll(inputs, attachments, flags, opened, async (begin) => {
        return (await runWorkflow(cli, { opened, store: await store(), flags, begin })).code
      }),
    )
  })
}

/** Several messages are runs of one conversation, in order. The first that does not complete is the last. */
async function runAll(
  inputs: readonly Json[],
  attachments: readonly Attachment[],
  flags: Flags,
  opened: OpenedWorkflow,
  runOne: (begin: StartRun) => Promise<ExitCode>,
): Promise<ExitCode> {
  const isMany = inputs.length > 1
  if (isMany) checkSeveral(opened, flags)
  const thread = flags.thread ?? (isMany ? `chat-${crypto.randomUUID().slice(0, 8)}` : undefined)
  const settings = chatSettings(opened.definition, flags.agent)
  const isAgent = opened.definition?.dialect === "agents"
  let code: ExitCode = EXIT.completed
  for (const [i, input] of inputs.entries()) {
    const text = isAgent && typeof input === "string" ? expanded(input, settings) : input
    const files = i === 0 ? attachments : []
    const message = files.length > 0 ? messageInput(String(text), files) : text
    code = await runOne(starting(opened, message, startOptions({ ...flags, thread }, opened)))
    if (code !== EXIT.completed) break
  }
  return code
}

function checkSeveral(opened: OpenedWorkflow, flags: Flags): void {
  if (flags.runId !== undefined)
    throw usageError("--run-id is for one run, and every message is a run. Use --thread.")
  checkThread(opened)
}

/** The flags with the thread of `--session`. */
async function inSession(
  opened: OpenedWorkflow,
  store: () => Promise<OpenStore>,
  flags: Flags,
): Promise<Flags> {
  const { session, thread } = flags
  if (session !== undefined && thread !== undefined)
    throw usageError("Write either --session or --thread, not both.")
  if ((session ?? thread) !== undefined) checkThread(opened)
  if (session === undefined) return flags
  const { sessionThread } = await import("../run/sessions.ts")
  return { ...flags, thread: await sessionThread(await store(), opened.workflow.name, session) }
}

async function attachmentsOf(
  opened: OpenedWorkflow,
  { attach = [] }: Flags,
  { io }: Cli,
): Promise<readonly Attachment[]> {
  if (attach.length > 0) checkTakesFiles(opened)
  return await Promise.all(attach.map((path) => readAttachment(path, io.cwd)))
}

function execCommand(cli: Cli): Command {
  const command = new Command()
    .description("Run a workflow in a script: agents' text on stdout, outputs of steps on stderr.")
    .argument("<file>", FILE)
    .argument("[prompt...]", PROMPT)
    .action((file: string, prompts: readonly string[], flags: Flags) => exec(file, prompts, flags, cli))
  return complete(
    command,
    [definitionFlags, modelFlag, messageFlags, runFlags, storeFlags, outputFlags],
    'echo "Translate this" | superstep exec publish.yaml - > text.md',
    "No questions are asked. Tools that need approval are refused, unless --yolo or the file's permissions allow them. A run with an open question waits (exit code 3).",
  )
}

async function exec(file: string, prompts: readonly string[], typed: Flags, cli: Cli): Promise<void> {
  const { out } = cli
  await withWorkflow(file, cli, { flags: typed, isScript: true }, async (opened, store) => {
    const flags = await inSession(opened, store, typed)
    const attachments = await attachmentsOf(opened, flags, cli)
    const [first, ...others] = prompts
    const inputs = [await inputOf(first, opened, cli)]
    for (const one of others) inputs.push(await inputOf(one, opened, cli))
    const code = await runAll(inputs, attachments, flags, opened, async (begin) => {
      const writer = markdownWriter(out)
      const spoken = spokenText(writer.write, writer.flush)
      const ended = await runWorkflow(cli, {
        opened,
        store: await store(),
        flags,
        begin,
        watcher: flags.json ? jsonEvents(out) : spoken,
        answerer: refusingTools(cli),
        async onResult(result) {
          if (!flags.quiet) await printContext(cli, result)
          // Models that do not stream, and workflows without agents, have printed nothing.
          return spoken.hasSpoken
        },
      })
      return ended.code
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
    .description("Talk to an agent or to a graph, on a thread that continues from run to run.")
    .argument("<file>", FILE)
    .action((file: string, typed: Flags) =>
      withWorkflow(file, cli, { flags: typed }, async (opened, store) => {
        checkThread(opened)
        await chat(file, opened, await store(), await inSession(opened, store, typed), cli)
      }),
    )
  return complete(
    command,
    [definitionFlags, modelFlag, messageFlags, turnFlags, storeFlags, outputFlags],
    "superstep chat helper.yaml --session -1",
  )
}

async function chat(
  file: string,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: Flags,
  cli: Cli,
): Promise<void> {
  const { converse } = await import("../run/converse.ts")
  const attachments = await attachmentsOf(opened, flags, cli)
  const reopen = (model: ModelChoices) =>
    openWorkflow(file, cli, { flags: { ...flags, model, quiet: true }, store: async () => store })
  cli.exit(await converse(cli, opened, store, flags, { attachments, reopen }))
}

export const commands = { run: runCommand, exec: execCommand, chat: chatCommand }
