/** L1 and L2: processes die anywhere; no recorded model call or tool call is made again. */
import { expect, test } from "vitest"
import { z } from "zod"
import { memoryStore, node, workflow } from "../index.ts"
import { crashTest } from "../testing/simulation/crash-test.test-support.ts"
import { filePart, tool } from "../tools/index.ts"
import { agent, summarise, workflowTool } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

const keys = new Map<string, number>()
const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  run: ({ at }, { idempotencyKey }) => {
    keys.set(idempotencyKey, (keys.get(idempotencyKey) ?? 0) + 1)
    return `saw ${at}`
  },
})

test("a loop with parallel tools ends the same, wherever its process dies", async () => {
  const model = pureModel((_, turn) =>
    turn < 2
      ? {
          calls: [
            { name: "look", args: { at: `${turn}a` } },
            { name: "look", args: { at: `${turn}b` } },
          ],
        }
      : "seen",
  )
  const x = agent({ name: "x", model, stream: false, tools: [look] })
  const { outcome, crashes, writes } = await crashTest(x, "go")
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: ["seen"],
    usage: { modelCalls: 3, toolCalls: 4 },
  })
  expect(crashes).toBeGreaterThanOrEqual(writes)
  // A repeated call has the same key.
  expect(new Set([...keys.keys()].map((key) => key.split(":").slice(1).join(":"))).size).toBe(4)
})

test("an answer in pieces after an image from a tool ends the same, wherever its process dies", async () => {
  const draw = tool({ name: "draw", description: "Draws.", run: () => ["A dot:", filePart("iVBORw0KGgo=")] })
  const model = pureModel(
    (_, turn) => [{ calls: [{ name: "draw", args: {} }] }, "One, ", "two."][turn] ?? "?",
  )
  const images: string[] = []
  const cut: typeof model = {
    ...model,
    async doGenerate(call) {
      const result = await model.doGenerate(call)
      images.push(
        JSON.stringify(call.prompt)
          .match(/"image-data"/g)
          ?.join() ?? "none",
      )
      const isTruncated = result.content.some((part) => part.type === "text" && part.text === "One, ")
      return isTruncated ? { ...result, finishReason: { unified: "length", raw: "length" } } : result
    },
  }
  const x = agent({ name: "x", model: cut, stream: false, tools: [draw], onTruncated: "continue" })
  const { outcome } = await crashTest(x, "go")
  expect(outcome).toMatchObject({ status: "completed", outputs: ["One, two."], usage: { modelCalls: 3 } })
  expect(new Set(images)).toEqual(new Set(["none", '"image-data"']))
})

test("approvals, hand-offs, sub-agents, workflows and summaries survive crashes", async () => {
  const double = workflow("double")
    .start(node("double", ({ n }: { n: number }, ctx) => ctx.step("double", async () => n * 2)))
    .build()
  const times = workflowTool(double, {
    description: "Doubles.",
    input: z.object({ n: z.number() }),
    approval: "always",
  })
  const model = pureModel((last, turn, name) => {
    if (name === "clerk")
      return turn === 0 ? { calls: [{ name: "look", args: { at: "desk" } }] } : `clerk: ${last}`
    if (name === "sub") return "handled by sub"
    if (last.includes("user: ") && last.includes("assistant: ")) return "summary"
    if (turn === 0) {
      return {
        calls: [
          { name: "times", args: { n: 2 }, id: "one" },
          { name: "times", args: { n: 3 }, id: "two" },
          { name: "transfer_task", args: { agent: "clerk", task: "look", expected_output: "all" } },
          { name: "transfer_task", args: { agent: "clerk", task: "look again", expected_output: "all" } },
        ],
      }
    }
    return last.startsWith("tool") ? { calls: [{ name: "handoff_to_sub" }] } : "?"
  })
  const clerk = agent({ name: "clerk", model, stream: false, tools: [look] })
  const sub = agent({ name: "sub", model, stream: false, history: summarise({ after: 3, keep: 2 }) })
  const boss = agent({
    name: "boss",
    model,
    stream: false,
    tools: [{ ...times, name: "times" }],
    subAgents: [clerk],
    handoffs: [sub],
  })
  const { outcome } = await crashTest(boss, "go", {
    answers: () => ({ approve: true }),
  })
  expect(outcome).toMatchObject({ status: "completed", outputs: ["handled by sub"] })
})

test("a sub-agent's failure stays its result after a crash", async () => {
  let isUp = false
  const model = pureModel((last, turn, name) => {
    if (name === "clerk") {
      if (!isUp)
        throw Object.assign(new Error("down"), {
          name: "AI_APICallError",
          isRetryable: false,
          statusCode: 400,
        })
      return "up"
    }
    isUp = turn > 0
    return turn === 0
      ? { calls: [{ name: "clerk", args: { input: "go" } }] }
      : last.includes("down")
        ? "was down"
        : "was up"
  })
  const boss = agent({
    name: "boss",
    model,
    stream: false,
    tools: [agent({ name: "clerk", model, stream: false }).asTool()],
  })
  const { outcome } = await crashTest(boss, "go", { compare: ({ result }) => result.outputs })
  expect(outcome).toEqual(["was down"])
})

test("a question of a workflow that was called as a tool is answered in another process", async () => {
  const double = workflow("double")
    .start(
      node("double", async ({ n }: { n: number }, ctx) => (await ctx.ask<number>(`times for ${n}?`)) * n),
    )
    .build()
  const times = workflowTool(double, {
    description: "Doubles.",
    name: "times",
    input: z.object({ n: z.number() }),
  })
  const calls = [2, 3].map((n) => ({ name: "times", args: { n } }))
  const model = pureModel((last, turn) => (turn === 0 ? { calls } : last))
  const x = agent({ name: "x", model, tools: [times], approval: { ask: ["times"] } })
  const store = memoryStore()
  let run = x.run("go", { store, runId: "r" })
  let resumed = 0
  for (let { requests } = await run; requests.length > 0; { requests } = await run) {
    const [first] = requests
    await run.respond(first?.id ?? "", first?.data === undefined ? 10 : { approve: true })
    run = x.resume("r", { store, takeOver: true })
    resumed++
  }
  expect((await run).outputs).toEqual(["tool: 20 | 30"])
  expect(resumed).toBe(4)
})
