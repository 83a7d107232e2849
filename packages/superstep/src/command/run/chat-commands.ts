/** The commands of a chat: `/help`, `/model`, `/sessions` and others. Commands of the agent's own file come first. */
import type { Json, Usage } from "@superstep/engine"
import type { Definition } from "@superstep/engine/definitions"
import type { Cli } from "../cli.ts"
import {
  type DefinitionFlags,
  type ModelChoices,
  type OutputFlags,
  parseModel,
  type RunFlags,
  type StoreFlags,
} from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import type { OpenStore } from "../open/store.ts"
import { printError } from "../print/errors.ts"
import { age, cost, counted, tokens } from "../print/figures.ts"
import { clipped, padded, sanitize, sanitizeLine } from "../terminal/terminal.ts"
import { type Attachment, checkTakesFiles, readAttachment } from "./attachments.ts"
import type { ChatSettings } from "./chat-settings.ts"
import { isRecord } from "./read-input.ts"
import { messagesOf, recentSessions } from "./sessions.ts"

/** What commands see and change of a conversation. */
export interface Chat {
  readonly cli: Cli
  readonly store: OpenStore
  readonly settings: ChatSettings
  /** Sent with the next message. */
  readonly attachments: Attachment[]
  readonly opened: OpenedWorkflow
  flags: ChatFlags
  readonly thread: string
  /** Messages that the next one continues: the summary of another thread. */
  before: readonly Json[]
  readonly usage: Usage
  readonly turns: number
  leave(): void
  /** Continues another thread; undefined: a new one. */
  moveTo(thread: string | undefined): void
  useModel(model: ModelChoices): Promise<void>
  /** Sends a message that the person did not write. Undefined if there is no answer. */
  ask(text: string, options: { readonly isShown: boolean }): Promise<string | undefined>
}

export type ChatFlags = OutputFlags &
  StoreFlags &
  Omit<RunFlags, "strict"> &
  Pick<DefinitionFlags, "agent" | "model">

interface Command {
  readonly args?: string
  readonly summary: string
  run(chat: Chat, rest: string): void | Promise<void>
}

const MAX_SESSIONS = 10

export const CHAT_COMMANDS: Readonly<Record<string, Command>> = {
  help: { summary: "show this help", run: printHelp },
  attach: { args: "FILE", summary: "send a file with the next message", run: attach },
  compact: { summary: "continue with a summary of the conversation so far", run: compact },
  cost: { summary: "show what this conversation has used", run: printCost },
  model: { args: "[NAME]", summary: "show the models, or use another from now on", run: changeModel },
  sessions: { args: "[N]", summary: "list conversations, or continue one of them", run: sessions },
  yolo: { summary: "run tools without asking, or ask again", run: toggleYolo },
  exit: { summary: "end the conversation; it is kept under its thread", run: (chat) => chat.leave() },
}

function printHelp({ cli: { err }, settings }: Chat): void {
  const rows: [string, string][] = [
    ...Object.entries(CHAT_COMMANDS).map(([name, { args, summary }]): [string, string] => [
      `/${name}${args === undefined ? "" : ` ${args}`}`,
      summary,
    ]),
    ["\\", "at the end of a line: continue the message on the next line"],
    ["Ctrl-C", "stop the answer; at the prompt, discard the line"],
    ...[...settings.commands].map(([name, { description, instruction }]): [string, string] => [
      `/${name}`,
      description ?? instruction,
    ]),
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, what] of rows)
    err.line(
      clipped(
        `  ${padded(sanitizeLine(name), width)}  ${sanitizeLine(what.split("\n")[0] ?? "")}`,
        err.width,
      ),
    )
}

async function attach(chat: Chat, path: string): Promise<void> {
  const { err, io } = chat.cli
  if (path === "") {
    const names = chat.attachments.map(({ name }) => sanitizeLine(name))
    return err.line(names.length === 0 ? "Write /attach FILE." : `Attached: ${names.join(", ")}`)
  }
  checkTakesFiles(chat.opened)
  const attachment = await readAttachment(path, io.cwd)
  chat.attachments.push(attachment)
  err.line(`Attached ${sanitizeLine(attachment.name)}: it is sent with your next message.`)
}

