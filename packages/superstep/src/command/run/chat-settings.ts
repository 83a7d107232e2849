/** What an agent's file says about conversations: a welcome message, and prompts by name (`/name`). */
import type { Json } from "@superstep/engine"
import type { Definition } from "@superstep/engine/definitions"
import { isRecord } from "./read-input.ts"

export interface ChatSettings {
  readonly welcome?: string | undefined
  readonly commands: ReadonlyMap<string, ChatCommand>
}

interface ChatCommand {
  readonly description?: string | undefined
  readonly instruction: string
}

/** `agent`: the agent that `--agent` names. Default: the agent of the conversation. */
export function chatSettings(definition: Definition | undefined, agent?: string): ChatSettings {
  const agents = fieldsOf(fieldsOf(definition?.data).agents)
  // See `agents` in the definition's dialects.
  const main = fieldsOf(agents[agent ?? "root"] ?? Object.values(agents)[0])
  const welcome = main.welcome_message
  return {
    welcome: typeof welcome === "string" ? welcome : undefined,
    commands: new Map(commandsOf(main.commands)),
  }
}

/** The name and the rest of `/name rest`. Undefined for other text; a path such as /tmp/x is not a command. */
export function slashCommand(text: string): { readonly name: string; readonly rest: string } | undefined {
  const [, name, rest = ""] = /^\/([^\s/]+)(?:\s+(.*))?$/s.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name, rest: rest.trim() }
}

/** A message with a command of the agent replaced by its prompt. `//` at the beginning is a literal slash. */
export function expanded(text: string, { commands }: ChatSettings): string {
  const typed = slashCommand(text)
  const command = typed && commands.get(typed.name)
  if (command === undefined) return text.replace(/^\s*\/\//, "/")
  return [command.instruction, typed?.rest].join(" ").trim()
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
