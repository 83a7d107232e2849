/** Live events across real processes on one SQLite file: this process watches, others execute. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type RunEvent, Runtime } from "superstep"
import { sqliteStore } from "superstep/sqlite"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../bundled.ts"
import { Process } from "../crash/processes.ts"
import type { TalkerCommand, TalkerMessage } from "./talker.ts"

const program = bundled(join(import.meta.dirname, "talker.ts"))

class Talker {
  readonly process: Process<TalkerMessage>
  #sent = 0

  constructor(path: string) {
    this.process = new Process<TalkerMessage>(program, { path })
  }

  async start(runId: string, workflow: "talks" | "says" = "talks"): Promise<void> {
    this.process.send(JSON.stringify({ type: "start", runId, workflow } satisfies TalkerCommand))
    await this.began(runId)
  }

  async began(runId: string): Promise<void> {
    await this.process.waitFor((message) => message.type === "began" && message.runId === runId)
  }

  /** Resolves when the command is done. */
  async send(command: TalkerCommand): Promise<void> {
    this.process.send(JSON.stringify(command))
    this.#sent++
    await this.process.waitFor(
      () => this.process.messages.filter(({ type }) => type === "done").length >= this.#sent,
    )
  }
}

/** A file, and the processes that use it. All are removed with the test. */
function field(name = "runs.db") {
  const folder = mkdtempSync(join(tmpdir(), "superstep-live-"))
  const path = join(folder, name)
  const talkers: Talker[] = []
  mkdirSync(join(path, ".."), { recursive: true })
  const store = sqliteStore({ path })
  const runtime = new Runtime({ store, workflows: [] })
  onTestFinished(async () => {
    for (const { process } of talkers) process.signal("SIGKILL")
    await runtime.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    path,
    store,
    runtime,
    async talker(): Promise<Talker> {
      const talker = new Talker(path)
      talkers.push(talker)
      await talker.process.waitFor(({ type }) => type === "ready")
      return talker
    },
  }
}

/** Collects in the background. */
class Watcher {
  readonly seen: RunEvent[] = []
  readonly ended: Promise<void>
  #changed: () => void = () => undefined

  constructor(events: AsyncIterable<RunEvent>) {
    this.ended = (async () => {
      for await (const event of events) {
        this.seen.push(event)
        this.#changed()
      }
    })()
    // A test that is over has closed the store.
    this.ended.catch(() => undefined)
  }

  get names(): readonly string[] {
    return this.seen.flatMap((event) => (event.type === "custom" ? [event.name] : []))
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => `${i}`)
/** A holder listens. */
const isServed = (path: string) => existsSync(`${path}-live`) && readdirSync(`${path}-live`).length > 0
const gaps = ({ seen }: Watcher) => seen.filter(({ type }) => type === "live.gap")
/** Journaled events have consecutive numbers, and each live event the one before it. */
function expectOrder(seen: readonly RunEvent[]): void {
  let last = 0
  for (const { type, seq } of seen) {
    const isLive = type === "custom" || type === "log" || type === "model.delta" || type === "live.gap"
    expect(seq).toBe(isLive ? last : last + 1)
    last = seq
  }
}

test("a watcher in another process sees live events as they happen, in order with the journaled ones", async () => {
  const { runtime, talker } = field()
  const holder = await talker()
  await holder.start("r")
  const watcher = new Watcher(runtime.get("r").events({ after: 0 }))
  const twice = new Watcher(runtime.get("r").events({ after: 0 }))
  for (let i = 0; i < 5; i++) {
    // Seen before anything else happens: nothing but the channel can have brought it.
    await holder.send({ type: "emit", from: i * 10, count: 10 })
    await watcher.until(() => watcher.names.length === (i + 1) * 10)
    await holder.send({ type: "step", name: `${i}` })
    await watcher.until(() => watcher.seen.at(-1)?.type === "step.recorded")
  }
  await holder.send({ type: "finish" })
  await Promise.all([watcher.ended, twice.ended])
  expect(watcher.names).toEqual(upTo(50))
  expectOrder(watcher.seen)
  expect(watcher.seen.at(-1)?.type).toBe("run.finished")
  expect(gaps(watcher)).toEqual([])
  expect(twice.seen).toEqual(watcher.seen)
})

test("a burst of live and journaled events keeps its order", async () => {
  const { runtime, talker } = field()
  const holder = await talker()
  await holder.start("r")
  const watchers = upTo(5).map(() => new Watcher(runtime.get("r").events({ after: 0 })))
  await holder.send({ type: "emit", from: 0, count: 20 })
  for (const watcher of watchers) await watcher.until(() => watcher.names.length === 20)
  for (let i = 1; i < 100; i++) {
    void holder.send({ type: "emit", from: i * 20, count: 20 })
    void holder.send({ type: "step", name: `${i}` })
  }
  await holder.send({ type: "finish" })
  for (const watcher of watchers) {
    await watcher.ended
    expect(watcher.names).toEqual(upTo(2_000))
    expectOrder(watcher.seen)
  }
})

test("what a model says reaches a watcher in another process", async () => {
  const { path, runtime, talker } = field()
  const holder = await talker()
  await holder.start("r", "says")
  while (!isServed(path)) await new Promise((resolve) => setImmediate(resolve))
  const watcher = new Watcher(runtime.get("r").events({ after: 0 }))
  await watcher.until(() =>
    watcher.seen.some((event) => event.type === "task.started" && event.node === "talks"),
  )
  const text = watcher.seen.map((event) => (event.type === "model.delta" ? event.text : "")).join("")
  expect(text).toBe("The quick brown fox jumps over the lazy dog.")
  expectOrder(watcher.seen)
  await holder.send({ type: "finish" })
  await watcher.ended
})

test("a watcher stays when the holder is killed, marks what is missing, and follows the next one", async () => {
  const { runtime, talker } = field()
  const holder = await talker()
  await holder.start("r")
  const watcher = new Watcher(runtime.get("r").events({ after: 0 }))
  await holder.send({ type: "emit", from: 0, count: 10 })
  await watcher.until(() => watcher.names.length === 10)
  holder.process.signal("SIGKILL")
  const next = await talker()
  await next.began("r")
  await next.send({ type: "emit", from: 10, count: 10 })
  await watcher.until(() => watcher.names.length === 20)
  await next.send({ type: "finish" })
  await watcher.ended
  expect(watcher.names).toEqual(upTo(20))
  expect(gaps(watcher)).toHaveLength(1)
  const gap = watcher.seen.findIndex(({ type }) => type === "live.gap")
  expect(watcher.seen.slice(0, gap).filter(({ type }) => type === "custom")).toHaveLength(10)
  expectOrder(watcher.seen)
  expect(watcher.seen.at(-1)?.type).toBe("run.finished")
})

test("a watcher that stops reading does not slow the run; it continues with a gap", async () => {
  const { runtime, talker } = field()
  const holder = await talker()
  await holder.start("r")
  const events = runtime.get("r").events({ after: 0 })
  const first = (await events.next()).value as RunEvent
  const COUNT = 50_000
  await holder.send({ type: "emit", from: 0, count: COUNT })
  await holder.send({ type: "finish" })
  await holder.process.waitFor(({ type }) => type === "ended")
  const watcher = new Watcher(events)
  await watcher.ended
  const lost = gaps(watcher).reduce((sum, gap) => sum + (gap.type === "live.gap" ? (gap.lost ?? 0) : 0), 0)
  expect(lost).toBeGreaterThan(0)
  expect(watcher.names.length + lost).toBe(COUNT)
  const numbers = watcher.names.map(Number)
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
  expectOrder([first, ...watcher.seen])
})

test("a file with a path too long for a socket is watched too", async () => {
  const { runtime, talker } = field(join("deep".repeat(30), "runs.db"))
  const holder = await talker()
  await holder.start("r")
  const watcher = new Watcher(runtime.get("r").events({ after: 0 }))
  await holder.send({ type: "emit", from: 0, count: 1 })
  await watcher.until(() => watcher.names.length === 1)
  await holder.send({ type: "finish" })
  await watcher.ended
})

test("a process that ends by itself leaves no socket", async () => {
  const { path, runtime, talker } = field()
  const holder = await talker()
  await holder.start("r")
  const watcher = new Watcher(runtime.get("r").events({ after: 0 }))
  await holder.send({ type: "emit", from: 0, count: 1 })
  await watcher.until(() => watcher.names.length === 1)
  expect(readdirSync(`${path}-live`)).toHaveLength(1)
  holder.process.send(JSON.stringify({ type: "exit" } satisfies TalkerCommand))
  await holder.process.end()
  expect(existsSync(`${path}-live`)).toBe(false)
})