const SUMMARIZE =
  "Summarize our conversation so far, for yourself: the facts, the decisions, the names and numbers, and what is " +
  "still open. Do not use tools. Reply with the summary only."

/** The old thread keeps everything; the next message starts a new thread with the summary. */
async function compact(chat: Chat): Promise<void> {
  const { err } = chat.cli
  checkTakesFiles(chat.opened)
  if ((await messagesOf(chat.store, chat.thread)).length === 0)
    return err.line("There is nothing to summarize.")
  const answer = await chat.ask(SUMMARIZE, { isShown: false })
  if (answer === undefined) return
  const [before] = [chat.thread]
  chat.moveTo(undefined)
  const text = `A summary of our conversation so far:\n\n${answer}`
  const messages: readonly Json[] = [
    { role: "user", content: [{ type: "text", text }] },
    { role: "assistant", content: [{ type: "text", text: "Understood. Let us continue." }] },
  ]
  chat.before = messages
  err.line(
    err.paint.dim(`Continues on thread ${chat.thread} with this summary. Everything is still in ${before}.`),
  )
  err.line(sanitize(answer))
}

function printCost({ cli: { err }, usage, turns }: Chat): void {
  const { modelCalls = 0, toolCalls = 0 } = usage
  if (turns === 0) return err.line("Nothing was used yet.")
  const calls = [
    counted(modelCalls, "model call"),
    ...(toolCalls === 0 ? [] : [counted(toolCalls, "tool call")]),
  ]
  err.line(`${counted(turns, "message")}: ${tokens(usage)}, ${cost(usage)}, ${calls.join(", ")}`)
}

async function changeModel(chat: Chat, name: string): Promise<void> {
  const { err } = chat.cli
  if (name === "") {
    for (const [agent, model] of modelsOf(chat.opened.definition)) {
      const { all, byAgent = {} } = chat.flags.model ?? {}
      err.line(`  ${sanitizeLine(agent)}: ${sanitizeLine(byAgent[agent] ?? all ?? model)}`)
    }
    return err.line(err.paint.dim("Change it with /model NAME, or /model AGENT=NAME."))
  }
  try {
    await chat.useModel(parseModel(name, chat.flags.model))
    err.line(`From now on: ${sanitizeLine(name)}.`)
  } catch (error) {
    await printError(error, chat.cli)
  }
}

function modelsOf(definition: Definition | undefined): [string, string][] {
  const data = definition?.data
  const agents = isRecord(data) && isRecord(data.agents) ? data.agents : {}
  return Object.entries(agents).map(([name, agent]) => {
    const model = isRecord(agent) ? agent.model : undefined
    return [name, typeof model === "string" ? model : "no model"]
  })
}

async function sessions(chat: Chat, chosen: string): Promise<void> {
  const { err } = chat.cli
  const found = await recentSessions(chat.store, chat.opened.workflow.name, MAX_SESSIONS)
  const named = found[Number(chosen) - 1] ?? found.find(({ thread }) => thread === chosen)
  if (chosen !== "") {
    if (named === undefined)
      return err.line(`There is no session ${sanitizeLine(chosen)}. List them: /sessions`)
    chat.moveTo(named.thread)
    return err.line(`Continues ${sanitizeLine(named.thread)}.`)
  }
  if (found.length === 0) return err.line("There are no conversations yet.")
  const now = Date.now()
  for (const [i, { thread, at }] of found.entries()) {
    const [first = ""] = await messagesOf(chat.store, thread)
    const mark = thread === chat.thread ? "*" : " "
    const head = `${mark}${String(i + 1).padStart(2)}  ${padded(age(now - at), 4)} ${sanitizeLine(thread)}  `
    err.line(clipped(`${head}${sanitizeLine(first)}`, err.width))
  }
  err.line(err.paint.dim("Continue one of them with /sessions N."))
}

function toggleYolo(chat: Chat): void {
  const isOn = chat.flags.yolo !== true
  chat.flags = { ...chat.flags, yolo: isOn ? true : undefined }
  chat.cli.err.line(isOn ? "Tools run without asking, unless they are denied." : "Tools ask again.")
}
