/** The live channel of a SQLite file: sockets that only its owner reaches, and that wait for nobody. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { LiveListener, LiveQuery, LiveSignal, RunEvent } from "@superstep/engine"
import { describe, expect, onTestFinished, test } from "vitest"
import { type SqliteStore, sqliteStore } from "../index.ts"
import { freshPath } from "../stores.test-support.ts"
import { liveAddresses } from "./live-server.ts"

const live = (name: string, data = ""): RunEvent => ({
  runId: "r",
  seq: 1,
  at: 0,
  path: [],
  type: "custom",
  task: 1,
  node: "n",
  name,
  data,
})

function opened(path: string): SqliteStore {
  const store = sqliteStore({ path })
  onTestFinished(() => store.close())
  return store
}

/** A holder whose run the test plays. */
function holding(store: SqliteStore, holder = "holder") {
  const listeners = new Set<LiveListener>()
  const queries: LiveQuery[] = []
  const service = store.live.serve(holder, (query, listener) => {
    queries.push(query)
    listeners.add(listener)
    listener({ type: "opened", missed: 0 })
    return { leave: () => listeners.delete(listener) }
  })
  return {
    queries,
    listeners,
    service,
    send(signal: LiveSignal) {
      for (const listener of listeners) listener(signal)
    },
  }
}

function watching(store: SqliteStore, holder = "holder", query: LiveQuery = { runId: "r" }) {
  const signals: LiveSignal[] = []
  let changed: () => void = () => undefined
  const subscription = store.live.subscribe(holder, query, (signal) => {
    signals.push(signal)
    changed()
  })
  return {
    signals,
    subscription,
    async until(isIt: (signals: readonly LiveSignal[]) => boolean): Promise<void> {
      while (!isIt(signals)) {
        await new Promise<void>((resolve) => {
          changed = resolve
        })
      }
    },
  }
}
const has = (type: LiveSignal["type"]) => (signals: readonly LiveSignal[]) =>
  signals.some((signal) => signal.type === type)

test("signals reach a watcher on another connection to the file, in order", async () => {
  const path = freshPath()
  const holder = holding(opened(path))
  const watcher = watching(opened(path), "holder", { runId: "r", from: 7 })
  await watcher.until(has("opened"))
  expect(holder.queries).toEqual([{ runId: "r", from: 7 }])
  const sent: LiveSignal[] = [
    { type: "reached", seq: 1 },
    { type: "event", event: live("äöü\n\u2028") },
    { type: "reached", seq: 2 },
    { type: "closed", reason: "over" },
  ]
  for (const signal of sent) {
    holder.send(signal)
    await Promise.resolve()
  }
  await watcher.until(has("closed"))
  expect(watcher.signals.slice(1)).toEqual(sent)
})

test("a large event comes whole", async () => {
  const path = freshPath()
  const holder = holding(opened(path))
  const watcher = watching(opened(path))
  await watcher.until(has("opened"))
  const event = live("large", "ä".repeat(3_000_000))
  holder.send({ type: "event", event })
  await watcher.until(has("event"))
  expect(watcher.signals[1]).toEqual({ type: "event", event })
})

test("several holders of one file have a socket each", async () => {
  const path = freshPath()
  const [one, two] = [holding(opened(path), "one"), holding(opened(path), "two")]
  const store = opened(path)
  const watchers = [watching(store, "one"), watching(store, "two")]
  for (const watcher of watchers) await watcher.until(has("opened"))
  one.send({ type: "event", event: live("of one") })
  two.send({ type: "event", event: live("of two") })
  for (const watcher of watchers) await watcher.until(has("event"))
  expect(watchers.map(({ signals }) => signals[1])).toMatchObject([
    { event: { name: "of one" } },
    { event: { name: "of two" } },
  ])
})

test("a holder that does not listen is reported lost", async () => {
  const watcher = watching(opened(freshPath()), "nobody")
  await watcher.until(has("closed"))
  expect(watcher.signals).toEqual([{ type: "closed", reason: "lost" }])
})

test("a watcher that leaves is forgotten by the holder, and hears nothing more", async () => {
  const path = freshPath()
  const holder = holding(opened(path))
  const [leaves, stays] = [watching(opened(path)), watching(opened(path))]
  await Promise.all([leaves.until(has("opened")), stays.until(has("opened"))])
  leaves.subscription.leave()
  while (holder.listeners.size > 1) await new Promise((resolve) => setImmediate(resolve))
  holder.send({ type: "closed", reason: "left" })
  await stays.until(has("closed"))
  expect(leaves.signals).toHaveLength(1)
})

test("a watcher that does not read costs the holder nothing: what it missed is a gap with its number", async () => {
  const path = freshPath()
  const holder = holding(opened(path))
  // Until the socket is there; then one that reads nothing until it is resumed.
  await watching(opened(path)).until(has("opened"))
  const [address] = liveAddresses(path, "holder")
  const socket = connect(address?.path as string)
  socket.pause()
  socket.write('{"runId":"r"}\n')
  while (holder.listeners.size < 2) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 2_000; i++) {
    holder.send({ type: "event", event: live(`${i}`, "x".repeat(10_000)) })
    holder.send({ type: "reached", seq: i + 1 })
  }
  let text = ""
  const ended = new Promise((resolve) => socket.on("close", resolve))
  socket.setEncoding("utf8").on("data", (more: string) => {
    text += more
    // The gap is sent once there is room again.
    if (text.includes("live.gap") && !text.includes('"closed"'))
      holder.send({ type: "closed", reason: "over" })
  })
  socket.resume()
  await ended
  const signals = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LiveSignal)
  const events = signals.flatMap((signal) => (signal.type === "event" ? [signal.event] : []))
  const gaps = events.flatMap((event) => (event.type === "live.gap" ? [event.lost ?? 0] : []))
  const names = events.flatMap((event) => (event.type === "custom" ? [Number(event.name)] : []))
  expect(gaps).toHaveLength(1)
  expect(names).toEqual(names.map((_, i) => i))
  expect(names.length + (gaps[0] as number)).toBe(2_000)
  expect(signals.at(-2)).toEqual({ type: "reached", seq: 2_000 })
  expect(signals.at(-1)).toEqual({ type: "closed", reason: "over" })
})

