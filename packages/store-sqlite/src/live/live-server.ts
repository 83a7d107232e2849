/**
 * The holder's side of the live channel: a socket of its own, at which watchers name a run and get its signals as lines of
 * JSON. What a watcher does not read in time is dropped and counted, up to a `live.gap`; nothing waits for it.
 *
 * The sockets of a store file are in a folder `<file>-live` beside it or, where that path is too long for a socket, in a
 * folder of the user's own among the temporary files. The folders are private: a user who cannot read the file cannot
 * connect either. On Windows there are named pipes, which other users cannot write to.
 */

import { createHash } from "node:crypto"
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs"
import type { Server, Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type {
  LiveQuery,
  LiveService,
  LiveSignal,
  LiveSubscription,
  RunEvent,
  WatchLive,
} from "@superstep/engine"

type Net = typeof import("node:net")

/** Milliseconds that a holder lives before it listens: most runs of a script are over by then. */
const LISTEN_AFTER = 20
/** Bytes that wait for a watcher before live events are dropped. */
const MAX_WAITING = 1_048_576
const MAX_QUERY = 4_096
/** Milliseconds after which a socket that nobody listens at is taken for left over. */
const LEFT_OVER = 10_000

export function serveLive(file: string, holder: string, watch: WatchLive): LiveService {
  let server: LiveServer | undefined
  let isClosed = false
  const start = async () => {
    const net = await import("node:net")
    if (isClosed) return
    server = new LiveServer(net, watch)
    // Without a socket watchers in other processes see journaled events only.
    await server.listen(liveAddresses(file, holder)).catch(() => undefined)
  }
  const timer = setTimeout(() => void start().catch(() => undefined), LISTEN_AFTER)
  timer.unref()
  return {
    close() {
      isClosed = true
      clearTimeout(timer)
      server?.close()
    },
  }
}

class LiveServer {
  readonly #net: Net
  readonly #server: Server
  readonly #watchers = new Set<Watcher>()
  #address: LiveAddress | undefined
  #isClosed = false

  constructor(net: Net, watch: WatchLive) {
    this.#net = net
    this.#server = net.createServer((socket) => {
      const watcher = new Watcher(socket, watch, () => this.#watchers.delete(watcher))
      this.#watchers.add(watcher)
    })
    this.#server.unref()
    this.#server.on("error", () => undefined)
  }

  async listen(addresses: readonly LiveAddress[]): Promise<void> {
    for (const address of addresses) {
      // The last process that leaves removes the folder, perhaps right now.
      for (let attempt = 0; attempt < 3 && !this.#isClosed; attempt++) {
        if (!(await this.#listenAt(address))) continue
        this.#address = address
        onExit.add(this)
        if (this.#isClosed) return this.close()
        if (address.folder !== undefined) await this.#removeLeftOvers(address.folder)
        return
      }
    }
  }

  async #listenAt({ path, folder }: LiveAddress): Promise<boolean> {
    try {
      if (folder !== undefined && !makePrivate(folder)) return false
    } catch {
      return false
    }
    return await new Promise<boolean>((resolve) => {
      const failed = () => resolve(false)
      this.#server.once("error", failed)
      this.#server.listen(path, () => {
        this.#server.off("error", failed)
        resolve(true)
      })
    })
  }

  /** Of processes that were killed. One that was just made may not listen yet. */
  async #removeLeftOvers(folder: string): Promise<void> {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
      if (age > LEFT_OVER && (await this.#isRefused(path))) rmSync(path, { force: true })
    }
  }

  #isRefused(path: string): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = this.#net.connect(path)
      socket.once("connect", () => {
        socket.destroy()
        resolve(false)
      })
      socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"))
    })
  }

  close(): void {
    this.#isClosed = true
    this.#server.close()
    for (const watcher of this.#watchers) watcher.close()
    this.remove()
  }

  /** What an ended process would leave behind. */
  remove(): void {
    onExit.delete(this)
    const { path, folder } = this.#address ?? {}
    if (path === undefined || folder === undefined) return
    try {
      unlinkSync(path)
    } catch {
      // Closing it has removed it.
    }
    removeEmpty(folder)
  }
}

/** Servers of this process, whose sockets are removed when it ends. */
const onExit = {
  servers: new Set<LiveServer>(),
  listener: () => {
    for (const server of onExit.servers) server.remove()
  },
  add(server: LiveServer): void {
    if (this.servers.size === 0) process.on("exit", this.listener)
    this.servers.add(server)
  },
  delete(server: LiveServer): void {
    if (this.servers.delete(server) && this.servers.size === 0) process.off("exit", this.listener)
  },
}

