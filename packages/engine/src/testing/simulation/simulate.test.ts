import { expect, test } from "vitest"
import { z } from "zod"
import { append, channel, node, workflow } from "../../index.ts"
import type { Simulation } from "../index.ts"
import { simulate } from "./simulation.ts"
import { tamper } from "./tamper.ts"

const upper = node("upper", (text: string) => text.toUpperCase())
const reverse = node("reverse", async (text: string) => [...text].reverse().join(""))
const shout = workflow("shout").chain(upper, reverse).build()

const seeds = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

async function underSeeds(count: number, run: (seed: number) => Promise<Simulation>): Promise<Simulation[]> {
  const all: Simulation[] = []
  for (const seed of seeds(count)) all.push(await run(seed))
  return all
}

test("a simulation returns the result, the journal, the executions and the seed", async () => {
  const simulation = await simulate(shout, "ab", { seed: 5 })
  expect(simulation.seed).toBe(5)
  expect(simulation.crashes).toBe(0)
  expect(simulation.result).toMatchObject({ status: "completed", outputs: ["BA"] })
  expect(simulation.journal.map(({ entry }) => entry.type)).toEqual([
    "run.started",
    "task.finished",
    "task.finished",
  ])
  expect(simulation.executions).toEqual([
    { node: "upper", task: 1, frame: "", calls: 1, completions: 1, repetitions: 0 },
    { node: "reverse", task: 2, frame: "", calls: 1, completions: 1, repetitions: 0 },
  ])
})

test("the same seed gives the same simulation, to the byte", async () => {
  const faults = { crash: 3, duplicateTimers: 0.5 }
  for (const seed of seeds(20)) {
    const [one, two] = [
      await simulate(shout, "ab", { seed, faults }),
      await simulate(shout, "ab", { seed, faults }),
    ]
    expect(JSON.stringify(one)).toBe(JSON.stringify(two))
  }
})

test("the seed chooses which task ends first", async () => {
  const [a, b, c] = ["a", "b", "c"].map((id) => node(id, async () => id)) as [
    typeof upper,
    typeof upper,
    typeof upper,
  ]
  const race = workflow("race", { schedule: "flow" }).start(upper).fanOut(upper, [a, b, c]).build()
  const orders = await underSeeds(60, (seed) => simulate(race, "x", { seed }))
  expect(new Set(orders.map(({ result }) => result.outputs.join(""))).size).toBe(6)
})

test("wherever the process dies, the run ends the same, and no task runs after its end is recorded (M1)", async () => {
  const calm = await simulate(shout, "ab", { seed: 1 })
  for (let at = 1; at <= calm.journal.length; at++) {
    for (const seed of seeds(10)) {
      const { result, crashes, executions } = await simulate(shout, "ab", { seed, faults: { crash: [at] } })
      expect(result.outputs).toEqual(["BA"])
      expect(crashes).toBeLessThanOrEqual(1)
      expect(executions.map(({ repetitions }) => repetitions)).toEqual([0, 0])
    }
  }
})

test("the number of random crashes is at most the allowed one, and some happen", async () => {
  const all = await underSeeds(40, (seed) => simulate(shout, "ab", { seed, faults: { crash: 2 } }))
  expect(Math.max(...all.map(({ crashes }) => crashes))).toBe(2)
  expect(all.every(({ result }) => result.outputs[0] === "BA")).toBe(true)
})

test("a handler is called again only if it was executing when the process died", async () => {
  const all = await underSeeds(40, (seed) => simulate(shout, "ab", { seed, faults: { crash: 2 } }))
  for (const { crashes, executions } of all) {
    const calls = executions.reduce((sum, execution) => sum + execution.calls, 0)
    expect(calls).toBeGreaterThanOrEqual(2)
    expect(calls).toBeLessThanOrEqual(2 + crashes)
  }
})

test("recorded steps do not run again, and keep their results", async () => {
  let runs = 0
  const stepping = node("stepping", async (text: string, ctx) => {
    const one = await ctx.step("one", () => `${text}${++runs}`)
    return ctx.step("two", async () => `${one}!`)
  })
  const flow = workflow("steps").start(stepping).build()
  for (const seed of seeds(30)) {
    const { result, journal } = await simulate(flow, "x", { seed, faults: { crash: 3 } })
    const recorded = journal.flatMap(({ entry }) => (entry.type === "step.recorded" ? [entry.value] : []))
    expect(recorded).toHaveLength(2)
    expect(result.outputs).toEqual([recorded[1]])
  }
})

