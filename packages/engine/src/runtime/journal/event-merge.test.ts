import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isLive, type RunEvent } from "../ports/events.ts"
import { EventMerge } from "./event-merge.ts"
import { EventBuffer } from "./event-stream.ts"

const journaled = (seq: number): RunEvent => ({ runId: "r", seq, at: 0, path: [], type: "run.waiting" })
const live = (seq: number, name: string): RunEvent => ({
  runId: "r",
  seq,
  at: 0,
  path: [],
  type: "custom",
  task: 1,
  node: "n",
  name,
})
const textOf = (event: RunEvent) =>
  event.type === "custom"
    ? `${event.seq} ${event.name}`
    : event.type === "live.gap"
      ? `${event.seq} gap ${event.lost}`
      : `${event.seq}`

function taken(merge: EventMerge): string[] {
  const events: string[] = []
  for (let event = merge.next(); event !== undefined; event = merge.next()) events.push(textOf(event))
  return events
}

describe("merging journaled and live events", () => {
  test("a journaled event waits until the channel has reached it (E3)", () => {
    const merge = new EventMerge(0)
    merge.open()
    merge.addJournaled([journaled(1), journaled(2)], 2)
    expect(taken(merge)).toEqual([])
    expect(merge.isHolding).toBe(true)
    merge.addLive(live(1, "a"))
    expect(taken(merge)).toEqual(["1", "1 a"])
    merge.reach(2)
    expect(taken(merge)).toEqual(["2"])
  })

  test("a live event waits until what it follows was read from the store (E2)", () => {
    const merge = new EventMerge(0)
    merge.open()
    merge.addLive(live(2, "a"))
    expect(taken(merge)).toEqual([])
    expect(merge.isBehind).toBe(true)
    merge.addJournaled([journaled(1), journaled(2), journaled(3)], 3)
    expect(taken(merge)).toEqual(["1", "2", "2 a"])
  })

  test("without a channel journaled events wait for nothing; live events that come too late are a gap (E2)", () => {
    const merge = new EventMerge(0)
    merge.addJournaled([journaled(1), journaled(2)], 2)
    expect(taken(merge)).toEqual(["1", "2"])
    merge.open()
    merge.addLive(live(1, "a"))
    merge.addLive(live(1, "b"))
    merge.addLive(live(2, "c"))
    expect(taken(merge)).toEqual(["2 gap 2", "2 c"])
  })

  test("live events from before the number that was asked for are left out without a gap", () => {
    const merge = new EventMerge(5)
    merge.open()
    merge.addLive(live(3, "old"))
    merge.addLive(live(5, "new"))
    merge.addJournaled([], 5)
    expect(taken(merge)).toEqual(["5 new"])
  })

  test("any interleaving of channel and store gives the order in which things happened, with gaps only (E1, E2)", () => {
    const happened = fc.array(fc.boolean(), { maxLength: 60 })
    const choices = fc.array(fc.nat({ max: 5 }), { maxLength: 300 })
    fc.assert(
      fc.property(happened, choices, fc.integer({ min: 1, max: 20 }), (kinds, picks, maxLive) => {
        let seq = 0
        const order = [true, ...kinds].map((isJournaled, i) =>
          isJournaled ? journaled(++seq) : live(seq, `${i}`),
        )
        const merge = new EventMerge(0, maxLive)
        merge.open()
        const seen: RunEvent[] = []
        let [sent, read] = [0, 0]
        const send = () => {
          const event = order[sent++]
          if (event === undefined) return
          if (isLive(event)) merge.addLive(event)
          else merge.reach(event.seq)
        }
        const readAll = () => {
          // The store may be ahead of the channel, never behind it.
          const upTo = order.slice(0, Math.max(sent, Math.min(order.length, sent + 7)))
          const events = upTo.filter((event) => !isLive(event) && event.seq > read)
          read = events.at(-1)?.seq ?? read
          merge.addJournaled(events, read)
        }
        const take = () => {
          const event = merge.next()
          if (event !== undefined) seen.push(event)
          return event !== undefined
        }
        for (const pick of picks) {
          if (pick < 2) send()
          else if (pick === 2) readAll()
          else take()
        }
        while (sent < order.length) send()
        readAll()
        while (take());
        // Everything that was delivered is there in its order, and what is missing is counted by the gaps.
        const delivered = seen.filter(({ type }) => type !== "live.gap")
        expect(delivered).toEqual(order.filter((event) => delivered.includes(event)))
        expect(delivered.filter((event) => !isLive(event))).toEqual(order.filter((event) => !isLive(event)))
        const lost = seen.reduce((sum, event) => sum + (event.type === "live.gap" ? (event.lost ?? 0) : 0), 0)
        expect(delivered.length + lost).toBe(order.length)
        expect(seen.map((event) => event.seq)).toEqual(seen.map((event) => event.seq).sort((a, b) => a - b))
      }),
    )
  })
})

describe("a buffer of events", () => {
  test("drops live events above its bound, and one gap with their number stands in their place", () => {
    const buffer = new EventBuffer(2)
    for (const event of [journaled(1), live(1, "a"), live(1, "b"), live(1, "c"), live(1, "d"), journaled(2)])
      buffer.push(event)
    const seen: string[] = []
    for (let event = buffer.shift(); event !== undefined; event = buffer.shift()) seen.push(textOf(event))
    expect(seen).toEqual(["1", "1 a", "1 b", "1 gap 2", "2"])
    buffer.push(live(2, "e"))
    expect(buffer.shift()).toMatchObject({ name: "e" })
    expect(buffer.isEmpty).toBe(true)
  })

  test("keeps every journaled event, however many there are", () => {
    const buffer = new EventBuffer(1)
    for (let seq = 1; seq <= 100; seq++) buffer.push(journaled(seq))
    let count = 0
    while (buffer.shift() !== undefined) count++
    expect(count).toBe(100)
  })
})
