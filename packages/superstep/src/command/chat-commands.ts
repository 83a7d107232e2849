/** What an agent's file says about chats with it: how it greets, and prompts that go by a name (`/name`). */
import type { Json } from "@superstep/engine"
import type { Definition } from "@superstep/engine/definitions"

export interface ChatManners {
  readonly welcome?: string | undefined
  readonly commands: ReadonlyMap<string, ChatCommand>
}

interface ChatCommand {
  readonly description?: string | undefined
  readonly instruction: string
}

type Fields = { readonly [name: string]: Json }

export function mannersOf(definition: Definition | undefined): ChatManners {
  const agents = fieldsOf(fieldsOf(definition?.data)?.agents)
  // The agent that is talked to: see `agents` in the definition's dialects.
  const main = fieldsOf(agents?.root) ?? fieldsOf(Object.values(agents ?? {})[0])
  const welcome = main?.welcome_message
  return {
    welcome: typeof welcome === "string" ? welcome : undefined,
    commands: new Map(commandsOf(main?.commands)),
  }
}

/** As `{ name: text }`, `{ name: { description, instruction } }`, or a list of such. */
function commandsOf(given: Json | undefined): [string, ChatCommand][] {
  if (Array.isArray(given)) return (given as readonly Json[]).flatMap(commandsOf)
  return Object.entries(fieldsOf(given) ?? {}).map(([name, value]): [string, ChatCommand] => {
    if (typeof value === "string") return [name, { instruction: value }]
    const { description, instruction } = fieldsOf(value) ?? {}
    const said = typeof description === "string" ? description : undefined
    return [
      name,
      { description: said, instruction: typeof instruction === "string" ? instruction : (said ?? name) },
    ]
  })
}

function fieldsOf(value: Json | undefined): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

/** What is meant by what was typed. */
export type Typed =
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "help" }
  | { readonly kind: "exit" }
  | { readonly kind: "nothing" }
  | { readonly kind: "unknown"; readonly name: string }

export function readTyped(line: string, { commands }: ChatManners): Typed {
  const text = line.trim()
  if (text === "") return { kind: "nothing" }
  const [, name, rest = ""] = /^\/([^\s/]+)\s*(.*)$/s.exec(text) ?? []
  if (name === undefined) return { kind: "say", text: text.replace(/^\/\//, "/") }
  const command = commands.get(name)
  if (command !== undefined) return { kind: "say", text: [command.instruction, rest].join(" ").trim() }
  if (name === "help") return { kind: "help" }
  return name === "exit" || name === "quit" ? { kind: "exit" } : { kind: "unknown", name }
}
