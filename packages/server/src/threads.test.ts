import { append, channel, memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { expect, onTestFinished, test } from "vitest"
import { served } from "./serve.test-support.ts"

const messages = channel("messages", append<string>(), { persist: true })
const chat = workflow("chat", { state: [messages] })
  .start(
    node("reply", (text: string, ctx) => {
      ctx.state.write(messages, [text])
      return text
    }),
  )
  .build()
const wait = workflow("wait", { state: [messages] })
  .start(node("wait", async (text: string, ctx) => `${text} ${await ctx.ask<string>("Go?")}`))
  .build()

async function chatting() {
  const workflows = [chat, wait] as never
  const store = memoryStore()
  const runtime = new Runtime({ store, workflows })
  onTestFinished(() => runtime.close())
  const one = served({ runtime, workflows, auth: undefined })
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await one.ask(method, `/v1${path}`, body === undefined ? {} : { body })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }
  return { runtime, send }
}

test("threads are listed, shown with their state and runs, and deleted", async () => {
  const { send } = await chatting()
  for (const thread of ["ada", "bob"]) {
    await send("POST", "/workflows/chat/runs", { input: `I am ${thread}`, thread })
  }
  const { body } = await send("GET", "/threads?limit=1")
  expect(body).toMatchObject({ threads: [{ id: "ada", run: { status: "completed" } }], next: "ada" })
  expect((await send("GET", "/threads?cursor=ada")).body).toMatchObject({ threads: [{ id: "bob" }] })
  expect((await send("GET", "/threads?prefix=b")).body).toMatchObject({ threads: [{ id: "bob" }] })
  expect((await send("GET", "/threads/ada")).body).toMatchObject({
    version: 1,
    state: { messages: ["I am ada"] },
    runs: [{ workflow: "chat" }],
  })
  expect((await send("DELETE", "/threads/ada")).status).toBe(204)
  expect((await send("GET", "/threads/ada")).body).toMatchObject({ version: 0, state: {} })
  expect((await send("GET", "/threads/nobody")).body).toMatchObject({ code: "THREAD_UNKNOWN" })
})

test("a second run of a thread is rejected, or interrupts the first", async () => {
  const { send } = await chatting()
  const first = await send("POST", "/workflows/wait/runs", { input: "a", thread: "ada" })
  expect(first.body).toMatchObject({ status: "waiting" })
  expect((await send("DELETE", "/threads/ada")).body).toMatchObject({ code: "THREAD_BUSY", status: 409 })
  const rejected = await send("POST", "/workflows/chat/runs", { input: "b", thread: "ada" })
  expect(rejected.body).toMatchObject({ code: "THREAD_BUSY" })
  const second = { input: "c", thread: "ada", onBusy: "interrupt" }
  expect((await send("POST", "/workflows/chat/runs", second)).body).toMatchObject({ status: "completed" })
  expect((await send("GET", `/runs/${first.body.id}`)).body).toMatchObject({ status: "cancelled" })
})

test("a queued run of a thread begins when the one before it has ended", async () => {
  const { send } = await chatting()
  const first = await send("POST", "/workflows/wait/runs", { input: "a", thread: "ada" })
  const queued = send("POST", "/workflows/chat/runs", { input: "b", thread: "ada", onBusy: "queue" })
  expect((await send("GET", `/runs/${first.body.id}`)).body).toMatchObject({ status: "waiting" })
  await send("POST", `/runs/${first.body.id}/requests/r1/answer`, { value: "yes" })
  expect((await queued).body).toMatchObject({ status: "completed" })
})
