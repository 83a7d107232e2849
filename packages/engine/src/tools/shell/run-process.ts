/**
 * Runs one command in its own process group, with bounded output; none of its processes survives. The caller decides
 * which commands may run.
 *
 * P1 No shell is involved: `command` receives `args` unchanged.
 * P2 When the signal aborts, the whole group gets SIGTERM, and SIGKILL after the grace time.
 * P3 When the command ends, the remaining processes of its group are killed.
 * P4 It receives only the environment in `env`, and nothing of ours.
 * P5 When its time is up, or it writes endlessly, its group is ended as in P2, and its output is the result.
 * P6 When our process exits, the remaining groups are killed.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { delimiter, isAbsolute, resolve as resolvePath } from "node:path"
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { isWithin } from "../../files/index.ts"
import { type Clock, systemClock } from "../../runtime/index.ts"
import { Masking } from "../secrets.ts"

export interface ProcessOptions {
  readonly command: string
  readonly args?: readonly string[] | undefined
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Standard input. Default: none. */
  readonly stdin?: string | undefined
  /** Bytes to keep of each output: half from the start, half from the end. Default 50,000. */
  readonly maxOutput?: number | undefined
  /** Milliseconds that it may take. Absent: unlimited. */
  readonly timeout?: number | undefined
  readonly clock?: Clock | undefined
}

export interface ProcessResult {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: BoundedOutput
  readonly stderr: BoundedOutput
  /** Why it was ended early. */
  readonly stopped?: "timeout" | "output"
}

/** Milliseconds from SIGTERM to SIGKILL, and for the last output of a command that has exited. */
const GRACE = 2_000
const MAX_OUTPUT = 50_000
/** A command is ended when it writes more than this many times the kept bytes. */
const FLOOD = 200

export function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const { command, args = [], cwd, env, signal, stdin, maxOutput = MAX_OUTPUT, clock = systemClock } = options
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let child: ChildProcess
    try {
      child = spawn(command, args, { cwd, env, detached: true, stdio: "pipe", windowsHide: true })
    } catch (error) {
      // Arguments that no process accepts, such as a string with NUL.
      reject(notStarted(command, cwd, error))
      return
    }
    const stdout = new BoundedOutput(maxOutput)
    const stderr = new BoundedOutput(maxOutput)
    let disarm: (() => void) | undefined
    let stopped: ProcessResult["stopped"]

    const closeOutputs = () => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    const over = () => {
      disarm?.()
      disarmTimeout?.()
      signal.removeEventListener("abort", stop)
      running.delete(child)
      if (running.size === 0) process.removeListener("exit", endAll)
    }
    const stopFor = (why: "timeout" | "output") => {
      if (stopped !== undefined || signal.aborted) return
      stopped = why
      stop()
    }
    const stop = () => {
      if (hasExited(child)) return closeOutputs()
      endGroup(child, "SIGTERM")
      disarm?.()
      disarm = clock.setTimer(clock.now() + GRACE, () => endGroup(child, "SIGKILL"))
    }
    signal.addEventListener("abort", stop, { once: true })
    const disarmTimeout =
      options.timeout === undefined
        ? undefined
        : clock.setTimer(clock.now() + options.timeout, () => stopFor("timeout"))
    if (running.size === 0) process.on("exit", endAll)
    running.add(child)

    let written = 0
    const keepIn = (output: BoundedOutput) => (chunk: Buffer) => {
      output.add(chunk)
      written += chunk.length
      if (written > FLOOD * maxOutput) stopFor("output")
    }
    child.stdout?.on("data", keepIn(stdout))
    child.stderr?.on("data", keepIn(stderr))
    // A command may close the pipe before it has read all of its input.
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(stdin)

    child.once("error", (error) => {
      over()
      reject(signal.aborted ? signal.reason : notStarted(command, cwd, error))
    })
    child.once("exit", () => {
      endGroup(child, "SIGKILL")
      disarm?.()
      // Processes that left the group may hold the pipes open forever; they are not waited for.
      disarm = clock.setTimer(clock.now() + GRACE, closeOutputs)
    })
    child.once("close", (code, by) => {
      over()
      if (signal.aborted) reject(signal.reason)
      else resolve({ code, signal: by, stdout, stderr, ...(stopped && { stopped }) })
    })
  })
}