test("questions are answered at times chosen by the seed, even between crashes", async () => {
  const asking = node("asking", async (n: number, ctx) => n + (await ctx.ask<number>("how many?")))
  const inner = workflow("inner").start(asking).build()
  const outer = workflow("outer")
    .chain(
      inner.asNode(),
      node("after", (n: number) => n * 2),
    )
    .build()
  for (const seed of seeds(30)) {
    const answers = ({ prompt }: { prompt: string }) => (prompt === "how many?" ? 20 : undefined)
    const { result } = await simulate(outer, 1, { seed, faults: { crash: 3 }, answers })
    expect(result).toMatchObject({ status: "completed", outputs: [42] })
  }
})

test("an unanswered question leaves the run waiting, with its request", async () => {
  const asking = node("asking", (_: null, ctx) => ctx.ask("well?"))
  const flow = workflow("ask").start(asking).build()
  for (const answers of [undefined, () => undefined]) {
    const { result } = await simulate(flow, null, { seed: 3, faults: { crash: 2 }, answers })
    expect(result.status).toBe("waiting")
    expect(result.requests).toMatchObject([{ prompt: "well?", node: "asking" }])
  }
})

test("an invalid answer is reported as a mistake of the test", async () => {
  const asking = node("asking", (_: null, ctx) => ctx.ask({ prompt: "n?", schema: z.number() }))
  const simulated = simulate(workflow("ask").start(asking).build(), null, { seed: 1, answers: () => "many" })
  await expect(simulated).rejects.toMatchObject({ code: "REQUEST_INVALID" })
})

test("time passes by itself when nothing else is left to do", async () => {
  const sleepy = node("sleepy", async (_: null, ctx) => {
    await ctx.sleep(3_600_000)
    return "rested"
  })
  const { result, journal } = await simulate(workflow("nap").start(sleepy).build(), null, {
    seed: 1,
    faults: { duplicateTimers: 1 },
  })
  expect(result.outputs).toEqual(["rested"])
  expect(journal.map(({ entry }) => [entry.type, entry.at])).toEqual([
    ["run.started", 0],
    ["timer.set", 0],
    ["timer.fired", 3_600_000],
    ["task.finished", 3_600_000],
  ])
})

test("a node's timeout fires only if timers may fire at any time", async () => {
  const slow = node({ id: "slow", timeout: 1_000, run: async () => "done" })
  const flow = workflow("slow").start(slow).build()
  const idle = await underSeeds(20, (seed) => simulate(flow, null, { seed }))
  expect(new Set(idle.map(({ result }) => result.status))).toEqual(new Set(["completed"]))
  const anytime = await underSeeds(40, (seed) => simulate(flow, null, { seed, timers: "anytime" }))
  expect(new Set(anytime.map(({ result }) => result.status))).toEqual(new Set(["completed", "failed"]))
})

test("attempts that are retried fail at random, before the handler's work or after it", async () => {
  const sturdy = node({
    id: "sturdy",
    retry: { attempts: 5, delay: 10, on: ["RATE_LIMIT"] },
    run: async () => "ok",
  })
  const flow = workflow("sturdy").start(sturdy).build()
  const all = await underSeeds(40, (seed) => simulate(flow, null, { seed, faults: { fail: 0.5 } }))
  expect(all.every(({ result }) => result.outputs[0] === "ok")).toBe(true)
  const failures = all.flatMap(({ journal }) =>
    journal.flatMap(({ entry }) => (entry.type === "task.failed" ? [entry.error.code] : [])),
  )
  expect(failures.length).toBeGreaterThan(10)
  expect(new Set(failures)).toEqual(new Set(["RATE_LIMIT"]))
  expect(all.some(({ executions: [one] }) => (one?.completions ?? 0) > 1)).toBe(true)
  expect(all.some(({ executions: [one] }) => (one?.calls ?? 0) > (one?.completions ?? 0))).toBe(true)
})

