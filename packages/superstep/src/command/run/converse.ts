/** A conversation on a thread, with one run per message. */
import type { Json, RunResult, Usage } from "@superstep/engine"
import { addUsage } from "@superstep/engine/core"
import { type Cli, EXIT, type ExitCode } from "../cli.ts"
import type { ModelChoices } from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { type OpenStore, storeAddress } from "../open/store.ts"
import { printError } from "../print/errors.ts"
import { duration, spent } from "../print/figures.ts"
import { markdownWriter } from "../print/markdown.ts"
import { spokenText } from "../print/progress/spoken-text.ts"
import { jsonEvents, silent } from "../print/progress/watcher.ts"
import { messageSource } from "../terminal/line-editor.ts"
import { sanitize } from "../terminal/terminal.ts"
import { type Attachment, messageInput } from "./attachments.ts"
import { CHAT_COMMANDS, type Chat, type ChatFlags } from "./chat-commands.ts"
import { type ChatSettings, chatSettings, expanded, slashCommand } from "./chat-settings.ts"
import { runWorkflow, starting, startOptions } from "./run-workflow.ts"
import { messagesOf } from "./sessions.ts"

export interface ConverseOptions {
  /** The first message. */
  readonly first?: string | undefined
  /** Files for the first message. */
  readonly attachments?: readonly Attachment[] | undefined
  /**
   * False if the agents do not talk to the person: the progress and the output of each run are shown instead. Default
   * true.
   */
  readonly isSpoken?: boolean | undefined
  /** Called with the result of each message, before it is printed. */
  readonly onResult?: ((result: RunResult) => void) | undefined
  /** Opens the same workflow with other models. */
  readonly reopen?: ((model: ModelChoices) => Promise<OpenedWorkflow>) | undefined
}

export async function converse(
  cli: Cli,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: ChatFlags,
  options: ConverseOptions = {},
): Promise<ExitCode> {
  const chat = new Conversation(cli, opened, store, flags, options)
  try {
    return await chat.untilItEnds()
  } finally {
    await chat.close()
  }
}

class Conversation implements Chat {
  readonly cli: Cli
  readonly store: OpenStore
  readonly settings: ChatSettings
  readonly attachments: Attachment[]
  opened: OpenedWorkflow
  flags: ChatFlags
  thread: string
  before: readonly Json[] = []
  usage: Usage = {}
  turns = 0
  readonly #options: ConverseOptions
  readonly #reopened: OpenedWorkflow[] = []
  #isOver = false

  constructor(
    cli: Cli,
    opened: OpenedWorkflow,
    store: OpenStore,
    flags: ChatFlags,
    options: ConverseOptions,
  ) {
    this.cli = cli
    this.opened = opened
    this.store = store
    this.flags = flags
    this.#options = options
    this.attachments = [...(options.attachments ?? [])]
    this.thread = flags.thread ?? newThread()
    this.settings = chatSettings(opened.definition, flags.agent)
  }

  async untilItEnds(): Promise<ExitCode> {
    const { err, io } = this.cli
    const { quiet, store } = this.flags
    let { first } = this.#options
    if (!quiet) {
      err.line(err.paint.dim(`thread ${this.thread} · /help for help, /exit to leave`))
      if (this.settings.welcome !== undefined) err.line(sanitize(this.settings.welcome))
    }
    const history = this.flags.thread === undefined ? [] : await messagesOf(this.store, this.thread)
    const messages = messageSource(io, err.paint.bold("> "), history)
    try {
      while (!this.#isOver) {
        const line = first ?? (await messages.next())
        first = undefined
        if (line === undefined) break
        // The run holds its thread until it is answered.
        if ((await this.#typed(line)) === EXIT.waiting) return EXIT.waiting
      }
    } finally {
      messages.close()
    }
    const isKept = storeAddress(store, io.cwd).kind !== "memory"
    if (isKept && !quiet && err.isTerminal)
      err.line(err.paint.dim(`Continue this conversation with --thread ${this.thread}`))
    return EXIT.completed
  }

  leave(): void {
    this.#isOver = true
  }

  moveTo(thread = newThread()): void {
    this.thread = thread
    this.before = []
  }

  async useModel(model: ModelChoices): Promise<void> {
    const { reopen } = this.#options
    if (reopen === undefined) throw new Error("The models of this conversation cannot be changed.")
    this.opened = await reopen(model)
    this.#reopened.push(this.opened)
    this.flags = { ...this.flags, model }
  }

  async #typed(line: string): Promise<ExitCode> {
    const { err } = this.cli
    const typed = slashCommand(line)
    if (line.trim() === "") return EXIT.completed
    if (typed !== undefined && !this.settings.commands.has(typed.name)) {
      const name = typed.name === "quit" ? "exit" : typed.name
      const command = Object.hasOwn(CHAT_COMMANDS, name) ? CHAT_COMMANDS[name] : undefined
      if (command === undefined) err.line(`Unknown command /${sanitize(name)}. Type /help for help.`)
      try {
        await command?.run(this, typed.rest)
      } catch (error) {
        await printError(error, this.cli)
      }
      return EXIT.completed
    }
    const input = messageInput(expanded(line.trim(), this.settings), this.attachments, this.before)
    const { code, result } = await this.#turn(input)
    if (result?.status === "completed") {
      this.attachments.length = 0
      this.before = []
    }
    return code
  }

  async ask(text: string, { isShown }: { readonly isShown: boolean }): Promise<string | undefined> {
    const { result } = await this.#turn(text, isShown)
    const answer = result?.outputs.at(-1)
    return typeof answer === "string" && result?.status === "completed" ? answer : undefined
  }

  async #turn(input: Json, isShown = true) {
    const { cli, opened, store, flags } = this
    const { isSpoken = true, onResult } = this.#options
    const { out, err } = cli
    const writer = markdownWriter(out)
    const spoken = spokenText(writer.write, writer.flush)
    const started = Date.now()
    const own = { ...flags, thread: this.thread }
    const ended = await runWorkflow(cli, {
      opened,
      store,
      flags,
      // Ctrl-C ends the answer, not the conversation: a released run would hold its thread.
      cancelAtInterrupt: true,
      begin: starting(opened, input, startOptions(own, opened)),
      ...(isSpoken && { watcher: flags.json ? jsonEvents(out) : isShown ? spoken : silent }),
      onResult(result) {
        onResult?.(result)
        return (isSpoken && spoken.hasSpoken) || (!isShown && result.status === "completed")
      },
    }).catch(async (error: unknown) => {
      // For example an input that the model does not take: the conversation continues.
      await printError(error, cli)
      return { result: undefined, code: EXIT.failed }
    })
    const { result } = ended
    if (result !== undefined) {
      this.usage = addUsage(this.usage, result.usage)
      this.turns++
      if (!flags.quiet && err.isTerminal)
        err.line(err.paint.dim([...spent(result.usage), duration(Date.now() - started)].join(" · ")))
    }
    return ended
  }

  async close(): Promise<void> {
    for (const { close } of this.#reopened) await close()
  }
}

function newThread(): string {
  return `chat-${crypto.randomUUID().slice(0, 8)}`
}
