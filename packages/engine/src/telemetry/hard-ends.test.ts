import { beforeEach, expect, it } from "vitest"
import { memoryStore, node, type Store, workflow } from "../index.ts"
import { settled } from "../testing/manual-clock.ts"
import { type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeEach(() => {
  recorded = recorder()
})
const recording = () => telemetry({ tracer: recorded.tracer, meter: recorded.meter })
const pass = (id: string) => node(id, (value: number) => value)

it("a journal that is lost ends the run's span", async () => {
  const store = memoryStore()
  const asks = node("asks", (_: number, ctx) => ctx.ask("Continue?"))
  const run = workflow("w").chain(asks).build().run(1, { runId: "r", store, telemetry: recording() })
  await run
  await store.beat({ id: "another process", machine: "another", pid: 1, born: "" })
  await store.claim("r", 1, "another process")
  // The request goes to the other process, which never answers.
  run.respond("r1", "yes").catch(() => undefined)
  await settled()
  expect(recorded.open()).toEqual([])
})

it("a start whose run already exists leaves no span open, whether it joins the run or is rejected", async () => {
  const store = memoryStore()
  const w = workflow("w").chain(pass("a")).build()
  await w.run(1, { runId: "r", store })
  const again = { runId: "r", store, telemetry: recording() }
  expect((await w.run(1, again)).outputs).toEqual([1])
  expect(recorded.open()).toEqual([])
  await expect(w.run(2, again).result).rejects.toMatchObject({ code: "RUN_EXISTS" })
  expect(recorded.open()).toEqual([])
})

it("a resumed run ends its span once", async () => {
  const store = memoryStore()
  let ends = 0
  const t = telemetry({ tracer: recorded.tracer, meter: recorded.meter })
  const counting = {
    built: () => {},
    startRun: (i: never) => {
      const r = t.startRun(i)
      const end = r.end.bind(r)
      r.end = (...a) => {
        ends++
        end(...a)
      }
      return r
    },
  }
  let crash = true
  const a = node("a", (v: number) => (crash ? new Promise<number>(() => {}) : v))
  const w = workflow("w").chain(pass("s"), a).build()
  w.run(1, { runId: "r", store })
  await settled()
  crash = false
  await w.resume("r", { takeOver: true, store, telemetry: counting })
  expect(ends).toBe(1)
})

it("a resumed sub-workflow reports to its caller once", async () => {
  const store = memoryStore()
  let crash = true
  const a = node("a", (v: number) => (crash ? new Promise<number>(() => {}) : v))
  const inner = workflow("inner").chain(a).build()
  const last = node("last", (v: number) => v)
  const w = workflow("w").chain(inner.asNode(), last).build()
  w.run(1, { runId: "r", store })
  await settled()
  crash = false
  expect((await w.resume("r", { takeOver: true, store })).outputs).toEqual([1])
  const entries = (await store.read("r", 0)).map((r) => r.entry.type)
  expect(entries.filter((e) => e === "call.finished")).toHaveLength(1)
})

it("an output is not a message that the edges dropped", async () => {
  const a = node("a", (v: number, ctx) => {
    ctx.output("progress")
    return v
  })
  await workflow("w").chain(a, pass("b")).build().run(1, { telemetry: recording() })
  expect(
    recorded.spans("edge_group.process single").map((s) => s.attributes["superstep.edge_group.outcome"]),
  ).toEqual(["delivered"])
})

it("a journal that is lost with the cancellation still stops the handlers and ends their spans", async () => {
  let aborted = false
  const a = node("a", (_: number, ctx) => {
    ctx.signal.onabort = () => {
      aborted = true
    }
    return new Promise<number>(() => {})
  })
  const memory = memoryStore()
  const store: Store = {
    ...memory,
    append: async (...args) => {
      if (args[2].some((r) => r.entry.type === "run.cancelled")) throw new Error("disk full")
      return memory.append(...args)
    },
  }
  const run = workflow("w").chain(a).build().run(1, { store, telemetry: recording() })
  const result = run.result.catch((e) => e)
  await settled()
  run.cancel()
  expect((await result).code).toBe("JOURNAL_LOST")
  expect(aborted).toBe(true)
  expect(recorded.open()).toEqual([])
})

it("a sub-workflow whose caller failed meanwhile does not start", async () => {
  let ran = false
  const inner = workflow("inner")
    .chain(
      node("x", (v: number) => {
        ran = true
        return v
      }),
    )
    .build()
  let failNow = () => {}
  const a = node({
    id: "a",
    onError: "settle",
    run: async (v: number, ctx) => {
      await Promise.all([
        ctx.call(inner, v),
        new Promise((_, reject) => {
          failNow = () => reject(new Error("no"))
        }),
      ])
      return v
    },
  })
  const memory = memoryStore()
  let release = () => {}
  const store: Store = {
    ...memory,
    append: (...args) => {
      memory.append(...args)
      if (!args[2].some((r) => r.entry.type === "call.started")) return undefined
      return new Promise<void>((resolve) => {
        release = resolve
      })
    },
  }
  const run = workflow("w").chain(a).build().run(1, { store, telemetry: recording() })
  await settled()
  failNow()
  await settled()
  release()
  await settled()
  await run.result
  expect(ran).toBe(false)
})
