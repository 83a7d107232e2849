/**
 * One command in a process group of its own: its output as far as the limit goes, and nothing of it left when it is over.
 * Which commands may run is for the caller to say.
 *
 * P1 No shell between: `command` gets `args` as they are.
 * P2 When the signal aborts, the whole group is told to end, and killed when it has not done so within the grace time.
 * P3 When the command ends, what it left running in its group is killed.
 * P4 It gets the environment that it is given, and nothing of ours.
 * P5 When its time is up, or it writes without end, its group is ended as in P2, and what it wrote is the result.
 * P6 When our process exits, the groups that are left are killed.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { SuperstepError } from "../core/index.ts"
import { type Clock, systemClock } from "../runtime/index.ts"
import { BoundedOutput } from "./bounded-output.ts"

export interface ProcessOptions {
  readonly command: string
  readonly args?: readonly string[] | undefined
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** What it reads; nothing when absent. */
  readonly stdin?: string | undefined
  /** Bytes that are kept of each of its two outputs: the first and the last half of them. Default 50,000. */
  readonly maxOutput?: number | undefined
  /** Milliseconds that it may take; as long as the signal lets it when absent. */
  readonly timeout?: number | undefined
  readonly clock?: Clock | undefined
}

export interface ProcessResult {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: BoundedOutput
  readonly stderr: BoundedOutput
  /** Why it was ended before its time. */
  readonly stopped?: "timeout" | "output"
}

/** Milliseconds from the request to end until the end by force, and for the last output of a command that is over. */
const GRACE = 2_000
const MAX_OUTPUT = 50_000
/** A command that writes this many times what is kept is ended. */
const FLOOD = 200

export function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const { command, args = [], cwd, env, signal, stdin, maxOutput = MAX_OUTPUT, clock = systemClock } = options
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let child: ChildProcess
    try {
      child = spawn(command, args, { cwd, env, detached: true, stdio: "pipe", windowsHide: true })
    } catch (error) {
      // Arguments that no process can take, such as a text with a NUL.
      reject(notStarted(command, cwd, error))
      return
    }
    const stdout = new BoundedOutput(maxOutput)
    const stderr = new BoundedOutput(maxOutput)
    let disarm: (() => void) | undefined
    let stopped: ProcessResult["stopped"]

    const letGo = () => {
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
      if (isDown(child)) return letGo()
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
    // A command that does not read its input to the end closes the pipe; that is its right.
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(stdin)

    child.once("error", (error) => {
      over()
      reject(signal.aborted ? signal.reason : notStarted(command, cwd, error))
    })
    child.once("exit", () => {
      endGroup(child, "SIGKILL")
      disarm?.()
      // What has left the group may hold the pipes for ever; nobody waits for it.
      disarm = clock.setTimer(clock.now() + GRACE, letGo)
    })
    child.once("close", (code, by) => {
      over()
      if (signal.aborted) reject(signal.reason)
      else {
        const why = stopped === undefined ? {} : { stopped }
        resolve({ code, signal: by, stdout, stderr, ...why })
      }
    })
  })
}

/** Commands under way: they go when we go. */
const running = new Set<ChildProcess>()

function endAll(): void {
  for (const child of running) endGroup(child, "SIGKILL")
}

/** Whether the command itself is over. */
function isDown(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function endGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return
  try {
    // Windows has no process groups: there the command alone is ended.
    if (process.platform === "win32") child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // Nobody is left in the group.
  }
}

function notStarted(command: string, cwd: string | undefined, cause: unknown): SuperstepError {
  const { code } = cause as { code?: unknown }
  const where = cwd === undefined ? "" : ` in ${cwd}`
  const text =
    code === "ENOENT"
      ? `"${command}" could not be started${where}: there is no such command or directory.`
      : `"${command}" could not be started${where}: ${cause instanceof Error ? cause.message : String(cause)}`
  return new SuperstepError("PROCESS_NOT_STARTED", text, { cause, retryable: false })
}

/** What a command needs to find its way about. Keys and tokens of ours are not among it. */
const PLAIN_VARIABLES = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
]
const WINDOWS_VARIABLES = ["SystemRoot", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE"]

/** Our environment without what may be secret; `more` names further variables to hand on. */
export function plainEnvironment(more: readonly string[] = []): Record<string, string> {
  const names = process.platform === "win32" ? [...PLAIN_VARIABLES, ...WINDOWS_VARIABLES] : PLAIN_VARIABLES
  const env: Record<string, string> = {}
  for (const name of [...names, ...more]) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return env
}
