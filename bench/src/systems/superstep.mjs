// Ours, as a user gets it by default: no store, no telemetry, the default schedule.
import { node, workflow } from "superstep"
import { checksum, expectAnswer, expectEvents, itemList, personsAnswer } from "../answers.mjs"
import { makeGate } from "../gate.mjs"

function increment(id) {
  return node(id, async (value) => value + 1)
}

function chainWorkflow(steps) {
  const nodes = itemList(steps).map((index) => increment(`n${index}`))
  return workflow("chain")
    .chain(...nodes)
    .build()
}

/** The default limit of supersteps is for agents; these runs are longer on purpose. */
function atMost(supersteps) {
  return { limits: { supersteps } }
}

async function onlyOutput(run) {
  const result = await run
  expectAnswer("superstep: status", result.status, "completed")
  return result.outputs[0]
}

/** `makeOptions` gives the options of each run, over the default ones. */
export function chain(steps, makeOptions = () => undefined) {
  const built = chainWorkflow(steps)
  const limits = atMost(steps + 1)
  return () => onlyOutput(built.run(0, { ...limits, ...makeOptions() }))
}

export function loop(passes) {
  const first = increment("first")
  const second = increment("second")
  const last = node("last", (value) => value)
  const built = workflow("loop")
    .start(first)
    .edge(first, second)
    .loop(second, first, { while: (value) => value < 2 * passes, max: passes, exit: last })
    .build()
  const limits = atMost(2 * passes + 2)
  return () => onlyOutput(built.run(0, limits))
}

function fanOutWorkflow(work) {
  const source = node("source", async (count) => itemList(count))
  const worker = node("worker", work)
  const gather = node("gather", async (list) => checksum(list))
  return workflow("fan-out").start(source).map(source, worker, gather).build()
}

export function fanOut(items) {
  const built = fanOutWorkflow(async (item) => item + 1)
  return () => onlyOutput(built.run(items))
}

/** A workflow that calls itself: no level is built, only run. */
export function nested(levels) {
  const caller = node("caller", async (left, ctx) => {
    if (left === 0) return 0
    const [below] = await ctx.call(built, left - 1)
    return below + 1
  })
  const built = workflow("nested").start(caller).build()
  return () => onlyOutput(built.run(levels))
}

export function stream(steps) {
  const built = chainWorkflow(steps)
  const limits = atMost(steps + 1)
  return async () => {
    let events = 0
    let answer
    for await (const event of built.stream(0, limits)) {
      events += 1
      if (event.type === "output") answer = event.value
    }
    expectEvents(events, steps)
    return answer
  }
}

export async function pending(items) {
  const gate = makeGate(items)
  const built = fanOutWorkflow(async (item) => {
    await gate.wait()
    return item + 1
  })
  const run = built.run(items)
  await gate.full
  return {
    finish() {
      gate.open()
      return onlyOutput(run)
    },
  }
}

export async function idle(runs) {
  const asking = node("asking", async (value, ctx) => value + (await ctx.ask({ prompt: "How many?" })))
  const built = workflow("idle").start(asking).build()
  const waiting = []
  for (let index = 0; index < runs; index++) {
    const run = built.run(1)
    const { status, requests } = await run
    expectAnswer("superstep: status", status, "waiting")
    waiting.push({ run, request: requests[0].id })
  }
  return {
    async finish() {
      let sum = 0
      for (const { run, request } of waiting) {
        run.respond(request, personsAnswer)
        sum += await onlyOutput(run)
      }
      return sum
    },
  }
}
