/** A conversation on a thread, with one run per message. */

import { createInterface } from "node:readline"
import type { Json, RunResult } from "@superstep/engine"
import type { Definition } from "@superstep/engine/definitions"
import { type Cli, EXIT, type ExitCode, type Io } from "../cli.ts"
import type { OutputFlags, RunFlags, StoreFlags } from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { type OpenStore, storeAddress } from "../open/store.ts"
import { duration, spent } from "../print/figures.ts"
import { spokenText } from "../print/progress/spoken-text.ts"
import { jsonEvents } from "../print/progress/watcher.ts"
import { padded, sanitize, type Terminal } from "../terminal/terminal.ts"
import { isRecord } from "./read-input.ts"
import { runWorkflow, starting, startOptions } from "./run-workflow.ts"

export type ChatFlags = OutputFlags & StoreFlags & Omit<RunFlags, "strict">

export interface ConverseOptions {
  /** The first message. */
  readonly first?: string | undefined
  /**
   * False if the agents do not talk to the person: the progress and the output of each run are shown instead. Default
   * true.
   */
  readonly isSpoken?: boolean | undefined
  /** Called with the result of each message, before it is printed. */
  readonly onResult?: ((result: RunResult) => void) | undefined
}

export async function converse(
  cli: Cli,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: ChatFlags,
  options: ConverseOptions = {},
): Promise<ExitCode> {
  const { err } = cli
  let { first } = options
  const thread = flags.thread ?? `chat-${crypto.randomUUID().slice(0, 8)}`
  const settings = chatSettings(opened.definition)
  if (!flags.quiet) {
    err.line(err.paint.dim(`thread ${thread} · /help for help, /exit to leave`))
    if (settings.welcome !== undefined) err.line(sanitize(settings.welcome))
  }
  const messages = messageSource(cli.io, err.paint.bold("> "))
  try {
    for (;;) {
      const line = first ?? (await messages.next())
      first = undefined
      if (line === undefined) break
      const typed = readTyped(line, settings)
      if (typed.kind === "exit") break
      if (typed.kind === "help") printHelp(err, settings)
      if (typed.kind === "unknown") err.line(`Unknown command /${sanitize(typed.name)}. Type /help for help.`)
      if (typed.kind !== "message") continue
      const code = await turn(cli, opened, store, { ...flags, thread }, typed.text, options)
      // The run holds its thread until it is answered.
      if (code === EXIT.waiting) return EXIT.waiting
    }
  } finally {
    messages.close()
  }
  const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
  if (isKept && !flags.quiet && err.isTerminal)
    err.line(err.paint.dim(`Continue this conversation with --thread ${thread}`))
  return EXIT.completed
}

async function turn(
  cli: Cli,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: ChatFlags,
  message: string,
  { isSpoken = true, onResult }: ConverseOptions,
): Promise<ExitCode> {
  const { out, err } = cli
  const spoken = spokenText((text) => out.write(out.isTerminal ? sanitize(text) : text))
  const started = Date.now()
  const { result, code } = await runWorkflow(cli, {
    opened,
    store,
    flags,
    // Ctrl-C ends the answer, not the conversation: a released run would hold its thread.
    cancelAtInterrupt: true,
    begin: starting(opened, message, startOptions(flags, opened)),
    ...(isSpoken && { watcher: flags.json ? jsonEvents(out) : spoken }),
    onResult(result) {
      onResult?.(result)
      return isSpoken && spoken.hasSpoken
    },
  })
  if (result !== undefined && !flags.quiet && err.isTerminal)
    err.line(err.paint.dim([...spent(result.usage), duration(Date.now() - started)].join(" · ")))
  return code
}

function printHelp(err: Terminal, { commands }: ChatSettings): void {
  const rows: [string, string][] = [
    ["/help", "show this help"],
    ["/exit", "end the conversation; it is kept under its thread"],
    ["\\", "at the end of a line: continue the message on the next line"],
    ...[...commands].map(([name, { description, instruction }]): [string, string] => [
      `/${name}`,
      description ?? instruction,
    ]),
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, what] of rows)
    err.line(`  ${padded(sanitize(name), width)}  ${sanitize(what).split("\n")[0]}`)
}

