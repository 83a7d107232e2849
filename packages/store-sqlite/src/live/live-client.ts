/** The watcher's side of the live channel: connects to the socket of a holder and reads the signals of one run. */

import type { Socket } from "node:net"
import type { LiveListener, LiveQuery, LiveSignal, LiveSubscription } from "@superstep/engine"
import { isPrivate, liveAddresses } from "./live-server.ts"

/** Milliseconds between attempts to reach a holder that does not listen yet, and how many there are. */
const TRY_AGAIN = 20
const ATTEMPTS = 8

export function subscribeLive(
  file: string,
  holder: string,
  query: LiveQuery,
  listener: LiveListener,
): LiveSubscription {
  let socket: Socket | undefined
  let isOver = false

  function leave(): void {
    isOver = true
    socket?.destroy()
  }

  /** The holder does not answer, or no longer. */
  function end(): void {
    if (isOver) return
    leave()
    listener({ type: "closed", reason: "lost" })
  }

  function take(line: string): void {
    if (isOver) return
    try {
      const signal = JSON.parse(line) as LiveSignal
      if (signal.type === "closed") leave()
      listener(signal)
    } catch {
      end()
    }
  }

  function follow(connection: Socket): void {
    socket = connection
    if (isOver) return leave()
    // The follower also polls the store, which keeps the process alive; the socket does not.
    socket.unref()
    socket.setEncoding("utf8")
    let rest = ""
    socket.on("data", (text: string) => {
      const lines = text.split("\n")
      // Joined once it is complete: a large event comes in many pieces.
      lines[0] = rest + lines[0]
      rest = lines.pop() ?? ""
      for (const line of lines) take(line)
    })
    socket.on("error", () => undefined)
    socket.on("close", end)
    socket.write(`${JSON.stringify(query)}\n`)
  }

  async function open(): Promise<void> {
    const net = await import("node:net")
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN))
      for (const { path, folder } of liveAddresses(file, holder)) {
        if (isOver) return
        // In a folder that others can write to, anybody may listen.
        if (folder !== undefined && !isPrivate(folder)) continue
        const connection = await connected(net.connect(path))
        if (connection !== undefined) return follow(connection)
      }
    }
    end()
  }

  open().catch(end)
  return { leave }
}

function connected(socket: Socket): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(socket))
    socket.once("error", () => resolve(undefined))
  })
}
