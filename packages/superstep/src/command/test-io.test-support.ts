/** A command line in a test: readable streams, its own folder, and key presses. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { onTestFinished } from "vitest"
import type { Io } from "./cli.ts"
import { main } from "./dispatch.ts"

export interface TestIoOptions {
  /** Files by name, created first. */
  readonly files?: Readonly<Record<string, string>> | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The content of stdin. Absent: empty. */
  readonly stdin?: string | Uint8Array | undefined
  /** The streams that are a terminal. */
  readonly terminals?: readonly ("stdin" | "stdout" | "stderr")[] | undefined
}

export interface TestIo extends Io {
  readonly cwd: string
  readonly stdin: PassThrough & { isTTY?: boolean }
  /** The output so far. */
  readonly written: { readonly stdout: string; readonly stderr: string }
  /** Resolves when stdout or stderr has the text, or has it so many times. */
  seen(text: string, times?: number): Promise<void>
  interrupt(): void
  /** Resolves when something listens for `interrupt`. */
  listened(): Promise<void>
  readonly exits: readonly number[]
}

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export function testIo(options: TestIoOptions = {}): TestIo {
  const { files = {}, env = {}, stdin, terminals = [] } = options
  const cwd = mkdtempSync(join(tmpdir(), "superstep-command-"))
  // The heartbeat thread of a store closes its own connection to the file after the store is closed.
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 10 }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  const written = { stdout: "", stderr: "" }
  const waiting = new Set<() => void>()
  const listeners = new Set<() => void>()
  const listenedTo: (() => void)[] = []
  const exits: number[] = []
  const output = (name: "stdout" | "stderr") => {
    const stream = new PassThrough()
    stream.setEncoding("utf8").on("data", (text: string) => {
      written[name] += text
      for (const look of waiting) look()
    })
    return Object.assign(stream, { isTTY: terminals.includes(name), columns: 80 })
  }
  const input = Object.assign(new PassThrough(), {
    isTTY: terminals.includes("stdin"),
    setRawMode: () => undefined,
  })
  if (stdin !== undefined) input.end(stdin)
  else if (!input.isTTY) input.end()
  return {
    stdin: input,
    stdout: output("stdout"),
    stderr: output("stderr"),
    // Searches by words: the offline model takes seconds to load.
    env: { SUPERSTEP_EMBEDDINGS: "none", ...env },
    cwd,
    written,
    exits,
    exitNow: (code) => void exits.push(code),
    onInterrupt(listener) {
      listeners.add(listener)
      for (const resolve of listenedTo.splice(0)) resolve()
      return () => listeners.delete(listener)
    },
    listened: () =>
      new Promise((resolve) => {
        if (listeners.size > 0) resolve()
        else listenedTo.push(resolve)
      }),
    interrupt() {
      for (const listener of [...listeners]) listener()
    },
    seen: (text, times = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (![written.stdout, written.stderr].some((output) => output.split(text).length > times)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}

/** Runs one command to its end. */
export async function superstep(
  argv: readonly string[],
  options: TestIoOptions | TestIo = {},
): Promise<Ended> {
  const io = "written" in options ? options : testIo(options)
  const before = { ...io.written }
  const running = main(argv, io)
  let hasEnded = false
  // A test that failed or was too slow leaves its command running, with the models that it registered for this process.
  onTestFinished(async () => {
    if (hasEnded) return
    io.interrupt()
    await running.catch(() => undefined)
  })
  const code = await running.finally(() => {
    hasEnded = true
  })
  // The output arrives in the next turns of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
  return {
    code,
    stdout: io.written.stdout.slice(before.stdout.length),
    stderr: io.written.stderr.slice(before.stderr.length),
  }
}