test("a connection that asks for nothing, or nonsense, is closed", async () => {
  const path = freshPath()
  const holder = holding(opened(path))
  await watching(opened(path)).until(has("opened"))
  const [address] = liveAddresses(path, "holder")
  for (const text of ["nonsense\n", '{"runId":1}\n', "x".repeat(5_000)]) {
    const socket = connect(address?.path as string)
    const closed = new Promise((resolve) => socket.on("close", resolve))
    socket.on("error", () => undefined)
    socket.write(text)
    socket.resume()
    await closed
  }
  expect(holder.queries).toHaveLength(1)
})

describe.skipIf(process.platform === "win32")("sockets (needs file modes)", () => {
  test("are in a folder that only their owner enters, and go with the store", async () => {
    const path = freshPath()
    const store = opened(path)
    holding(store)
    await watching(opened(path)).until(has("opened"))
    expect(statSync(`${path}-live`).mode & 0o777).toBe(0o700)
    expect(readdirSync(`${path}-live`)).toHaveLength(1)
    await store.close()
    expect(existsSync(`${path}-live`)).toBe(false)
  })

  test("are not made for a run that is over at once", async () => {
    const path = freshPath()
    const { service } = holding(opened(path))
    service.close()
    await watching(opened(path)).until(has("closed"))
    expect(existsSync(`${path}-live`)).toBe(false)
  })

  test("are not used where others can get in", async () => {
    const path = freshPath()
    mkdirSync(`${path}-live`)
    chmodSync(`${path}-live`, 0o777)
    holding(opened(path))
    const watcher = watching(opened(path))
    // There is a second place, in a folder of the user's own.
    await watcher.until(has("opened"))
    expect(readdirSync(`${path}-live`)).toEqual([])
  })

  test("are not looked for in a folder that is a link, whoever listens there", async () => {
    const path = freshPath()
    const store = opened(path)
    const [address] = liveAddresses(path, "holder")
    const elsewhere = mkdtempSync(join(tmpdir(), "superstep-live-"))
    onTestFinished(() => rmSync(elsewhere, { recursive: true }))
    symlinkSync(elsewhere, `${path}-live`)
    const received: string[] = []
    const server = createServer((socket) => socket.on("data", (data) => received.push(`${data}`)))
    await new Promise<void>((resolve) => server.listen(address?.path, resolve))
    const watcher = watching(store)
    await watcher.until(has("closed"))
    expect(received).toEqual([])
    await new Promise((resolve) => server.close(resolve))
  })

  test("of a file with a long path are among the temporary files", async () => {
    const folder = join(dirname(freshPath()), "long".repeat(30))
    mkdirSync(folder, { recursive: true })
    const path = join(folder, "runs.db")
    const holder = holding(opened(path))
    const watcher = watching(opened(path))
    await watcher.until(has("opened"))
    const addresses = liveAddresses(path, "holder")
    expect(addresses).toHaveLength(1)
    expect(Buffer.byteLength(addresses[0]?.path ?? "")).toBeLessThan(104)
    expect(statSync(addresses[0]?.folder ?? "").mode & 0o777).toBe(0o700)
    holder.service.close()
    expect(existsSync(addresses[0]?.folder ?? "")).toBe(false)
  })

  test("are found through any link to the file", async () => {
    const path = freshPath()
    holding(opened(path))
    const link = join(dirname(path), "link.db")
    symlinkSync(path, link)
    expect(liveAddresses(link, "holder")).toEqual(liveAddresses(path, "holder"))
  })

  test("of processes that were killed are removed by the next holder; those in use and new ones stay", async () => {
    const path = freshPath()
    const stores = [opened(path), opened(path)] as const
    holding(stores[0], "used")
    await watching(opened(path), "used").until(has("opened"))
    const folder = `${path}-live`
    const [used] = readdirSync(folder)
    const leftOver = async (name: string, age: number) => {
      const socket = join(folder, name)
      // A socket that nobody listens at: its server was moved away before it was closed.
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(socket, resolve))
      const { renameSync } = await import("node:fs")
      renameSync(socket, `${socket}.kept`)
      await new Promise((resolve) => server.close(resolve))
      renameSync(`${socket}.kept`, socket)
      utimesSync(socket, new Date(Date.now() - age), new Date(Date.now() - age))
    }
    await leftOver("old.sock", 60_000)
    await leftOver("new.sock", 0)
    utimesSync(join(folder, used ?? ""), new Date(0), new Date(0))
    writeFileSync(join(folder, "note"), "")
    holding(stores[1], "next")
    await watching(opened(path), "next").until(has("opened"))
    while (existsSync(join(folder, "old.sock"))) await new Promise((resolve) => setImmediate(resolve))
    expect(readdirSync(folder)).toContain("new.sock")
    expect(readdirSync(folder)).toContain(used)
    expect(readdirSync(folder)).toContain("note")
  })
})
