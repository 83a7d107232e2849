/** "Always allow this tool in this run": one answer for all agents, nodes and sub-workflows of a run, in every process. */
import { beforeEach, describe, expect, test } from "vitest"
import { z } from "zod"
import { fork, memoryStore, node, recordingOf, replay, type Store, workflow } from "../index.ts"
import { crashTest } from "../testing/simulation/crash-test.test-support.ts"
import { tool } from "../tools/index.ts"
import { agent } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

const ran: string[] = []
beforeEach(() => {
  ran.length = 0
})

const asking = (name: string) =>
  tool({
    name,
    description: "Does it.",
    input: z.object({}),
    approval: "always",
    run: () => {
      ran.push(name)
      return "done"
    },
  })
const [send, wipe] = [asking("send"), asking("wipe")]

/** An agent that calls the tools of a turn together, turn after turn. */
function caller(name: string, turns: readonly (readonly string[])[]) {
  const model = pureModel((_, turn) => {
    const names = turns[turn]
    return names === undefined ? `${name} is done` : { calls: names.map((one) => ({ name: one, args: {} })) }
  })
  return agent({ name, model, stream: false, tools: [send, wipe] })
}

const always = { approve: true, always: true }

/** Who asks for what, one `agent tool` per open question. */
function questions({ requests }: { readonly requests: readonly { readonly data?: unknown }[] }): string[] {
  return requests.map(({ data }) => {
    const { agent: by, tool: name } = data as { agent: string; tool: string }
    return `${by} ${name}`
  })
}

const inner = workflow("inner")
  .start(caller("nested", [["send"]]))
  .build()
/** Two agents and a sub-workflow, one after another; the second agent also wants another tool. */
const flow = workflow("flow")
  .chain(
    caller("first", [["send"], ["send"]]),
    caller("second", [["send", "wipe"]]),
    node("call", async (_: unknown, ctx) => (await ctx.call(inner, "go")).at(-1)),
  )
  .build()

describe("a tool that a person always allows", () => {
  test("is asked for once in the run, whichever agent calls it, and other tools are asked for", async () => {
    const run = flow.run("go")
    const first = await run
    expect(questions(first)).toEqual(["first send"])
    await run.respond(first.requests[0]?.id ?? "", always, { by: "ada" })
    const second = await run
    expect(questions(second)).toEqual(["second wipe"])
    await run.respond(second.requests[0]?.id ?? "", { approve: true })
    expect(await run).toMatchObject({ status: "completed", outputs: ["nested is done"] })
    expect(ran).toEqual(["send", "send", "send", "wipe", "send"])
  })

  test("is asked for again in another run, also of the same store", async () => {
    const store = memoryStore()
    for (const runId of ["one", "two"]) {
      const run = caller("clerk", [["send"], ["send"]]).run("go", { store, runId })
      const { requests } = await run
      expect(requests).toHaveLength(1)
      await run.respond(requests[0]?.id ?? "", always)
      expect((await run).status).toBe("completed")
    }
  })

  test("in a sub-workflow holds for the run that called it", async () => {
    const outer = workflow("outer")
      .chain(
        node("call", async (_: unknown, ctx) => (await ctx.call(inner, "go")).at(-1)),
        caller("after", [["send"]]),
      )
      .build()
    const run = outer.run("go")
    await run.respond((await run).requests[0]?.id ?? "", always)
    expect(await run).toMatchObject({ status: "completed", outputs: ["after is done"] })
  })

  test("settles the questions about it that are open already, in the name of the same person", async () => {
    const store = memoryStore()
    const go = node("go", (text: string) => text)
    const both = workflow("both")
      .start(go)
      .fanOut(go, [caller("a", [["send", "send"]]), caller("b", [["wipe", "send"]])])
      .build()
    const run = both.run("go", { store, runId: "r" })
    const open = await run
    expect(questions(open).toSorted()).toEqual(["a send", "a send", "b send", "b wipe"])
    const id = open.requests.find(({ data }) => (data as { tool: string }).tool === "send")?.id ?? ""
    await run.respond(id, { ...always, args: {} }, { by: "ada" })
    const left = await run
    expect(questions(left)).toEqual(["b wipe"])
    const answered = await store.requests({ runId: "r", outcome: ["answered"] })
    expect(answered.map(({ by }) => by)).toEqual(["ada", "ada", "ada"])
    await run.respond(left.requests[0]?.id ?? "", { approve: false })
    expect((await run).status).toBe("completed")
    expect(ran).toEqual(["send", "send", "send"])
  })

  test("does not change what was denied before, when the handler runs again in another process", async () => {
    const store = memoryStore()
    const go = node("go", (text: string) => text)
    const both = workflow("both")
      .start(go)
      .fanOut(go, [caller("a", [["send"], ["wipe"]]), caller("b", [["send"]])])
      .build()
    const before = both.run("go", { store, runId: "r" })
    const ofAgent = (name: string, { requests }: Awaited<typeof before>) =>
      requests.find(({ data }) => (data as { agent: string }).agent === name)?.id ?? ""
    await before.respond(ofAgent("a", await before), { approve: false, reason: "No." })
    await before.respond(ofAgent("b", await before), always)
    expect(questions(await before)).toEqual(["a wipe"])
    const after = both.resume("r", { store, takeOver: true })
    await after.respond((await after).requests[0]?.id ?? "", { approve: true })
    expect((await after).status).toBe("completed")
    expect(ran).toEqual(["send", "wipe"])
  })

  test("stays allowed wherever the process dies after the answer", async () => {
    const asked = new Set<string>()
    const { outcome, crashes, writes } = await crashTest(flow, "go", {
      answers: ({ data }) => {
        asked.add(questions({ requests: [{ data }] })[0] ?? "")
        return always
      },
    })
    expect(outcome).toMatchObject({ status: "completed", outputs: ["nested is done"] })
    expect(asked).toEqual(new Set(["first send", "second wipe"]))
    expect(crashes).toBeGreaterThanOrEqual(writes)
  })
})

