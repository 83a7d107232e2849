/**
 * The think and todo toolsets: reasoning before acting, and a list of steps for long tasks.
 *
 * The list is in the state of the agent's node (`ctx.local`): it survives messages and restarts. Its tools are durable:
 * after a crash they run again, in the order of the calls, and produce the same list. So each of them sets values and
 * none appends: running one twice has the same effect.
 */
import type { Json } from "../core/index.ts"
import { objectInput, type ToolCallContext, type Toolset, tool } from "./tool.ts"

const THOUGHT = {
  type: "string",
  minLength: 1,
  description: "What you know, what is missing, what to do next.",
}

export function think(): Toolset {
  const thinking = tool({
    name: "think",
    description:
      "Writes down a thought. It changes nothing and finds out nothing; use it to reason about what you have before you continue.",
    input: objectInput({ thought: THOUGHT }, ["thought"]),
    idempotent: true,
    run: () => "The thought is noted.",
  })
  return {
    name: "think",
    instructions:
      "Use the think tool before you act on the results of tools, and when several things have to be weighed: list what matters, check that nothing is missing, then decide.",
    tools: () => [thinking],
  }
}

const STATUSES = ["open", "in_progress", "done", "dropped"] as const

export type TodoStatus = (typeof STATUSES)[number]

export interface TodoItem {
  readonly id: number
  readonly text: string
  readonly status: TodoStatus
}

const STATUS: Json = { type: "string", enum: STATUSES }
const ITEM = objectInput(
  {
    // Models return what they were shown; the ids follow from the order.
    id: { type: "integer" },
    text: { type: "string", minLength: 1, maxLength: 1_000 },
    status: STATUS,
  },
  ["text"],
).jsonSchema

export interface TodoOptions {
  /** One list for all agents of the node; otherwise each has its own. Default false. */
  readonly shared?: boolean | undefined
}

export function todo({ shared = false }: TodoOptions = {}): Toolset {
  const keyOf = ({ agent }: ToolCallContext) => (shared ? "todo" : `todo:${agent}`)
  const read = (call: ToolCallContext) => call.ctx.local.get<readonly TodoItem[]>(keyOf(call)) ?? []
  const keep = (call: ToolCallContext, items: readonly TodoItem[]) => {
    call.ctx.local.set(keyOf(call), items)
    return show(items)
  }

  const write = tool({
    name: "todo_write",
    description: "Sets the whole list of things to do, in order. It replaces the existing list.",
    input: objectInput({ items: { type: "array", maxItems: 200, items: ITEM } }, ["items"]),
    durable: true,
    idempotent: true,
    run: ({ items }: { items: readonly { text: string; status?: TodoStatus }[] }, call) =>
      keep(
        call,
        items.map(({ text, status = "open" }, index) => ({ id: index + 1, text, status })),
      ),
  })
  const update = tool({
    name: "todo_update",
    description: "Sets the status of items of the list, by their ids.",
    input: objectInput(
      { ids: { type: "array", minItems: 1, maxItems: 200, items: { type: "integer" } }, status: STATUS },
      ["ids", "status"],
    ),
    durable: true,
    idempotent: true,
    run: ({ ids, status }: { ids: readonly number[]; status: TodoStatus }, call) => {
      const items = read(call)
      const unknown = ids.filter((id) => !items.some((item) => item.id === id))
      if (unknown.length > 0) {
        throw new Error(
          `There is no item ${unknown.join(", ")}; the list has items 1 to ${items.length}. Read it.`,
        )
      }
      return keep(
        call,
        items.map((item) => (ids.includes(item.id) ? { ...item, status } : item)),
      )
    },
  })
  const list = tool({
    name: "todo_read",
    description: "Returns the list of things to do.",
    durable: true,
    idempotent: true,
    run: (_: unknown, call) => show(read(call)),
  })

  return {
    name: "todo",
    instructions:
      "For work of several steps, write the steps down with todo_write first. Set an item to in_progress when you begin it and to done as soon as it is done; only one is in progress at a time. Do not stop while items are open.",
    tools: () => [write, update, list],
  }
}

function show(items: readonly TodoItem[]): Json {
  const left = items.filter(({ status }) => status === "open" || status === "in_progress").length
  return { items: items.map((item) => ({ ...item })), left }
}
