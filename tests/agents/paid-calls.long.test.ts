/** A process is killed in the middle of calls that cost: a real model server and a file tell what was really done. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text as allOf } from "node:stream/consumers"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bundled } from "../bundled.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"
import { silence, text, toolCalls } from "../models/openai-replies.ts"

const PIN = "pin-4711-0815"
let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-paid-"))
  program = bundled(join(import.meta.dirname, "paying-child.ts"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Child {
  readonly process: ChildProcess
  /** What it printed; undefined when it was killed. */
  readonly ended: Promise<{ status: string; code?: string; outputs: string[]; usage: object } | undefined>
}

/** A process that works on the run of this name, from the beginning or from where it is. */
function child(name: string, server: ModelServer, budget: object, kills = 0): Child {
  const files = [join(folder, `${name}.db`), join(folder, `${name}.trail`)]
  const args = [program, ...files, server.url, JSON.stringify(budget), String(kills)]
  const process = spawn(globalThis.process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
  const ended = Promise.all([allOf(process.stdout as NodeJS.ReadableStream), once(process, "close")]).then(
    ([printed, [, signal]]) => (signal === "SIGKILL" ? undefined : JSON.parse(printed)),
  )
  return { process, ended }
}

const keys = (name: string) =>
  readFileSync(join(folder, `${name}.trail`), "utf8")
    .trim()
    .split("\n")

test("however often a process is killed in a model call, no more requests are made than the budget allows", {
  timeout: 120_000,
}, async () => {
  const server = await modelServer()
  try {
    for (let n = 1; n <= 3; n++) {
      server.serve(silence)
      const { process, ended } = child("model", server, { modelCalls: 3 })
      await server.requested(n)
      process.kill("SIGKILL")
      expect(await ended).toBeUndefined()
    }
    const last = await child("model", server, { modelCalls: 3 }).ended
    expect(last).toMatchObject({ status: "limit", code: "BUDGET_EXCEEDED", usage: { modelCalls: 3 } })
    expect(server.requests).toHaveLength(3)
  } finally {
    await server.close()
  }
})

test("a model call that was cut off counts, and the one made in its place as well", {
  timeout: 120_000,
}, async () => {
  const server = await modelServer()
  try {
    server.serve(silence)
    const { process, ended } = child("again", server, { modelCalls: 2 })
    await server.requested(1)
    process.kill("SIGKILL")
    await ended
    server.serve(text("Done."))
    const last = await child("again", server, {}).ended
    expect(last).toMatchObject({ status: "completed", outputs: ["Done."] })
    // 110 tokens are those of the reply; the call that was cut off counts with its prompt, estimated.
    expect(last?.usage).toMatchObject({ modelCalls: 2, outputTokens: 10, estimatedCalls: 1 })
    expect(server.requests).toHaveLength(2)
  } finally {
    await server.close()
  }
})

test("a tool call that was cut off after its effect is made again with the same key, and counts each time", {
  timeout: 120_000,
}, async () => {
  const server = await modelServer()
  const args = JSON.stringify({ to: "bob", pin: PIN })
  try {
    server.serve(toolCalls({ id: "c1", name: "pay", args }))
    expect(await child("plain", server, {}, 2).ended).toBeUndefined()
    expect(await child("plain", server, {}, 2).ended).toBeUndefined()
    server.serve(text("Done."))
    const last = await child("plain", server, {}, 2).ended
    expect(last).toMatchObject({ status: "completed", outputs: ["Done."], usage: { toolCalls: 3 } })
    expect(keys("plain")).toEqual(["r:1:tool:pay:c1", "r:1:tool:pay:c1", "r:1:tool:pay:c1"])
  } finally {
    await server.close()
  }
})

test("with secret arguments the model learns that the outcome is unknown, and the repeated call has the same key", {
  timeout: 120_000,
}, async () => {
  const server = await modelServer()
  const args = JSON.stringify({ to: "bob", pin: PIN })
  try {
    server.serve(toolCalls({ id: "c1", name: "pay_secretly", args }))
    expect(await child("secret", server, {}, 1).ended).toBeUndefined()
    server.serve(
      toolCalls({ id: "c2", name: "pay_secretly", args: JSON.stringify({ pin: PIN, to: "bob" }) }),
      toolCalls({ id: "c3", name: "pay_secretly", args: JSON.stringify({ pin: PIN, to: "eve" }) }),
      text("Done."),
    )
    const last = await child("secret", server, {}, 1).ended
    expect(last).toMatchObject({ status: "completed", outputs: ["Done."], usage: { toolCalls: 3 } })
    const body = JSON.stringify(server.requests[1]?.body)
    expect(body).toMatch(/outcome of this call is unknown: it may have taken effect/)
    expect(body).not.toMatch(/before the tool ran/)
    expect(body).not.toContain(PIN)
    // A payment to another person is not a repetition.
    const first = "r:1:tool:pay_secretly:c1"
    expect(keys("secret")).toEqual([first, first, "r:1:tool:pay_secretly:c3"])
  } finally {
    await server.close()
  }
})
