import type { RunEvent, Runtime, StoredRun } from "@superstep/engine"
import { expect, test } from "vitest"
import { eventResponse } from "./events.ts"
import { Feeds } from "./feed.ts"

const journaled = (seq: number): RunEvent => ({ runId: "r", seq, at: 0, path: [], type: "run.waiting" })
const line = (seq: number, n: number): RunEvent => ({
  ...{ runId: "r", seq, at: 0, path: [], task: 1, node: "n" },
  ...{ type: "log", level: "info", message: `${n}` },
})

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

test("a watcher that is slower than the feed keeps learns that live events are missing", async () => {
  const [lines, end] = [gate(), gate()]
  let sent = 0
  // One journaled event, then more live ones than a feed keeps, then the next journaled one.
  async function* events() {
    yield journaled(1)
    await lines.opened
    for (; sent < 9_000; sent++) yield line(1, sent)
    await end.opened
    yield journaled(2)
  }
  const feeds = new Feeds({ get: () => ({ events }) } as unknown as Runtime)
  const { signal } = new AbortController()
  // Another watcher keeps the feed open meanwhile.
  const fast = feeds.watch("r", 0, signal)
  await fast.next()
  const watcher = feeds.watch("r", 0, signal)
  expect((await watcher.next()).value).toMatchObject({ seq: 1, type: "run.waiting" })
  lines.open()
  while (sent < 9_000) await new Promise(setImmediate)
  end.open()
  const seen: RunEvent[] = []
  for await (const event of watcher) seen.push(event)
  expect(seen[0]).toMatchObject({ type: "live.gap", seq: 1 })
  expect(seen.filter(({ type }) => type === "live.gap")).toHaveLength(1)
  expect(seen.at(-2)).toMatchObject({ type: "log", message: "8999" })
  expect(seen.at(-1)).toMatchObject({ seq: 2 })
})

test("a watcher that continues in the store learns that live events are missing", async () => {
  const [lines, end] = [gate(), gate()]
  let isWritten = false
  // Live events of number 1, then more journaled events than a feed keeps.
  async function* events({ after }: { after: number }) {
    if (after > 0) {
      for (let seq = after + 1; seq <= 9_000; seq++) yield journaled(seq)
      return
    }
    yield journaled(1)
    await lines.opened
    for (let n = 0; n < 10; n++) yield line(1, n)
    for (let seq = 2; seq <= 9_000; seq++) yield journaled(seq)
    isWritten = true
    await end.opened
  }
  const feeds = new Feeds({ get: () => ({ events }) } as unknown as Runtime)
  const { signal } = new AbortController()
  const fast = feeds.watch("r", 0, signal)
  await fast.next()
  const watcher = feeds.watch("r", 0, signal)
  expect((await watcher.next()).value).toMatchObject({ seq: 1, type: "run.waiting" })
  lines.open()
  while (!isWritten) await new Promise(setImmediate)
  end.open()
  const seen: RunEvent[] = []
  for await (const event of watcher) seen.push(event)
  expect(seen[0]).toMatchObject({ type: "live.gap", seq: 1 })
  expect(seen.slice(1).map(({ seq }) => seq)).toEqual(Array.from({ length: 8_999 }, (_, i) => i + 2))
})

test("1,000 watchers of one run share one reader, and each gets every event", async () => {
  let readers = 0
  const { open, opened } = gate()
  async function* events() {
    readers++
    yield journaled(1)
    await opened
    yield line(1, 0)
    yield journaled(2)
  }
  const feeds = new Feeds({ get: () => ({ events }) } as unknown as Runtime)
  const seen = Array.from({ length: 1_000 }, async () => {
    const types: string[] = []
    for await (const { type } of feeds.watch("r", 0, new AbortController().signal)) types.push(type)
    return types.join()
  })
  await new Promise(setImmediate)
  expect(feeds.watching).toBe(1_000)
  open()
  expect(new Set(await Promise.all(seen))).toEqual(new Set(["run.waiting,log,run.waiting"]))
  expect([readers, feeds.watching]).toEqual([1, 0])
})

test("a stream whose events stop before their run has ended asks the client to connect again", async () => {
  async function* events() {
    yield journaled(1)
  }
  const feeds = new Feeds({ get: () => ({ events }) } as unknown as Runtime)
  const run = { runId: "r", status: "waiting" } as StoredRun
  const options = { after: 0, types: undefined, depth: undefined, heartbeat: 60_000 }
  const { signal } = new AbortController()
  const response = eventResponse(feeds, run, "ndjson", options, { request: signal, drain: signal })
  const lines = (await response.text()).trim().split("\n")
  expect(lines.map((text) => JSON.parse(text))).toEqual([journaled(1), { type: "end", reason: "reconnect" }])
})
