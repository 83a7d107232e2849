import { describe, expect, test } from "vitest"
import { memoryStore } from "../index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { crashTest } from "../testing/simulation/crash-test.test-support.ts"
import { tool } from "../tools/index.ts"
import { agent, backgroundAgents } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const start = (name: string, id: string) => ({
  id,
  name: "run_background_agent",
  args: { agent: name, task: `Task of ${name}`, expected_output: "" },
})
const view = (id: string, more: object = {}) => ({
  name: "view_background_agent",
  args: { task_id: id, ...more } as never,
})

describe("background agents", () => {
  test("work while the other agent continues, which collects their answers", async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const wait = tool({ name: "wait", description: "Waits.", run: () => gate.then(() => "waited") })
    const open = tool({
      name: "open",
      description: "Opens the gate.",
      run: () => {
        release()
        return "open"
      },
    })
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ tool_calls: [{ name: "wait", args: {} }] }, { text: "the answer" }]),
      tools: [wait],
    })
    const model = scriptedModel([
      { tool_calls: [start("worker", "t1"), { name: "list_background_agents", args: {} }] },
      { tool_calls: [view("t1", { wait: false })] },
      { tool_calls: [view("t1"), { name: "open", args: {} }] },
      { tool_calls: [view("t2"), { name: "stop_background_agent", args: { task_id: "t1" } }] },
      { text: "done" },
    ])
    const x = agent({ name: "x", model, tools: [backgroundAgents(() => [worker]), open] })
    const { outputs, usage } = await x.run("go")
    expect(outputs).toEqual(["done"])
    const running = '{"task_id":"t1","agent":"worker","status":"running"}'
    expect(shown(model, 1).at(-1)).toBe(`tool: ${running} | {"tasks":[${running}]}`)
    expect(shown(model, 2).at(-1)).toBe(`tool: ${running}`)
    expect(shown(model, 3).at(-1)).toContain('"status":"completed","result":"the answer"')
    expect(shown(model, 4).at(-1)).toMatch(/no background task \\"t2\\".*"status":"completed"/)
    // Both agents count in the run.
    expect(usage.modelCalls).toBe(7)
  })

  test("stop on demand, and when the other agent answers", async () => {
    const stopped: string[] = []
    const wait = tool({
      name: "wait",
      description: "Waits.",
      run: (_: unknown, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            stopped.push("stopped")
            reject(signal.reason)
          })
        }),
    })
    const worker = agent({
      name: "worker",
      model: pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "wait" }] } : "late")),
      tools: [wait],
    })
    const model = scriptedModel([
      { tool_calls: [start("worker", "t1"), start("worker", "t2")] },
      { tool_calls: [{ name: "stop_background_agent", args: { task_id: "t1" } }] },
      { text: "done" },
    ])
    const x = agent({ name: "x", model, tools: [backgroundAgents([worker])] })
    expect((await x.run("go")).outputs).toEqual(["done"])
    expect(shown(model, 2).at(-1)).toContain('"status":"stopped"')
    expect(stopped).toEqual(["stopped", "stopped"])
  })

  test("ask people, and the run continues in another process", async () => {
    const store = memoryStore()
    const build = () => {
      const worker = agent({
        name: "worker",
        model: pureModel((last, turn) => (turn === 0 ? { calls: [{ name: "ask" }] } : last)),
        tools: [
          tool({
            name: "ask",
            description: "Asks.",
            durable: true,
            run: (_: unknown, { ctx }) => ctx.ask("Which?"),
          }),
        ],
      })
      const model = pureModel((last, turn) => {
        if (turn === 0) return { calls: [{ ...start("worker", "t1") }] }
        return turn === 1 ? { calls: [view("t1")] } : last
      })
      return agent({ name: "x", model, tools: [backgroundAgents([worker])] })
    }
    const asked = await build().run("go", { store, runId: "r" })
    expect([asked.status, asked.requests[0]?.prompt]).toEqual(["waiting", "Which?"])
    const run = build().resume("r", { store, takeOver: true })
    await run.respond(asked.requests[0]?.id ?? "", "this one")
    expect((await run).outputs[0]).toContain("this one")
  })

  test("continue from their records wherever the process dies", async () => {
    const build = () => {
      const worker = agent({
        name: "worker",
        model: pureModel((last, turn) => (turn < 1 ? { calls: [{ name: "look" }] } : `answer to ${last}`)),
        tools: [tool({ name: "look", description: "Looks.", run: () => "seen" })],
      })
      const model = pureModel((last, turn) => {
        if (turn === 0) return { calls: [start("worker", "t1")] }
        return turn === 1 ? { calls: [view("t1")] } : last
      })
      return agent({ name: "x", model, stream: false, tools: [backgroundAgents([worker])] })
    }
    await crashTest(build, "go", { compare: ({ result }) => result.outputs })
  })
})
