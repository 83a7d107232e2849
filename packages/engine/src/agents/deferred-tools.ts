/**
 * Deferred tools: the model does not see them until it adds them. It searches them by what they do, so that an agent with
 * hundreds of tools has a short prompt.
 *
 * D1 Which tools are added follows from the results in the conversation: there is no other state, and a resumed task, or a
 *    later one of the same thread, sees the same tools.
 * D2 A tool that was not added is unknown: calling it does nothing.
 */
import type { Json } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { scoresOf } from "../text/internal.ts"
import { type Tool, tool } from "../tools/index.ts"
import { objectInput } from "../tools/internal.ts"
import type { ToolTable } from "./step-plan.ts"

const SEARCH = "search_tool"
const ADD = "add_tool"
const MAX_FOUND = 10

/** The tools, and two that find and add the deferred ones among them. */
export function withDeferred(tools: readonly Tool[]): readonly Tool[] {
  const deferred = tools.filter((one) => one.deferred === true)
  return deferred.length === 0 ? tools : [...tools, searchTool(deferred), addTool(deferred)]
}

function searchTool(deferred: readonly Tool[]): Tool {
  const texts = deferred.map(({ name, description }) => `${name.replaceAll(/[_-]/g, " ")} ${description}`)
  return tool({
    name: SEARCH,
    description: `Finds more tools by what they do. There are ${deferred.length} that you do not see yet; add one with ${ADD} before you call it.`,
    input: objectInput({ query: { type: "string", minLength: 1, description: "What the tool should do." } }, [
      "query",
    ]),
    approval: "never",
    idempotent: true,
    run({ query }: { query: string }): Json {
      const scores = scoresOf(query, texts)
      const found = deferred
        .map(({ name, description }, i) => ({ name, description, score: scores[i] ?? 0 }))
        .filter(({ name, score }) => score > 0 || name.includes(query))
        .sort((a, b) => b.score - a.score)
      const shown = found.slice(0, MAX_FOUND).map(({ name, description }) => ({ name, description }))
      return shown.length > 0 ? { tools: shown } : { tools: [], names: deferred.map(({ name }) => name) }
    },
  })
}

function addTool(deferred: readonly Tool[]): Tool {
  return tool({
    name: ADD,
    description: `Adds a tool that ${SEARCH} found. You can call it from the next turn on.`,
    input: objectInput({ name: { type: "string", enum: deferred.map(({ name }) => name) } }, ["name"]),
    approval: "never",
    idempotent: true,
    run: ({ name }: { name: string }): Json => ({ added: name }),
  })
}

/** The tools without the deferred ones that the conversation has not added. */
export function loadedTools(table: ToolTable, messages: readonly Message[]): ToolTable {
  const deferred = [...table.byName.values()].filter((one) => one.deferred === true)
  if (deferred.length === 0) return table
  const added = addedIn(messages)
  const hidden = new Set(deferred.map(({ name }) => name).filter((name) => !added.has(name)))
  return {
    ...table,
    byName: new Map([...table.byName].filter(([name]) => !hidden.has(name))),
    offered: table.offered?.filter(({ name }) => !hidden.has(name)),
  }
}

function addedIn(messages: readonly Message[]): ReadonlySet<string> {
  const added = new Set<string>()
  for (const message of messages) {
    if (message.role !== "tool") continue
    for (const part of message.content) {
      if (part.type !== "tool-result" || part.toolName !== ADD || part.output.type !== "json") continue
      const { added: name } = Object(part.output.value) as { added?: unknown }
      if (typeof name === "string") added.add(name)
    }
  }
  return added
}