/** A connection: first what it asks for, then what it gets. */
class Watcher {
  readonly #socket: Socket
  readonly #watch: WatchLive
  #query = ""
  #subscription: LiveSubscription | undefined
  #isOver = false
  /** How far the journal has come, not sent to the watcher yet. */
  #reached: number | undefined
  #isFlushing = false
  /** The first live event that was dropped, and how many were. */
  #dropped: { readonly first: RunEvent; lost: number } | undefined

  constructor(socket: Socket, watch: WatchLive, onEnd: () => void) {
    this.#socket = socket
    this.#watch = watch
    socket.unref()
    socket.setEncoding("utf8")
    socket.on("data", (text: string) => this.#read(text))
    socket.on("drain", () => this.#flush())
    socket.on("error", () => undefined)
    socket.on("close", () => {
      this.#isOver = true
      this.#subscription?.leave()
      onEnd()
    })
  }

  #read(text: string): void {
    // A watcher sends one line.
    if (this.#subscription !== undefined) return
    this.#query += text
    const end = this.#query.indexOf("\n")
    if (end < 0) {
      if (this.#query.length > MAX_QUERY) this.#socket.destroy()
      return
    }
    const query = parseQuery(this.#query.slice(0, end))
    if (query === undefined) this.#socket.destroy()
    else this.#subscription = this.#watch(query, (signal) => this.#send(signal))
  }

  #send(signal: LiveSignal): void {
    if (this.#isOver) return
    switch (signal.type) {
      case "event":
        if (this.#isFull || this.#dropped !== undefined) this.#drop(signal.event)
        else this.#write(signal)
        break
      case "reached":
        this.#reached = signal.seq
        this.#flushSoon()
        break
      case "closed":
        this.#flush(true)
        this.#write(signal)
        this.close()
        break
      default:
        this.#write(signal)
    }
  }

  get #isFull(): boolean {
    return this.#socket.writableLength > MAX_WAITING
  }

  #drop(event: RunEvent): void {
    this.#dropped ??= { first: event, lost: 0 }
    this.#dropped.lost += event.type === "live.gap" ? (event.lost ?? 1) : 1
  }

  /** Of many numbers at once only the last one is sent. */
  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  /** The gap first, then how far the journal has come meanwhile. */
  #flush(isLast = false): void {
    if (this.#isOver || (this.#isFull && !isLast)) return
    if (this.#dropped !== undefined) {
      const { first, lost } = this.#dropped
      const { runId, seq, at } = first
      this.#dropped = undefined
      this.#write({ type: "event", event: { runId, seq, at, path: [], type: "live.gap", lost } })
    }
    if (this.#reached === undefined) return
    this.#write({ type: "reached", seq: this.#reached })
    this.#reached = undefined
  }

  #write(signal: LiveSignal): void {
    this.#socket.write(`${JSON.stringify(signal)}\n`)
  }

  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription?.leave()
    this.#socket.end()
  }
}

function parseQuery(line: string): LiveQuery | undefined {
  try {
    const { runId, from } = JSON.parse(line) as { runId?: unknown; from?: unknown }
    if (typeof runId !== "string") return undefined
    return typeof from === "number" ? { runId, from } : { runId }
  } catch {
    return undefined
  }
}

/** The shortest limit of all platforms (macOS), with its closing zero. */
const MAX_PATH_BYTES = 103

export interface LiveAddress {
  readonly path: string
  /** The folder that must be there for it; undefined for a pipe. */
  readonly folder: string | undefined
}

/** In the order in which both sides try them. */
export function liveAddresses(file: string, holder: string): readonly LiveAddress[] {
  const real = realpathSync(file)
  if (process.platform === "win32") {
    return [{ path: `\\\\.\\pipe\\superstep-${digest(`${real}\n${holder}`)}`, folder: undefined }]
  }
  const name = `${digest(holder)}.sock`
  return [`${real}-live`, join(tmpdir(), `superstep-${process.getuid?.()}-${digest(real)}`)]
    .map((folder) => ({ path: join(folder, name), folder }))
    .filter(({ path }) => Buffer.byteLength(path) <= MAX_PATH_BYTES)
}

/** Creates the folder if it is missing. False when others could get in, or it is not ours. */
function makePrivate(folder: string): boolean {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return isPrivate(folder)
}

/** Nobody else can have put anything into it. */
export function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Others listen there.
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16)
}