test("an answer in a journal of an earlier version, which kept it for its node alone, holds for the run", async () => {
  const store = memoryStore()
  const earlier: Store = new Proxy(store, {
    get(target, name) {
      if (name !== "append") return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)
      // Versions without kept answers do not know the record; it has no effect under another name.
      const append: Store["append"] = (lease, seq, records, change) =>
        target.append(
          lease,
          seq,
          records.map((record) =>
            record.entry.type === "answer.kept"
              ? { ...record, entry: { ...record.entry, type: "unknown" as never } }
              : record,
          ),
          change,
        )
      return append
    },
  })
  const two = workflow("two")
    .chain(caller("a", [["send"], ["wipe"]]), caller("b", [["send"]]))
    .build()
  const before = two.run("go", { store: earlier, runId: "r" })
  await before.respond((await before).requests[0]?.id ?? "", always)
  expect(questions(await before)).toEqual(["a wipe"])
  const after = two.resume("r", { store, takeOver: true })
  await after.respond((await after).requests[0]?.id ?? "", { approve: true })
  expect(await after).toMatchObject({ status: "completed" })
  expect(ran).toEqual(["send", "wipe", "send"])
})

test("a fork whose answer always allows a tool is not asked for it again", async () => {
  const store = memoryStore()
  const run = caller("clerk", [["send"], ["send"]]).run("go", { store, runId: "r" })
  const id = (await run).requests[0]?.id ?? ""
  const forked = await fork(store, "r", { answers: { [id]: always } })
  const again = caller("clerk", [["send"], ["send"]]).resume(forked, { store })
  expect(await again).toMatchObject({ status: "completed", requests: [] })
})

test("a run with a tool that is always allowed replays as the same", async () => {
  const store = memoryStore()
  const run = flow.run("go", { store, runId: "r" })
  await run.respond((await run).requests[0]?.id ?? "", always)
  await run.respond((await run).requests[0]?.id ?? "", { approve: true })
  await run
  expect(await replay(await recordingOf(store, "r"), flow)).toMatchObject({ same: true })
})

test("a question of another kind whose data looks like an approval is not settled with the tool", async () => {
  const go = node("go", (text: string) => text)
  const review = node("review", async (_: string, ctx) => {
    const data = { kind: "tool-approval", tool: "send" }
    return await ctx.ask({ prompt: "What do you think?", data, schema: z.string() })
  })
  const both = workflow("both")
    .start(go)
    .fanOut(go, [caller("a", [["send"]]), review])
    .build()
  const run = both.run("go")
  const open = await run
  const ofAgent = open.requests.find(({ data }) => "agent" in (data as object))?.id ?? ""
  await run.respond(ofAgent, always)
  const left = await run
  expect(left.requests.map(({ prompt }) => prompt)).toEqual(["What do you think?"])
  await run.respond(left.requests[0]?.id ?? "", "Fine.")
  expect((await run).status).toBe("completed")
})
