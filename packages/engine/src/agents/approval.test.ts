/** Approval of tool calls, and secret arguments. */
import { expect, test } from "vitest"
import { z } from "zod"
import { memoryStore, Runtime } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { type ToolOptions, tool } from "../tools/index.ts"
import { agent } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const sent: unknown[] = []
const send = (options: Partial<ToolOptions<{ to: string; text: string }>> = {}) => {
  sent.length = 0
  return tool({
    name: "send",
    description: "Sends a letter.",
    input: z.object({ to: z.string(), text: z.string() }),
    run: (args) => {
      sent.push(args)
      return "sent"
    },
    ...options,
  })
}
const letter = { to: "Ada", text: "Hi" }
const script = () => scriptedModel([{ tool_calls: [{ name: "send", id: "c1", args: letter }] }, "done"])

test("a tool that needs approval waits for a person", async () => {
  const model = script()
  const run = agent({ name: "clerk", model, tools: [send({ approval: "always" })] }).run("write")
  const { status, requests } = await run
  expect(status).toBe("waiting")
  expect(requests[0]).toMatchObject({
    prompt: 'Allow "clerk" to call "send"?',
    data: { kind: "tool-approval", agent: "clerk", tool: "send", call: "c1", args: letter },
    schema: { required: ["approve"] },
  })
  expect(sent).toEqual([])
  await expect(run.respond(requests[0]?.id ?? "", "yes")).rejects.toThrow(/approve/)
  await run.respond(requests[0]?.id ?? "", { approve: true })
  expect((await run).outputs).toEqual(["done"])
  expect(sent).toEqual([letter])
})

test("the approver may always allow a tool: later calls run without a question, also in another process", async () => {
  const store = memoryStore()
  const model = pureModel((_, turn) => {
    const name = ["send", "post", "send"][turn]
    return name === undefined ? "done" : { calls: [{ name, args: letter }] }
  })
  const tools = [send({ approval: "always" }), send({ name: "post", approval: "always" })]
  const clerk = agent({ name: "clerk", model, tools })
  const open = () => new Runtime({ store, workflows: [clerk], recover: false })
  const before = open()
  const run = before.stream(clerk, "write", { runId: "r" as never })
  await run.respond((await run.result).requests[0]?.id ?? "", { approve: true, always: true }, { by: "ada" })
  const [second] = (await run.result).requests
  expect(second?.data).toMatchObject({ tool: "post" })
  await before.close()
  const after = open()
  const resumed = after.resume(clerk, "r" as never)
  await resumed.respond(second?.id ?? "", { approve: true })
  expect(await resumed.result).toMatchObject({ status: "completed", outputs: ["done"] })
  expect(sent).toHaveLength(3)
  await after.close()
})

test("always goes with an approval, and no rule that denies gives way to it", async () => {
  const run = agent({ name: "clerk", model: script(), tools: [send({ approval: "always" })] }).run("write")
  const [request] = (await run).requests
  await expect(run.respond(request?.id ?? "", { approve: false, always: true })).rejects.toThrow(/always/)
  run.cancel()
})

test("the approver may edit the arguments, and the model sees the edited ones", async () => {
  const model = script()
  const run = agent({ name: "clerk", model, tools: [send({ approval: "always" })] }).run("write")
  const { requests } = await run
  await run.respond(requests[0]?.id ?? "", { approve: true, args: { to: "Bob", text: "Hi" } })
  await run
  expect(sent).toEqual([{ to: "Bob", text: "Hi" }])
  expect(shown(model, 1)[1]).toBe('assistant: send{"to":"Bob","text":"Hi"}')
})

test("a denial is a result with its reason", async () => {
  const model = script()
  const run = agent({ name: "clerk", model, tools: [send({ approval: "always" })] }).run("write")
  await run.respond((await run).requests[0]?.id ?? "", { approve: false, reason: "Ada is away" })
  await run
  expect(sent).toEqual([])
  expect(shown(model, 1).at(-1)).toMatch(/not allowed.*Ada is away/)
})

test("the agent's rules apply to all its tools, deny first; if none matches, the tool's own approval decides", async () => {
  const verdict = async (approval: object, own?: "always") => {
    const run = agent({
      name: "x",
      model: script(),
      approval,
      tools: [send(own ? { approval: own } : {})],
    }).run("")
    const { status } = await run
    return status === "waiting" ? "ask" : sent.length > 0 ? "allow" : "deny"
  }
  expect(await verdict({ allow: ["send"], deny: ["send:to=Ada"] })).toBe("deny")
  expect(await verdict({ allow: ["send"] }, "always")).toBe("allow")
  expect(await verdict({ ask: ["send"] })).toBe("ask")
  expect(await verdict({ deny: ["shell"] })).toBe("allow")
  expect(await verdict({ deny: ["shell"] }, "always")).toBe("ask")
})

test("the verdict of an approval function is recorded: it is not called again after a restart", async () => {
  let asked = 0
  const approval = () => {
    asked++
    return asked === 1 ? ("ask" as const) : ("deny" as const)
  }
  const store = memoryStore()
  const model = pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "send", args: letter }] } : "done"))
  const clerk = agent({ name: "clerk", model, tools: [send({ approval })] })
  const first = clerk.run("write", { store, runId: "r" })
  await first
  const again = clerk.resume("r", { store, takeOver: true })
  const { requests } = await again
  await again.respond(requests[0]?.id ?? "", { approve: true })
  expect((await again).outputs).toEqual(["done"])
  expect([asked, sent, model.calls.length]).toEqual([1, [letter], 2])
})