/** The chat settings in an agent's file: a welcome message, and prompts by name (`/name`). */
interface ChatSettings {
  readonly welcome?: string | undefined
  readonly commands: ReadonlyMap<string, ChatCommand>
}

interface ChatCommand {
  readonly description?: string | undefined
  readonly instruction: string
}

function chatSettings(definition: Definition | undefined): ChatSettings {
  const agents = fieldsOf(fieldsOf(definition?.data).agents)
  // The agent of the conversation: see `agents` in the definition's dialects.
  const main = fieldsOf(agents.root ?? Object.values(agents)[0])
  const welcome = main.welcome_message
  return {
    welcome: typeof welcome === "string" ? welcome : undefined,
    commands: new Map(commandsOf(main.commands)),
  }
}

/** Accepts `{ name: text }`, `{ name: { description, instruction } }`, or a list of either. */
function commandsOf(value: Json | undefined): [string, ChatCommand][] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(commandsOf)
  return Object.entries(fieldsOf(value)).map(([name, command]): [string, ChatCommand] => {
    if (typeof command === "string") return [name, { instruction: command }]
    const { description: text, instruction } = fieldsOf(command)
    const description = typeof text === "string" ? text : undefined
    return [
      name,
      { description, instruction: typeof instruction === "string" ? instruction : (description ?? name) },
    ]
  })
}

function fieldsOf(value: Json | undefined): { readonly [name: string]: Json } {
  return isRecord(value) ? value : {}
}

type Typed =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "help" | "exit" | "nothing" }
  | { readonly kind: "unknown"; readonly name: string }

function readTyped(line: string, { commands }: ChatSettings): Typed {
  const text = line.trim()
  if (text === "") return { kind: "nothing" }
  const [, name, rest = ""] = /^\/([^\s/]+)\s*(.*)$/s.exec(text) ?? []
  if (name === undefined) return { kind: "message", text: text.replace(/^\/\//, "/") }
  const command = commands.get(name)
  if (command !== undefined) return { kind: "message", text: [command.instruction, rest].join(" ").trim() }
  if (name === "help") return { kind: "help" }
  return name === "exit" || name === "quit" ? { kind: "exit" } : { kind: "unknown", name }
}

// Reads the messages of a chat: from a line editor at a terminal, or from the lines of a pipe.

interface MessageSource {
  /** Undefined at the end of the input. */
  next(): Promise<string | undefined>
  close(): void
}

function messageSource(io: Io, prompt: string): MessageSource {
  return io.stdin.isTTY === true ? typedMessages(io, prompt) : pipedMessages(io)
}

/**
 * Creates a line editor for each message, so that questions can use the keyboard in between. Pasted text arrives as
 * several lines at once and is one message. A line that ends with a backslash continues on the next line.
 */
function typedMessages({ stdin, stderr }: Io, prompt: string): MessageSource {
  let history: string[] = []
  return {
    next: () =>
      new Promise((resolve) => {
        const lines: string[] = []
        let message: string | undefined
        const editor = createInterface({ input: stdin, output: stderr, terminal: true, history, prompt })
        const done = () => {
          const last = lines.at(-1)
          if (last?.endsWith("\\")) {
            lines[lines.length - 1] = last.slice(0, -1)
            editor.setPrompt("… ")
            return editor.prompt()
          }
          message = lines.join("\n")
          editor.close()
        }
        editor.on("history", (lived) => {
          history = [...lived]
        })
        editor.on("line", (line) => {
          lines.push(line)
          const count = lines.length
          setImmediate(() => {
            if (lines.length === count) done()
          })
        })
        editor.on("SIGINT", () => editor.close())
        editor.on("close", () => resolve(message))
        editor.prompt()
      }),
    close: () => undefined,
  }
}

function pipedMessages({ stdin }: Io): MessageSource {
  const editor = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
  const lines = editor[Symbol.asyncIterator]()
  return {
    async next() {
      const { value, done } = await lines.next()
      return done ? undefined : value
    },
    close: () => editor.close(),
  }
}