test("a run that fails has a result like any other", async () => {
  const failing = node("failing", () => {
    throw new Error("no")
  })
  const { result } = await simulate(workflow("f").start(failing).build(), null, {
    seed: 1,
    faults: { crash: 2 },
  })
  expect(result).toMatchObject({ status: "failed", error: { message: "no" } })
})

test("the options of any run are supported", async () => {
  const log = channel("log", append<string>())
  const writing = node("writing", (text: string, ctx) => ctx.state.write(log, [text]))
  const { result } = await simulate(
    workflow("w", { state: [log] })
      .start(writing)
      .build(),
    "b",
    {
      seed: 1,
      run: { state: { log: ["a"] } },
    },
  )
  expect(result.state).toEqual({ log: ["a", "b"] })
})

test("a slow process continues next to the one that claimed its run, and changes nothing", async () => {
  const nap = node("nap", async (text: string, ctx) => {
    await ctx.sleep(10)
    return `${await ctx.step("length", () => text.length)}`
  })
  const flow = workflow("nap").chain(upper, nap, reverse).build()
  const under = (takeOver: number) =>
    underSeeds(60, (seed) => simulate(flow, "abcdefghijkl", { seed, faults: { crash: 2, takeOver } }))
  const endsOf = (all: Simulation[]) =>
    all.reduce((sum, { executions }) => sum + executions.reduce((n, one) => n + one.completions, 0), 0)
  const [dead, slow] = [await under(0), await under(1)]
  for (const { result, journal } of [...dead, ...slow]) {
    expect(result.outputs).toEqual(["21"])
    expect(journal).toHaveLength(7)
  }
  // A handler in a dead process never ends.
  expect(endsOf(slow)).toBeGreaterThan(endsOf(dead))
})

test("a clock that is set back changes only times", async () => {
  const sleepy = node("sleepy", async (_: null, ctx) => {
    await ctx.sleep(60_000)
    await ctx.sleep(60_000)
    return "rested"
  })
  const flow = workflow("nap").start(sleepy).build()
  const faults = { crash: 1, clockBack: 0.3 }
  const all = await underSeeds(40, (seed) => simulate(flow, null, { seed, faults }))
  expect(all.every(({ result }) => result.outputs[0] === "rested")).toBe(true)
  const goesBack = ({ journal }: Simulation) =>
    journal.some(({ entry }, i) => entry.at < (journal[i - 1]?.entry.at ?? entry.at))
  expect(all.filter(goesBack).length).toBeGreaterThan(10)
})

test("a handler that changes values it has passed to the engine changes nothing (M6)", async () => {
  const log = channel("log", append<{ n: number }>())
  const sends = node("sends", async (_: null, ctx) => {
    ctx.state.write(log, [{ n: 1 }])
    ctx.output({ deep: [{ n: 2 }] })
    return { n: await ctx.step("three", () => 3) }
  })
  const takes = node("takes", (message: { n: number }) => ({ list: [message] }))
  const flow = workflow("sneaky", { state: [log] })
    .chain(sends, takes)
    .build()
  const faults = { crash: 2, changeSent: true }
  for (const { result } of await underSeeds(30, (seed) => simulate(flow, null, { seed, faults }))) {
    expect(result.outputs).toEqual([{ deep: [{ n: 2 }] }, { list: [{ n: 3 }] }])
    expect(result.state).toEqual({ log: [{ n: 1 }] })
  }
})

test("tampering finds every part that can be changed, and none of a frozen value", () => {
  expect(tamper({ a: [1] }).changed).toEqual(["a[0]", "a[1]", "a", ".tampered"])
  expect(tamper(Object.freeze([1]))).toEqual({ refused: 2, changed: [] })
})

test("a handler that waits for something outside the simulation is reported as stuck", async () => {
  const forever = node("forever", () => new Promise(() => undefined))
  const simulated = simulate(workflow("forever").start(forever).build(), null, { seed: 1 })
  await expect(simulated).rejects.toMatchObject({ code: "SIMULATION_STUCK" })
})

test("an invalid input is an error at once", async () => {
  const strict = node({ id: "strict", input: z.number(), run: (n) => n })
  const simulated = simulate(workflow("strict").start(strict).build(), "no" as never, { seed: 1 })
  await expect(simulated).rejects.toMatchObject({ code: "INPUT_INVALID" })
})
