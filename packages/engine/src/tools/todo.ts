/**
 * The todo toolset: a list of what is to be done, so that an agent does not lose its way in long work.
 *
 * The list is in the state of the agent's node (`ctx.local`): it lasts from one message to the next and over a restart. The
 * tools are durable: after a crash they run again, in the order of the calls, and leave the same list. So every one of them
 * sets something, and none adds: run twice it does the same.
 */
import type { Json } from "../core/index.ts"
import { argsSchema } from "./args-schema.ts"
import { tool } from "./define-tool.ts"
import type { ToolCallContext, Toolset } from "./tool.ts"

const STATUSES = ["open", "in_progress", "done", "dropped"] as const

export type TodoStatus = (typeof STATUSES)[number]

export interface TodoItem {
  readonly id: number
  readonly text: string
  readonly status: TodoStatus
}

const STATUS: Json = { type: "string", enum: STATUSES }
const ITEM: Json = {
  type: "object",
  properties: {
    // Models hand back what they were shown; the ids follow from the order.
    id: { type: "integer" },
    text: { type: "string", minLength: 1, maxLength: 1_000 },
    status: STATUS,
  },
  required: ["text"],
  additionalProperties: false,
}

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
    description: "Sets the whole list of what is to be done, in order. It replaces the list that was there.",
    input: {
      jsonSchema: argsSchema({ items: { type: "array", maxItems: 200, items: ITEM } }, ["items"]),
    },
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
    input: {
      jsonSchema: argsSchema(
        {
          ids: { type: "array", minItems: 1, maxItems: 200, items: { type: "integer" } },
          status: STATUS,
        },
        ["ids", "status"],
      ),
    },
    durable: true,
    idempotent: true,
    run: ({ ids, status }: { ids: readonly number[]; status: TodoStatus }, call) => {
      const items = read(call)
      const unknown = ids.filter((id) => !items.some((item) => item.id === id))
      if (unknown.length > 0) {
        throw new Error(`There is no item ${unknown.join(", ")}; the list has 1 to ${items.length}. Read it.`)
      }
      return keep(
        call,
        items.map((item) => (ids.includes(item.id) ? { ...item, status } : item)),
      )
    },
  })
  const list = tool({
    name: "todo_read",
    description: "Gives the list of what is to be done.",
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
