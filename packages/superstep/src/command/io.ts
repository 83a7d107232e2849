/** What the command has of the world around it: tests give it another one. */
import type { Readable, Writable } from "node:stream"
import { EXIT, type ExitCode } from "./exit-codes.ts"

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined }
  readonly stdout: Writable & Screen
  readonly stderr: Writable & Screen
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Ctrl-C, a polite kill, a closed terminal, or a reader that has left. Gives the way to stop listening. */
  onInterrupt(listener: () => void): () => void
  /** Ends the process on the spot. */
  exitNow(code: number): void
}

interface Screen {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export function processIo(): Io {
  const listeners = new Set<() => void>()
  const interrupt = (code: ExitCode) => {
    if (listeners.size === 0) process.exit(code)
    for (const listener of [...listeners]) listener()
  }
  process.on("SIGINT", () => interrupt(EXIT.cancelled))
  process.on("SIGTERM", () => interrupt(EXIT.cancelled))
  // The terminal was closed, or the connection to it broke.
  let hasHungUp = false
  process.on("SIGHUP", () => {
    hasHungUp = true
    interrupt(EXIT.cancelled)
  })
  process.stderr.on("error", () => undefined)
  // Once: each write that fails tells, and a second interrupt would end the process on the spot.
  process.stdout.once("error", (error: NodeJS.ErrnoException) => {
    process.stdout.on("error", () => undefined)
    // Nobody reads after a hang-up: that is no second interrupt.
    if (hasHungUp) return
    // `superstep runs events … | head`: whoever read has gone.
    if (error.code === "EPIPE") return interrupt(EXIT.cancelled)
    process.stderr.write(`superstep: Cannot write to stdout: ${error.message}.\n`)
    interrupt(EXIT.failed)
  })
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    onInterrupt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    exitNow: (code) => process.exit(code),
  }
}
