import { SpanStatusCode } from "@opentelemetry/api"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { memoryStore, node, setTelemetry, workflow } from "../index.ts"
import { idOf, linksOf, parentOf, type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeEach(() => {
  recorded = recorder()
})
const recording = () => telemetry({ tracer: recorded.tracer, meter: recorded.meter })

const pass = (id: string) => node(id, (value: number) => value)
const fail = (id: string) =>
  node(id, (_: number): number => {
    throw Object.assign(new Error("no luck"), { code: "BAD_LUCK", retryable: false })
  })

describe("workflow.build", () => {
  afterEach(() => setTelemetry(undefined))

  it("has the workflow's name, size and signature", async () => {
    setTelemetry(recording())
    const [a, b, c, d] = [pass("a"), pass("b"), pass("c"), node("d", (list: readonly number[]) => list)]
    const built = workflow("sized").start(a).fanOut(a, [b, c]).fanIn([b, c], d).build()
    const { attributes } = recorded.span("workflow.build")
    expect(attributes).toMatchObject({ "workflow.name": "sized", "workflow.nodes": 4, "workflow.edges": 4 })

    const store = memoryStore()
    await built.run(1, { store, runId: "r" })
    expect((await store.read("r", 0))[0]?.entry).toMatchObject({
      type: "run.started",
      signature: attributes["workflow.signature"],
    })
  })
})

describe("workflow.run and executor.process", () => {
  it("are parent and children, with their workflow, run and node", async () => {
    const chain = workflow("chain").chain(pass("a"), pass("b")).build()
    await chain.run(1, { runId: "run-1", telemetry: recording() })
    const run = recorded.span("workflow.run")
    expect(parentOf(run)).toBeUndefined()
    expect(run.attributes).toEqual({
      "workflow.name": "chain",
      "superstep.run.id": "run-1",
      "superstep.run.path": "",
      "superstep.run.resumed": false,
      "superstep.run.status": "completed",
    })
    expect(run.status.code).toBe(SpanStatusCode.UNSET)
    const b = recorded.span("executor.process b")
    expect(parentOf(recorded.span("executor.process a"))).toBe(idOf(run))
    expect(parentOf(b)).toBe(idOf(run))
    expect(b.attributes).toEqual({
      "workflow.name": "chain",
      "superstep.run.id": "run-1",
      "superstep.node.id": "b",
      "superstep.node.kind": "node",
      "superstep.task.id": 2,
      "superstep.task.attempt": 1,
      "superstep.task.superstep": 2,
      "superstep.task.outcome": "completed",
    })
  })

  it("a task links to the task that caused it, the first one to none", async () => {
    await workflow("chain").chain(pass("a"), pass("b")).build().run(1, { telemetry: recording() })
    const a = recorded.span("executor.process a")
    expect(linksOf(a)).toEqual([])
    expect(linksOf(recorded.span("executor.process b"))).toEqual([idOf(a)])
  })

  it("a join links to all its producers", async () => {
    const [a, b, c, d] = [pass("a"), pass("b"), pass("c"), pass("d")]
    const join = node("join", (list: readonly number[]) => list)
    const fan = workflow("fan").start(a).fanOut(a, [b, c, d]).fanIn([b, c, d], join).build()
    await fan.run(1, { telemetry: recording() })
    const producers = ["b", "c", "d"].map((id) => recorded.span(`executor.process ${id}`))
    expect(linksOf(recorded.span("executor.process join"))).toEqual(producers.map(idOf))
    for (const producer of producers) {
      expect(linksOf(producer)).toEqual([idOf(recorded.span("executor.process a"))])
    }
  })

  it("the collector of a map links to every worker, and every worker to the sender of the list", async () => {
    const list = node("list", (count: number) => Array.from({ length: count }, (_, i) => i))
    const sum = node("sum", (all: readonly number[]) => all.length)
    const mapped = workflow("mapped").start(list).map(list, pass("work"), sum).build()
    await mapped.run(5, { telemetry: recording() })
    const workers = recorded.spans("executor.process work")
    expect(workers).toHaveLength(5)
    for (const worker of workers) {
      expect(linksOf(worker)).toEqual([idOf(recorded.span("executor.process list"))])
    }
    expect(linksOf(recorded.span("executor.process sum")).sort()).toEqual(workers.map(idOf).sort())
  })

  it("the handler of a failure links to the task that failed", async () => {
    const [bad, rescue] = [fail("bad"), node("rescue", () => "saved")]
    const rescued = workflow("rescued").start(bad).onError(bad, rescue).build()
    const { outputs } = await rescued.run(1, { telemetry: recording() })
    expect(outputs).toEqual(["saved"])
    expect(linksOf(recorded.span("executor.process rescue"))).toEqual([
      idOf(recorded.span("executor.process bad")),
    ])
  })

  it("a nested run is the child of the task that called it", async () => {
    const inner = workflow("inner").chain(pass("x"), pass("y")).build()
    const outer = workflow("outer")
      .chain(pass("a"), inner.asNode({ id: "sub" }))
      .build()
    await outer.run(1, { runId: "run-1", telemetry: recording() })
    const [innerRun, outerRun] = recorded.spans("workflow.run")
    const sub = recorded.span("executor.process sub")
    expect(outerRun?.attributes["workflow.name"]).toBe("outer")
    expect(sub.attributes["superstep.node.kind"]).toBe("workflow")
    expect(parentOf(sub)).toBe(outerRun && idOf(outerRun))
    expect(innerRun && parentOf(innerRun)).toBe(idOf(sub))
    expect(innerRun?.attributes).toMatchObject({
      "workflow.name": "inner",
      "superstep.run.id": "run-1",
      "superstep.run.path": "sub#2",
      "superstep.run.resumed": false,
    })
    const [x, y] = ["x", "y"].map((id) => recorded.span(`executor.process ${id}`))
    expect(x && parentOf(x)).toBe(innerRun && idOf(innerRun))
    expect(x && linksOf(x)).toEqual([])
    expect(y && linksOf(y)).toEqual([x && idOf(x)])
  })

  it("have the known usage", async () => {
    const model = node("model", (value: number, ctx) => {
      ctx.use({ inputTokens: 12, outputTokens: 3, modelCalls: 1 })
      return value
    })
    await workflow("used").chain(model).build().run(1, { telemetry: recording() })
    for (const name of ["executor.process model", "workflow.run"]) {
      const { attributes } = recorded.span(name)
      expect(attributes).toMatchObject({
        "superstep.usage.input_tokens": 12,
        "superstep.usage.output_tokens": 3,
        "superstep.usage.model_calls": 1,
      })
      expect(attributes).not.toHaveProperty("superstep.usage.usd")
    }
  })
})

describe("failures", () => {
  it("set status error, the code and an exception on the task and the run", async () => {
    const failing = workflow("failing").chain(pass("a"), fail("bad")).build()
    await failing.run(1, { telemetry: recording() }).result
    const bad = recorded.span("executor.process bad")
    const run = recorded.span("workflow.run")
    for (const span of [bad, run]) {
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: "BAD_LUCK: no luck" })
      expect(span.attributes["error.type"]).toBe("BAD_LUCK")
      expect(span.events).toMatchObject([
        { name: "exception", attributes: { "exception.type": "BAD_LUCK", "exception.message": "no luck" } },
      ])
    }
    expect(bad.attributes["superstep.task.outcome"]).toBe("failed")
    expect(run.attributes["superstep.run.status"]).toBe("failed")
    expect(recorded.span("executor.process a").status.code).toBe(SpanStatusCode.UNSET)
  })

  it("give every attempt a span of its own, with the same cause", async () => {
    let calls = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 3, delay: 0 },
      run: (value: number) => {
        if (++calls < 3) throw new Error(`attempt ${calls}`)
        return value
      },
    })
    await workflow("retried").chain(pass("a"), flaky).build().run(1, { telemetry: recording() })
    const attempts = recorded.spans("executor.process flaky")
    expect(attempts.map((span) => span.attributes["superstep.task.attempt"])).toEqual([1, 2, 3])
    expect(attempts.map((span) => span.attributes["superstep.task.outcome"])).toEqual([
      "retried",
      "retried",
      "completed",
    ])
    expect(attempts.map((span) => span.status.code)).toEqual([
      SpanStatusCode.ERROR,
      SpanStatusCode.ERROR,
      SpanStatusCode.UNSET,
    ])
    const a = idOf(recorded.span("executor.process a"))
    expect(attempts.map(linksOf)).toEqual([[a], [a], [a]])
    expect(recorded.span("workflow.run").status.code).toBe(SpanStatusCode.UNSET)
  })

  it("that are routed are failures of the task, not of the run", async () => {
    const settling = node({
      id: "settling",
      onError: "settle",
      run: (_: number): number => {
        throw new Error("no luck")
      },
    })
    const settled = workflow("settled").chain(settling).build()
    const { outputs } = await settled.run(1, { telemetry: recording() })
    expect(outputs).toMatchObject([{ ok: false }])
    expect(recorded.span("executor.process settling").status.code).toBe(SpanStatusCode.ERROR)
    expect(recorded.span("workflow.run").status.code).toBe(SpanStatusCode.UNSET)
  })

  it("to accept a message are distinguished", async () => {
    const words = node({ id: "words", input: z.string(), run: (word) => word })
    const loose = node("loose", (value: unknown) => value as string)
    await workflow("rejecting").chain(loose, words).build().run(7, { telemetry: recording() })
    const span = recorded.span("executor.process words")
    expect(span.attributes).toMatchObject({
      "superstep.task.outcome": "rejected",
      "error.type": "UNDELIVERED",
    })
    expect(span.status.code).toBe(SpanStatusCode.ERROR)
  })

  it("do not include a cancelled run and its tasks", async () => {
    const stuck = node("stuck", (_: number) => new Promise<number>(() => {}))
    const run = workflow("cancelled").chain(stuck).build().run(1, { telemetry: recording() })
    run.cancel("enough")
    await run.result
    const task = recorded.span("executor.process stuck")
    expect(task.status.code).toBe(SpanStatusCode.UNSET)
    expect(task.attributes["superstep.task.outcome"]).toBe("cancelled")
    expect(task.attributes).not.toHaveProperty("error.type")
    const span = recorded.span("workflow.run")
    expect(span.status.code).toBe(SpanStatusCode.UNSET)
    expect(span.attributes).toMatchObject({
      "superstep.run.status": "cancelled",
      "superstep.cancel.reason": "enough",
    })
  })

  it("with the code CANCELLED from a handler are failures nevertheless", async () => {
    const gaveUp = node("gave-up", (_: number): number => {
      throw Object.assign(new Error("the API gave up"), { code: "CANCELLED" })
    })
    await workflow("failed").chain(gaveUp).build().run(1, { telemetry: recording() }).result
    expect(recorded.span("executor.process gave-up").status.code).toBe(SpanStatusCode.ERROR)
  })

  it("include a run that reached a limit", async () => {
    const chain = workflow("limited").chain(pass("a"), pass("b"), pass("c")).build()
    await chain.run(1, { limits: { supersteps: 2 }, telemetry: recording() }).result
    const run = recorded.span("workflow.run")
    expect(run.status.code).toBe(SpanStatusCode.ERROR)
    expect(run.attributes).toMatchObject({ "superstep.run.status": "limit", "error.type": "CONVERGENCE" })
  })
})

