/** What is recorded of a model call besides its reply. */
import { expect, onTestFinished, test, vi } from "vitest"
import type { Model } from "../models/index.ts"
import type { RunEvent } from "../protocol/index.ts"
import { memoryStore } from "../stores/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { agent } from "./agent.ts"
import type { SomeAgentOptions } from "./agent-core.ts"
import { pureModel } from "./stand-ins.test-support.ts"

const KEY = "sk-live-0123456789abcdef0123456789"
const look = tool({
  name: "look",
  description: "Looks.",
  input: { jsonSchema: { type: "object", properties: {} } },
  run: () => "a stork",
})

/** Calls the tool, then answers. Its first token comes after 40 ms, and its responses have an id. */
function slowModel(clock: ReturnType<typeof manualClock>): Model {
  const quick = pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "look" }] } : "A stork."))
  return {
    ...quick,
    doStream: async (options) => {
      const { stream, ...rest } = await quick.doStream(options)
      await clock.advance(40)
      const named = stream.pipeThrough(
        new TransformStream({ start: (out) => out.enqueue({ type: "response-metadata", id: "resp_7" }) }),
      )
      return { ...rest, stream: named as typeof stream }
    },
  }
}

async function detailsOf(more: Partial<SomeAgentOptions> = {}): Promise<readonly unknown[]> {
  const clock = manualClock()
  const bird = agent({
    name: "bird",
    model: slowModel(clock),
    instructions: `Say what you see. The key is ${KEY}.`,
    tools: [look],
    settings: { temperature: 0.2, providerOptions: { any: { apiKey: KEY } } },
    ...(more as object),
  })
  const events: RunEvent[] = []
  for await (const event of bird.stream("What is there?" as never, { clock } as never))
    events.push(event as never)
  return events.flatMap((event) =>
    event.type === "step.recorded" && "details" in event ? [event.details] : [],
  )
}

test("a call is recorded with its settings, the time to its first token and its instructions once, and without keys", async () => {
  const [first, second, ...others] = await detailsOf()
  expect(first).toMatchObject({
    request: { messages: 1, temperature: 0.2, tools: ["look"] },
    response: { firstToken: 40, id: "resp_7" },
  })
  expect(first).toHaveProperty("request.instructions", expect.stringContaining("Say what you see."))
  // The input, the call, and its result.
  expect(second).toMatchObject({ request: { messages: 3 }, response: { firstToken: 40 } })
  expect(second).not.toHaveProperty("request.instructions")
  expect(others).toEqual([])
  expect(JSON.stringify([first, second])).not.toContain(KEY)
})

test("a value is masked from the moment that a variable makes it secret, also in what was recorded before", async () => {
  const settings = { providerOptions: { any: { greeting: "storks-in-the-meadow" } } }
  const [before] = await detailsOf({ settings })
  expect(JSON.stringify(before)).toContain("storks-in-the-meadow")
  vi.stubEnv("MEADOW_API_KEY", "storks-in-the-meadow")
  onTestFinished(() => void vi.unstubAllEnvs())
  const [after] = await detailsOf({ settings })
  expect(JSON.stringify(after)).not.toContain("storks-in-the-meadow")
})

test("instructions that change within a task are masked with the variables of that moment", async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  const [first, second] = await detailsOf({
    prepareStep({ step }) {
      if (step > 1) vi.stubEnv("MEADOW_API_KEY", "storks-in-the-meadow")
      return { instructions: step > 1 ? "Say storks-in-the-meadow." : "Say what you see." }
    },
  })
  expect(first).toMatchObject({ request: { instructions: "Say what you see." } })
  expect(second).toMatchObject({ request: { instructions: "Say [secret]." } })
})

test("a response id that is a key is masked", async () => {
  const quick = pureModel(() => "A stork.")
  const model: Model = {
    ...quick,
    doGenerate: async (options) => ({ ...(await quick.doGenerate(options)), response: { id: KEY } }),
  }
  const [only] = await detailsOf({ model, stream: false })
  expect(only).toMatchObject({ request: { messages: 1 }, response: { id: "[secret]" } })
})

test("a stored run that nobody watches records the details of its calls", async () => {
  const store = memoryStore()
  const bird = agent({ name: "bird", model: pureModel(() => "A stork.") })
  await bird.run("What is there?", { store, runId: "r" })
  const details = (await store.read("r" as never, 0)).flatMap(({ entry }) =>
    entry.type === "step.recorded" ? [entry.details] : [],
  )
  expect(details).toEqual([expect.objectContaining({ request: { messages: 1 } })])
})

test("a run that is watched only after its call shows the details of the call", async () => {
  const bird = agent({ name: "bird", model: pureModel(() => "A stork.") })
  const run = bird.run("What is there?")
  await settled()
  const details: unknown[] = []
  for await (const event of run)
    if (event.type === "step.recorded" && "details" in event) details.push(event.details)
  expect(details).toEqual([expect.objectContaining({ request: { messages: 1 } })])
})

test("nothing of a call but its reply is recorded with recordCalls: false", async () => {
  expect(await detailsOf({ recordCalls: false })).toEqual([])
})