/** Running commands, which end with our process. */
const running = new Set<ChildProcess>()

function endAll(): void {
  for (const child of running) endGroup(child, "SIGKILL")
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

export function endGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return
  try {
    // Windows has no process groups: there the command alone is ended.
    if (process.platform === "win32") child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // The group is empty.
  }
}

function notStarted(command: string, cwd: string | undefined, cause: unknown): SuperstepError {
  const { code } = cause as { code?: unknown }
  const where = cwd === undefined ? "" : ` in ${cwd}`
  const message = cause instanceof Error ? cause.message : String(cause)
  const reason = code === "ENOENT" ? "there is no such command or directory." : message
  return terminalError("PROCESS_NOT_STARTED", `"${command}" could not be started${where}: ${reason}`, cause)
}

/** Variables that commands commonly need. They contain no keys or tokens. */
const PLAIN_VARIABLES = "PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TZ TMPDIR".split(" ")
const WINDOWS_VARIABLES = "SystemRoot ComSpec PATHEXT TEMP TMP USERPROFILE".split(" ")

/** Our environment without possible secrets; `more` names further variables to pass on. */
export function plainEnvironment(more: readonly string[] = []): Record<string, string> {
  const system = process.platform === "win32" ? WINDOWS_VARIABLES : []
  const env: Record<string, string> = {}
  for (const name of [...PLAIN_VARIABLES, ...system, ...more]) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return env
}

/**
 * A PATH without relative entries and without directories that the agent may write to, so that it cannot replace a
 * program of the system.
 */
export function programPath(path: string, writable: readonly string[]): string {
  const isWritable = (entry: string) =>
    writable.some((directory) => isWithin(resolvePath(directory), resolvePath(entry)))
  return path
    .split(delimiter)
    .filter((entry) => isAbsolute(entry) && !isWritable(entry))
    .join(delimiter)
}

// Output of a command: if it is too long, its beginning and its end are kept.

export class BoundedOutput {
  readonly #half: number
  readonly #head: Buffer[] = []
  #headSize = 0
  #tail: Buffer[] = []
  #tailSize = 0
  #total = 0

  constructor(maxBytes: number) {
    this.#half = Math.max(1, Math.floor(maxBytes / 2))
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length
    const room = Math.min(this.#half - this.#headSize, chunk.length)
    if (room > 0) {
      this.#head.push(Buffer.from(chunk.subarray(0, room)))
      this.#headSize += room
    }
    if (room >= chunk.length) return
    const rest = chunk.subarray(Math.max(room, chunk.length - this.#half))
    this.#tail.push(Buffer.from(rest))
    this.#tailSize += rest.length
    // Compacted when it exceeds the limit twice over, so that each byte is copied a bounded number of times.
    if (this.#tailSize > 2 * this.#half) this.#gather()
  }

  #gather(): Buffer {
    const all = Buffer.concat(this.#tail)
    const last = all.subarray(Math.max(0, all.length - this.#half))
    this.#tail = [last]
    this.#tailSize = last.length
    return last
  }

  /** The output, decoded and cleaned, with secrets masked, even those that were cut; invalid UTF-8 becomes `�`. */
  text(masking: Masking = NO_SECRETS, clean: (text: string) => string = (text) => text): string {
    const head = Buffer.concat(this.#head)
    const tail = this.#gather()
    const left = this.#total - head.length - tail.length
    if (left === 0) return masking.text(clean(Buffer.concat([head, tail]).toString("utf8")))
    const start = masking.beginning(clean(wholeStart(head)))
    return `${start}\n… [${left} bytes left out] …\n${masking.ending(clean(wholeEnd(tail)))}`
  }
}

const NO_SECRETS = Masking.of([])

/** Without a character that was cut at the end. */
function wholeStart(bytes: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true })
}

/** Without a character that was cut at the start. */
function wholeEnd(bytes: Buffer): string {
  let start = 0
  while (start < Math.min(3, bytes.length) && ((bytes[start] as number) & 0xc0) === 0x80) start++
  return bytes.toString("utf8", start)
}
