/**
 * Two servers on one store, each with a runtime of its own: what a client begins at one it continues at the other, in every
 * protocol, with the real clients.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SendMessageRequest, type Task } from "@a2a-js/sdk"
import { ClientFactory } from "@a2a-js/sdk/client"
import { HttpAgent } from "@ag-ui/client"
import { node, Runtime, workflow } from "@superstep/engine"
import { createServer, listen } from "@superstep/server"
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { z } from "zod"
import { openStore } from "../stores.ts"

const ask = workflow("ask")
  .start(
    node("ask", async (text: string, ctx) => {
      const answer = await ctx.ask({ prompt: `Really ${text}?`, schema: z.enum(["yes", "no"]) })
      return `You said ${answer}.`
    }),
  )
  .build()
/** Ends when its signal is aborted. */
const wait = workflow("wait")
  .start(
    node("wait", (_: string, ctx) => {
      ctx.emit("begun", {})
      return new Promise<string>((_resolve, reject) => {
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason), { once: true })
      })
    }),
  )
  .build()
const workflows = [ask, wait]

interface Served {
  readonly url: string
  close(): Promise<void>
}

async function serveOn(address: string): Promise<Served> {
  const store = openStore(address)
  const runtime = new Runtime({ store, workflows })
  const listening = await listen(createServer({ runtime, workflows }), { port: 0 })
  return {
    url: listening.url,
    async close() {
      await listening.close({ grace: 0 })
      await runtime.close()
      await store.close()
    },
  }
}

/** `address` returns that of a new store, given an empty folder. */
export function twoServersTests(address: (folder: string) => string): void {
  describe("two servers on one store", () => {
    const folder = mkdtempSync(join(tmpdir(), "superstep-two-servers-"))
    let one: Served
    let other: Served
    beforeAll(async () => {
      const shared = address(folder)
      one = await serveOn(shared)
      other = await serveOn(shared)
    })
    afterAll(async () => {
      await one.close()
      await other.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const post = async ({ url }: Served, path: string, body: unknown, headers = {}) => {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      })
      return { status: response.status, data: (await response.json()) as { id: string; status: string } }
    }

    test("a response of OpenAI is answered and followed at the other one", async () => {
      const [first, second] = [one, other].map(
        ({ url }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" }),
      ) as [OpenAI, OpenAI]
      const asked = await first.responses.create({ model: "ask", input: "A7" })
      const call = asked.output.find((item) => item.type === "function_call")
      const answered = await second.responses.create({
        model: "ask",
        previous_response_id: asked.id,
        input: [{ type: "function_call_output", call_id: call?.call_id ?? "", output: "yes" }],
      })
      expect(answered).toMatchObject({ status: "completed", output_text: "You said yes." })
      const stream = await first.responses.retrieve(answered.id, { stream: true })
      const texts: string[] = []
      for await (const event of stream) if (event.type === "response.output_text.done") texts.push(event.text)
      expect(texts).toEqual(["You said yes."])
    })

    test("a message of the AI SDK is joined again at the other one", async () => {
      const messageOf = async (stream: ReadableStream<UIMessageChunk> | null) => {
        let message: UIMessage | undefined
        if (stream !== null) for await (const soFar of readUIMessageStream({ stream })) message = soFar
        return message
      }
      const transports = [one, other].map(
        ({ url }) => new DefaultChatTransport<UIMessage>({ api: `${url}/v1/workflows/ask/chat` }),
      )
      const user: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "B8" }] }
      const options = { trigger: "submit-message", messageId: undefined, abortSignal: undefined } as const
      const chat = { chatId: "chat-1" }
      const sent = await transports[0]?.sendMessages({ ...chat, messages: [user], ...options })
      const message = await messageOf(sent ?? null)
      expect(message?.parts.at(-1)).toMatchObject({ toolName: "question", state: "input-available" })
      const joined = await messageOf((await transports[1]?.reconnectToStream(chat)) ?? null)
      expect(joined?.parts).toEqual(message?.parts)
    })

    test("an interrupt of AG-UI is resolved at the other one", async () => {
      const agents = [one, other].map(
        ({ url }) => new HttpAgent({ url: `${url}/v1/workflows/ask/ag-ui`, threadId: "t1" }),
      ) as [HttpAgent, HttpAgent]
      const interrupts: string[] = []
      for (const agent of agents) agent.addMessage({ id: "1", role: "user", content: "C9" })
      await agents[0].runAgent(
        {},
        {
          onRunFinishedEvent: ({ event }) => {
            if (event.outcome?.type === "interrupt") interrupts.push(event.outcome.interrupts[0]?.id ?? "")
          },
        },
      )
      const resume = interrupts.map((interruptId) => ({
        interruptId,
        status: "resolved" as const,
        payload: "no",
      }))
      await agents[1].runAgent({ resume })
      expect(agents[1].messages.at(-1)?.content).toBe("You said no.")
    })

    test("a task of A2A is answered at the other one", async () => {
      const send = async ({ url }: Served, text: string, taskId = "") => {
        const client = await new ClientFactory().createFromUrl(`${url}/a2a/ask/`)
        const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", taskId, parts: [{ text }] }
        return (await client.sendMessage(SendMessageRequest.fromJSON({ message }))) as Task
      }
      const asked = await send(one, "D1")
      const done = await send(other, "yes", asked.id)
      expect(done.artifacts[0]?.parts[0]?.content?.value).toBe("You said yes.")
    })

    test("starts with one key at the same moment are one run", async () => {
      const keys = Array.from({ length: 5 }, (_, i) => `key-${i}`)
      for (const key of keys) {
        const start = (server: Served) =>
          post(server, "/v1/workflows/ask/runs", { input: key }, { "idempotency-key": key })
        const started = await Promise.all([start(one), start(other), start(one), start(other)])
        expect(new Set(started.map(({ status }) => status))).toEqual(new Set([200]))
        expect(new Set(started.map(({ data }) => data.id)).size).toBe(1)
      }
    })

    test("a stream continues at the other one after the last event, and ends with a cancellation from there", async () => {
      const headers = { accept: "text/event-stream", "content-type": "application/json" }
      const controller = new AbortController()
      const started = await fetch(`${one.url}/v1/workflows/wait/runs`, {
        method: "POST",
        headers,
        body: JSON.stringify({ input: "x", runId: "wait-1" }),
        signal: controller.signal,
      })
      let [text, last] = ["", 0]
      for await (const chunk of started.body ?? []) {
        text += new TextDecoder().decode(chunk)
        if (!text.includes('"begun"')) continue
        last = Math.max(...[...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)))
        break
      }
      controller.abort()
      const from = { "last-event-id": String(last) }
      const response = await fetch(`${other.url}/v1/runs/wait-1/events`, { headers: from })
      const cancelled = await post(other, "/v1/runs/wait-1/cancel", {})
      expect([cancelled.status, cancelled.data.status]).toEqual([200, "cancelled"])
      const ids = [...(await response.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
      expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => last + 1 + i))
      expect(ids.length).toBeGreaterThan(0)
      const row = await fetch(`${one.url}/v1/runs/wait-1`)
      expect(await row.json()).toMatchObject({ status: "cancelled" })
    })
  })
}
