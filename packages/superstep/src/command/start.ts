/** Runs the CLI in this process, and returns its exit code. */
import { Console } from "node:console"
import { EXIT, type ExitCode, type Io } from "./cli.ts"
import { main } from "./dispatch.ts"

export async function start(argv: readonly string[]): Promise<number> {
  // For packages that print by themselves, such as prompts.
  if (argv.includes("--no-color")) process.env.NO_COLOR = "1"
  // Output of a user's module is not JSON.
  if (argv.includes("--json")) globalThis.console = new Console(process.stderr)
  const io = processIo()
  const code = await main(argv, io)
  // Flushes the output, because the process exits even if a module or a toolset left something open.
  await Promise.all(
    [io.stdout, io.stderr].map((stream) => new Promise<void>((done) => stream.write("", () => done()))),
  )
  return code
}

function processIo(): Io {
  const listeners = new Set<() => void>()
  const interrupt = (code: ExitCode) => {
    if (listeners.size === 0) process.exit(code)
    for (const listener of [...listeners]) listener()
  }
  process.on("SIGINT", () => interrupt(EXIT.cancelled))
  process.on("SIGTERM", () => interrupt(EXIT.cancelled))
  // The terminal was closed, or its connection broke.
  let hasHungUp = false
  process.on("SIGHUP", () => {
    hasHungUp = true
    interrupt(EXIT.cancelled)
  })
  process.stderr.on("error", () => undefined)
  // Once: every failed write emits an error, and a second interrupt would end the process immediately.
  process.stdout.once("error", (error: NodeJS.ErrnoException) => {
    process.stdout.on("error", () => undefined)
    // After a hang-up nobody reads the output, so this is not a second interrupt.
    if (hasHungUp) return
    // `superstep runs events … | head`: the reader has exited.
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
