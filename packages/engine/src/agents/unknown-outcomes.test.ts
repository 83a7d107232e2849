/** T3: the result of calls with secret arguments that a dead process had started, or had not. */
import { expect, test } from "vitest"
import { z } from "zod"
import { memoryStore } from "../index.ts"
import { type ToolOptions, tool } from "../tools/index.ts"
import { agent } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const KEY = "sk-very-secret-1"

/** A tool with a secret argument whose first runs never return, like those of a process that dies. */
function door(hanging: number, options: Partial<ToolOptions<{ door: string; key: string }>> = {}) {
  const keys: string[] = []
  let wake = () => {}
  const started = { next: new Promise<void>(() => undefined) }
  const arm = () => {
    started.next = new Promise((resolve) => {
      wake = resolve
    })
  }
  arm()
  const made = tool({
    name: "open",
    description: "Opens a door.",
    input: z.object({ door: z.string(), key: z.string() }),
    secret: ["key"],
    ...options,
    run: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      const resolve = wake
      arm()
      resolve()
      return keys.length <= hanging ? new Promise<string>(() => undefined) : "opened"
    },
  })
  return { made, keys, started }
}

/** Opens the door again as long as the outcome is unknown. */
const stubborn = () =>
  pureModel((last) =>
    last.includes("opened") ? "done" : { calls: [{ name: "open", args: { door: "front", key: KEY } }] },
  )

test("a call that had started has an unknown outcome, and each repetition has the same key", async () => {
  const { made, keys, started } = door(2)
  const model = stubborn()
  const x = agent({ name: "x", model, tools: [made], stream: false })
  const store = memoryStore()
  let running = started.next
  void x.run("go", { store, runId: "r" }).result.catch(() => undefined)
  await running
  running = started.next
  void x.resume("r", { store, takeOver: true }).result.catch(() => undefined)
  await running
  const { outputs, usage } = await x.resume("r", { store, takeOver: true })
  expect(outputs).toEqual(["done"])
  expect(new Set(keys).size).toBe(1)
  expect(keys).toHaveLength(3)
  expect(usage.toolCalls).toBe(3)
  for (const n of [1, 2]) expect(shown(model, n).at(-1)).toMatch(/outcome of this call is unknown/)
  expect(JSON.stringify(await store.read("r", 0))).not.toContain(KEY)
})

test("a durable tool with secret arguments keeps its outcome, which is unknown only if it had none", async () => {
  const { made, keys, started } = door(1, { durable: true })
  const model = stubborn()
  const x = agent({ name: "x", model, tools: [made], stream: false })
  const store = memoryStore()
  const running = started.next
  void x.run("go", { store, runId: "r" }).result.catch(() => undefined)
  await running
  const second = await x.resume("r", { store, takeOver: true })
  expect(second.outputs).toEqual(["done"])
  expect(shown(model, 1).at(-1)).toMatch(/outcome of this call is unknown/)
  expect(shown(model, 2).at(-1)).toBe('tool: "opened"')
  expect(new Set(keys).size).toBe(1)
})

test("after a restart a finished durable call with secret arguments has the same outcome", async () => {
  const { made, keys } = door(0, { durable: true })
  const ask = tool({
    name: "ask",
    description: "Asks.",
    durable: true,
    input: z.object({}),
    run: (_, { ctx }) => ctx.ask("continue?"),
  })
  const model = pureModel((last, turn) => {
    if (turn === 0) return { calls: [{ name: "open", args: { door: "front", key: KEY } }] }
    return turn === 1 ? { calls: [{ name: "ask" }] } : last
  })
  const x = agent({ name: "x", model, tools: [made, ask], stream: false })
  const store = memoryStore()
  await x.run("go", { store, runId: "r" })
  const again = x.resume("r", { store, takeOver: true })
  await again.respond((await again).requests[0]?.id ?? "", "yes")
  expect((await again).outputs).toEqual(['tool: "yes"'])
  expect(keys).toHaveLength(1)
  expect(shown(model, 2).filter((line) => line.startsWith("tool"))).toEqual(['tool: "opened"', 'tool: "yes"'])
})
