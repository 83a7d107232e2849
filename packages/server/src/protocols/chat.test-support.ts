/** A server on a port, with workflows to chat with. */
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { agent, conversation } from "@superstep/engine/agents"
import { type Model, type Script, type ScriptEntry, scriptedModel } from "@superstep/engine/models"
import { tool } from "@superstep/engine/tools"
import { onTestFinished } from "vitest"
import { z } from "zod"
import { apiKeys, createKey, type KeyOptions } from "../auth/api-keys.ts"
import { type Listening, listen } from "../listen.ts"
import { createServer, type Server, type ServerOptions } from "../server.ts"

export interface Chat {
  readonly url: string
  readonly server: Server
  readonly runtime: Runtime
  readonly listening: Listening
  key(options?: Partial<KeyOptions>): Promise<string>
}

type Workflows = ServerOptions["workflows"]

/** With API keys if `keys` is true; else everybody may do everything. Closed when the test is over. */
export async function chatServer(workflows: Workflows, keys = false): Promise<Chat> {
  const store = memoryStore()
  const runtime = new Runtime({ store, workflows })
  const auth = keys ? apiKeys(store) : undefined
  const server = createServer({ runtime, workflows, auth, heartbeat: 5 })
  const listening = await listen(server, { port: 0 })
  onTestFinished(async () => {
    await listening.close({ grace: 0 })
    await runtime.close()
  })
  const key: Chat["key"] = async (more = {}) =>
    (await createKey(store, { name: "test", role: "operator", ...more }, "test")).secret
  return { url: listening.url, server, runtime, listening, key }
}

export interface Gate {
  readonly model: Model
  /** Resolves when the model has written everything before the gate. */
  readonly reached: Promise<void>
  open(): void
}

/** A model that stops in the middle of its first text, before the piece with this number. */
export function gated(model: Model, at = 3): Gate {
  let open = () => {}
  let reach = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  let pieces = 0
  const gate: Model = {
    ...model,
    async doStream(call) {
      const { stream, ...rest } = await model.doStream(call)
      const held = new TransformStream({
        async transform(part: { type: string }, controller) {
          if (part.type === "text-delta" && ++pieces === at) {
            reach()
            await opened
          }
          controller.enqueue(part)
        },
      })
      return { ...rest, stream: stream.pipeThrough(held as never) }
    },
  }
  return { model: gate, reached, open }
}

export const stock = tool({
  name: "stock",
  description: "How many of an item are there.",
  input: z.object({ item: z.string() }),
  run: ({ item }) => ({ item, left: 3 }),
})

const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  input: z.object({ order: z.string() }),
  approval: "always",
  run: ({ order }) => `refunded ${order}`,
})

export const REFUND: readonly ScriptEntry[] = [
  { text: "One moment.", tool_calls: [{ name: "refund", args: { order: "A7" }, id: "refund_1" }] },
  "Order A7 is refunded.",
]

/** An agent that remembers its conversation. */
export function desk(script: Script | Model, name = "desk") {
  const model = Array.isArray(script) ? scriptedModel(script) : (script as Model)
  return agent({ name, model, tools: [stock, refund], messages: conversation() })
}

/** An agent without a conversation of its own. */
export function clerk(script: Script | Model, name = "clerk") {
  const model = Array.isArray(script) ? scriptedModel(script) : (script as Model)
  return agent({ name, model, tools: [stock] })
}

export const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()

export const ask = workflow("ask")
  .start(
    node("ask", async (text: string, ctx) => {
      const answer = await ctx.ask({ prompt: `Really ${text}?`, schema: z.enum(["yes", "no"]) })
      return `You said ${answer}.`
    }),
  )
  .build()

export const fail = workflow("fail")
  .start(
    node("fail", (text: string): string => {
      throw new Error(`it broke at ${text}`)
    }),
  )
  .build()
