import { describe, expect, it } from "vitest"
import { append, channel, node, union, workflow } from "../index.ts"
import { emptyView, type RunEvent, RunFold, type RunView, tasksOf } from "./index.ts"

const texts = channel("texts", append<string>())
const names = channel("names", union<string>())

async function loopOf(supersteps: number): Promise<RunEvent[]> {
  const again = node("again", (n: number, ctx) => {
    ctx.state.write(texts, [`text ${n}`])
    ctx.state.write(names, [`name ${n}`])
    ctx.output(n)
    ctx.log("info", `round ${n}`)
    return n + 1
  })
  const built = workflow("loop", { state: [texts, names] })
    .start(again)
    .loop(again, again, { while: (n) => n < supersteps })
    .build()
  return eventsOf(built.stream(0, { limits: { supersteps } }))
}

async function callsOf(count: number): Promise<RunEvent[]> {
  const inner = workflow("inner")
    .chain(
      node("one", (n: number) => n),
      node("two", (n: number) => n),
    )
    .build()
  const items = node("items", (n: number) => Array.from({ length: n }, (_, i) => i))
  const built = workflow("calls").start(items).map(items, inner.asNode()).build()
  return eventsOf(built.stream(count))
}

async function eventsOf(stream: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Entries copied while all events are folded, and a view is taken after every `each`-th. */
function copiedBy(events: readonly RunEvent[], each: number): number {
  let copied = 0
  const fold = new RunFold(emptyView(), (part) => {
    copied += Object.keys(part).length
  })
  for (const [i, event] of events.entries()) {
    fold.add(event)
    if ((i + 1) % each === 0) void fold.view
  }
  return copied
}

describe("what folding costs (V2)", () => {
  it("is nothing but the events, for 100,000 of them", async () => {
    const [short, long] = [await loopOf(100), await loopOf(12_500)]
    expect(long.length).toBeGreaterThan(100_000)
    // Each part is copied once, when it is still empty; a longer stream copies no more.
    const copied = copiedBy(long, Number.POSITIVE_INFINITY)
    expect(copied).toBe(copiedBy(short, Number.POSITIVE_INFINITY))
    expect(copied).toBeLessThan(100)
    const fold = new RunFold()
    for (const event of long) fold.add(event)
    expect(fold.view.state.texts).toHaveLength(12_500)
    expect(tasksOf(fold.view)).toHaveLength(12_500)
  })

  it("is nothing but the events, for as many workflows below as you like", async () => {
    const events = await callsOf(1_000)
    expect(copiedBy(events, Number.POSITIVE_INFINITY)).toBeLessThan(20 * 1_000)
    const half = await callsOf(500)
    const perCall = (of: readonly RunEvent[], calls: number) => copiedBy(of, Number.POSITIVE_INFINITY) / calls
    expect(perCall(events, 1_000)).toBeLessThanOrEqual(perCall(half, 500) * 1.01)
  })

  it("is a page or two for a view after every event, however long the run is", async () => {
    const alone = async (supersteps: number) => {
      const events = (await loopOf(supersteps)).filter(
        ({ type }) => type.startsWith("task.") || type.startsWith("superstep.") || type.startsWith("run."),
      )
      return copiedBy(events, 1) / events.length
    }
    const [short, long] = [await alone(500), await alone(2_500)]
    expect(long).toBeLessThan(600)
    expect(long / short).toBeLessThan(1.3)
  })

  it("is that of the parts touched since the last view, for a view now and then", async () => {
    const events = await loopOf(2_000)
    const views = Math.floor(events.length / 1_000)
    const largest = 2_000 + 1_000
    // State, outputs, log and pages once per view: never once per event.
    expect(copiedBy(events, 1_000)).toBeLessThan(views * 4 * largest)
  })

  it("keeps the last 1,000 lines of the log", async () => {
    const fold = new RunFold()
    for (const event of await loopOf(1_200)) fold.add(event)
    const { log }: RunView = fold.view
    expect(log).toHaveLength(1_000)
    expect(log.at(-1)).toMatchObject({ message: "round 1199" })
    expect(log.at(0)).toMatchObject({ message: "round 200" })
  })
})