const KEY = "sk-very-secret-1"
const login = () => {
  const used: string[] = []
  const made = tool({
    name: "login",
    description: "Logs in.",
    input: z.object({ user: z.string(), key: z.string() }),
    secret: ["key"],
    approval: "always",
    run: ({ key }) => {
      used.push(key)
      throw new Error(`wrong key ${key}`)
    },
  })
  return { made, used }
}

test("secret arguments are in no record, no event and no prompt, and the tool receives them", async () => {
  const { made, used } = login()
  const model = pureModel((_, turn) =>
    turn === 0
      ? { text: `I use ${KEY}.`, calls: [{ name: "login", args: { user: "u", key: KEY } }] }
      : "done",
  )
  const store = memoryStore()
  const run = agent({ name: "x", model, tools: [made] }).stream("go", { store, runId: "r" })
  const events: unknown[] = []
  for await (const event of run) {
    events.push(event)
    if (event.type === "request.opened")
      await run.respond("r1", { approve: true, args: { user: "v", key: "[secret]" } })
  }
  expect(used).toEqual([KEY])
  const { outputs } = await run
  expect(outputs).toEqual(["done"])
  // The model's text arrives before its call: it is retracted as soon as the secret is known.
  const lasting = events.filter((event) => (event as { kind?: string }).kind !== "text")
  const said = events.reduce((text: string, event) => {
    const { kind, call, offset = 0, text: more } = event as { [key: string]: string } & { offset?: number }
    return kind === "text" && call === "step:model" ? text.slice(0, offset) + more : text
  }, "")
  expect(said).toBe("I use [secret].")
  const prompts = model.calls.map(({ prompt }) => prompt)
  const all = JSON.stringify([await store.read("r", 0), lasting, prompts])
  expect(all).not.toContain(KEY)
  expect(shown(model, 1).slice(1)).toEqual([
    'assistant: I use [secret]. | login{"user":"v","key":"[secret]"}',
    'tool: "wrong key [secret]"',
  ])
})

test("the approver cannot write a secret into the answer, because answers are stored", async () => {
  const { made, used } = login()
  const model = pureModel((_, turn) =>
    turn === 0 ? { calls: [{ name: "login", args: { user: "u", key: KEY } }] } : "done",
  )
  const store = memoryStore()
  const run = agent({ name: "x", model, tools: [made] }).run("go", { store, runId: "r" })
  const id = (await run).requests[0]?.id ?? ""
  const answer = { approve: true, args: { user: "v", key: "another-secret" } }
  await expect(run.respond(id, answer)).rejects.toThrow(/"key" must stay "\[secret\]"/)
  await run.respond(id, { approve: true, args: { user: "v", key: "[secret]" } })
  await run
  expect(used).toEqual([KEY])
  expect(JSON.stringify(await store.read("r", 0))).not.toContain("another-secret")
})

test("a secret stays masked in later text of the model", async () => {
  const { made } = login()
  const model = pureModel((_, turn) =>
    turn === 0 ? { calls: [{ name: "login", args: { user: "u", key: KEY } }] } : `It was ${KEY}.`,
  )
  const free = { ...made, approval: "never" as const }
  const run = agent({ name: "x", model, tools: [free] }).stream("go")
  const events: unknown[] = []
  for await (const event of run) events.push(event)
  expect((await run).outputs).toEqual(["It was [secret]."])
  expect(JSON.stringify(events)).not.toContain(KEY)
})

test("secret arguments in invalid JSON are requested again after a crash, even if a person edited them", async () => {
  const { made, used } = login()
  const store = memoryStore()
  const slow = tool({
    name: "slow",
    description: "Asks.",
    durable: true,
    run: (_, { ctx }) => ctx.ask("go?"),
  })
  const model = pureModel((_, turn) =>
    turn === 0 ? { calls: [{ name: "login", args: `{"key":"${KEY}` }, { name: "slow" }] } : "done",
  )
  const x = agent({ name: "x", model, tools: [made, slow] })
  await x.run("go", { store, runId: "r" })
  const again = x.resume("r", { store, takeOver: true })
  for (let { requests } = await again; requests.length > 0; { requests } = await again) {
    const [first] = requests
    const isApproval = first?.data !== undefined
    await again.respond(first?.id ?? "", isApproval ? { approve: true, args: { user: "v" } } : "yes")
  }
  expect(await again).toMatchObject({ status: "completed", outputs: ["done"] })
  expect(used).toEqual([])
})

test("secrets that a crash lost are requested again", async () => {
  const { made, used } = login()
  const model = pureModel((last) =>
    last.startsWith("user") ? { calls: [{ name: "login", args: { user: "u", key: KEY } }] } : "done",
  )
  const store = memoryStore()
  const x = agent({ name: "x", model, tools: [made] })
  await x.run("go", { store, runId: "r" })
  const again = x.resume("r", { store, takeOver: true })
  await again.respond((await again).requests[0]?.id ?? "", { approve: true })
  expect((await again).outputs).toEqual(["done"])
  expect(used).toEqual([])
  expect(shown(model, 1).at(-1)).toMatch(/Call it again/)
})
