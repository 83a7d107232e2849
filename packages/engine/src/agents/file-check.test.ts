/**
 * A file that no model of an agent accepts: rejected before the run starts or, later in a run, before the agent's first
 * request.
 */
import { describe, expect, test } from "vitest"
import { memoryStore, node, Runtime, workflow } from "../index.ts"
import { concurrent, sequential } from "../patterns/index.ts"
import { filePart } from "../tools/index.ts"
import { agent, agentNode, judge, summarise } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

/** OpenAI's Responses API does not accept audio; its chat API does. */
const deaf = () => ({ ...pureModel(() => "read"), provider: "openai.responses" })
const hearing = () => ({ ...pureModel(() => "heard"), provider: "openai.chat" })

const audio = filePart(Buffer.from("RIFF"), { mediaType: "audio/wav" })
const input = { messages: [{ role: "user", content: [{ type: "text", text: "Who?" }, audio] }] }
const refused = { code: "MODEL_MEDIA_UNSUPPORTED", message: expect.stringContaining('Agent "x" cannot work') }

describe("no run is created", () => {
  const model = deaf()
  const x = agent({ name: "x", model, stream: false })
  const after = agent({ name: "after", model, stream: false })
  const cases = {
    "for an agent": x,
    "for an agent as the first node": workflow("w").chain(x, after).build(),
    "for an agent as a node of another name": workflow("w")
      .start(agentNode(x, { id: "first" }))
      .build(),
    "for a workflow as the first node": workflow("w")
      .start(workflow("inner").start(x).build().asNode())
      .build(),
    "for a team whose members all see the input": sequential([agent({ name: "y", model: hearing() }), x]),
    "for members at the same time": concurrent([agent({ name: "y", model: hearing() }), x]),
  }
  test.each(Object.entries(cases))("%s", async (_, flow) => {
    const store = memoryStore()
    const run = (flow as typeof x).run(input as never, { store, runId: "r" })
    await expect(run).rejects.toMatchObject(refused)
    expect(await store.run("r")).toBeUndefined()
    expect(model.calls).toEqual([])
  })

  test("by a runtime", async () => {
    const store = memoryStore()
    const runtime = new Runtime({ store, workflows: [x] })
    await expect(runtime.start(x, input as never, { runId: "r" })).rejects.toMatchObject(refused)
    expect(await store.run("r")).toBeUndefined()
    await runtime.close()
  })

  test("for a part of an unknown type, with or without bytes; and run() does not throw", async () => {
    for (const data of ["AAAA", Buffer.from("x"), new URL("https://example.com/v.mp4")]) {
      const messages = [{ role: "user", content: [{ type: "video", data }] }]
      const run = x.run({ messages } as never)
      await expect(run).rejects.toMatchObject({
        code: "INPUT_INVALID",
        message: expect.stringContaining('"video" is not a part type'),
      })
    }
  })
})

test("one model of the list that accepts it is enough", async () => {
  const x = agent({ name: "x", model: [deaf(), hearing()], stream: false })
  expect((await x.run(input as never)).outputs).toEqual(["heard"])
})

test("input that is unknown at the start is checked when the agent runs: no request is made, not even for a guardrail", async () => {
  const model = deaf()
  const judged = pureModel(() => '{"trips":false}')
  const x = agent({
    name: "x",
    model,
    stream: false,
    history: summarise({ after: 2, keep: 1 }),
    guardrails: [judge({ name: "j", on: "input", agent: agent({ name: "judge", model: judged }) })],
  })
  const flow = workflow("w")
    .chain(
      node("begin", () => input),
      x as never,
    )
    .build()
  const { status, error } = await flow.run("go" as never).result
  expect([status, error?.code]).toEqual(["failed", "MODEL_MEDIA_UNSUPPORTED"])
  expect([...model.calls, ...judged.calls]).toEqual([])
})

test("a hook may choose another model, and a policy may leave out the file", async () => {
  const models = { ears: hearing() }
  const chosen = agent({
    name: "x",
    model: deaf(),
    models,
    stream: false,
    prepareStep: () => ({ model: "ears" }),
  })
  expect((await chosen.run(input as never)).outputs).toEqual(["heard"])
  const forgetful = agent({
    name: "x",
    model: deaf(),
    stream: false,
    history: (messages) => messages.slice(-1),
  })
  const messages = [...input.messages, { role: "user", content: "Never mind." }]
  expect((await forgetful.run({ messages } as never)).outputs).toEqual(["read"])
})