describe("edge_group.process and message.send", () => {
  const routing = () =>
    recorded
      .spans()
      .filter((span) => span.name.startsWith("edge_group.process") || span.name === "message.send")

  it("are children of the task that sent", async () => {
    const [a, b, c] = [pass("a"), pass("b"), pass("c")]
    await workflow("fan").start(a).fanOut(a, [b, c]).build().run(1, { telemetry: recording() })
    const parent = idOf(recorded.span("executor.process a"))
    expect(routing().map(parentOf)).toEqual([parent, parent, parent])
    expect(recorded.span("edge_group.process fan-out").attributes).toEqual({
      "workflow.name": "fan",
      "superstep.run.id": expect.any(String),
      "superstep.edge_group.kind": "fan-out",
      "superstep.edge_group.targets": ["b", "c"],
      "superstep.edge_group.outcome": "delivered",
    })
    expect(recorded.spans("message.send").map((span) => span.attributes)).toEqual(
      ["b", "c"].map((target) => ({
        "superstep.message.source": "a",
        "superstep.message.target": target,
        "superstep.message.outcome": "delivered",
        "superstep.edge_group.kind": "fan-out",
      })),
    )
  })

  it("report dropped messages", async () => {
    const [a, b] = [pass("a"), pass("b")]
    const picky = workflow("picky")
      .start(a)
      .edge(a, b, { when: (value) => value > 1 })
      .build()
    await picky.run(1, { telemetry: recording() })
    expect(recorded.span("edge_group.process single").attributes).toEqual({
      "workflow.name": "picky",
      "superstep.run.id": expect.any(String),
      "superstep.edge_group.kind": "single",
      "superstep.edge_group.targets": [],
      "superstep.edge_group.outcome": "dropped",
    })
    expect(recorded.span("message.send").attributes).toEqual({
      "superstep.message.source": "a",
      "superstep.message.outcome": "dropped",
      "superstep.edge_group.kind": "single",
    })
  })

  it("have the kind of the group and its targets", async () => {
    const list = node("list", (value: number) => [value, value])
    const count = node("count", (results: readonly number[]) => results.length)
    const [many, few, left, right] = [pass("many"), pass("few"), pass("left"), pass("right")]
    const both = node("both", (pair: readonly number[]) => pair.length)
    const kinds = workflow("kinds")
      .start(list)
      .map(list, pass("work"), count)
      .switch(count, [{ when: (n) => n > 2, to: many }], few)
      .fanOut(few, [left, right])
      .fanIn([left, right], both)
      .build()
    await kinds.run(1, { telemetry: recording() })
    const groups = recorded.spans().filter((span) => span.name.startsWith("edge_group"))
    expect(groups.map((span) => [span.name, span.attributes["superstep.edge_group.targets"]])).toEqual([
      ["edge_group.process map", ["work"]],
      ["edge_group.process switch", ["few"]],
      ["edge_group.process fan-out", ["left", "right"]],
      ["edge_group.process fan-in", ["both"]],
      ["edge_group.process fan-in", ["both"]],
    ])
  })

  it("can be disabled", async () => {
    const quiet = telemetry({ tracer: recorded.tracer, meter: recorded.meter, messages: false })
    await workflow("quiet").chain(pass("a"), pass("b")).build().run(1, { telemetry: quiet })
    expect(recorded.spans().map((span) => span.name)).toEqual([
      "executor.process a",
      "executor.process b",
      "workflow.run",
    ])
  })
})
