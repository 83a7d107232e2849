/**
 * Runs one of this package's programs in a separate process, for native code that could exhaust memory or time.
 *
 * P1 The process handles one request at a time. Others wait for their turn, or until they are aborted; their time limit
 *    starts with their turn.
 * P2 If a request exceeds its time limit or is aborted, the process is killed.
 * P3 A process that exited is replaced for the next request. Its time limit starts when the new process is ready.
 * P4 An idle process does not keep this process alive, and exits with it.
 */
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath, pathToFileURL } from "node:url"
import { requireFrom } from "@superstep/engine/packages"
import { Semaphore } from "./connections.ts"

/** Milliseconds for a program to start. */
const START_TIMEOUT = 30_000
/** A program's first message. Any other message is the reason why the program cannot be used, and answers the request. */
export const UP = "up"

export interface RequestOptions {
  /** Milliseconds. Default: no limit. */
  readonly timeout?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** The process exited instead of answering. */
export class ProgramEnded extends Error {
  readonly why: "late" | "closed" | "died"
  /** The exit code, the signal that killed it, or the reason why it could not be started. */
  readonly exit: string | number | undefined

  constructor(why: ProgramEnded["why"], exit?: string | number | undefined) {
    super("The program exited.")
    this.why = why
    this.exit = exit
  }
}

export class ChildProgram<Request extends object, Reply> {
  readonly #program: URL
  readonly #settings: object
  readonly #up = new WeakMap<ChildProcess, Promise<unknown>>()
  readonly #turns = new Semaphore(1)
  #child: ChildProcess | undefined
  #isClosed = false

  /** The program receives its settings as JSON, as its only argument. */
  constructor(program: URL, settings: object) {
    this.#program = program
    this.#settings = settings
  }

  ask(request: Request, options: RequestOptions): Promise<Reply> {
    return this.#turns.take(options.signal, () => this.#send(request, options))
  }

  /** Kills the process, which fails the running request. */
  close(): void {
    this.#isClosed = true
    this.#child?.kill("SIGKILL")
  }

  async #send(request: Request, { timeout, signal }: RequestOptions): Promise<Reply> {
    if (this.#isClosed) throw new ProgramEnded("closed")
    const child = this.#child ?? this.#start()
    const kill = () => {
      if (this.#child === child) this.#child = undefined
      child.kill("SIGKILL")
    }
    let isLate = false
    const late = () => {
      isLate = true
      kill()
    }
    let timer: NodeJS.Timeout | undefined = setTimeout(late, START_TIMEOUT)
    signal?.addEventListener("abort", kill, { once: true })
    keepAlive(child, true)
    try {
      const first = await this.#up.get(child)
      if (first !== UP) {
        kill()
        return first as Reply
      }
      clearTimeout(timer)
      timer = timeout === undefined ? undefined : setTimeout(late, timeout)
      // If it cannot be sent, the process is exiting and reports that itself.
      child.send(request, () => undefined)
      return (await messageOf(child)) as Reply
    } catch (error) {
      signal?.throwIfAborted()
      const { exit } = error as ProgramEnded
      throw new ProgramEnded(this.#isClosed ? "closed" : isLate ? "late" : "died", exit)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", kill)
      keepAlive(child, false)
    }
  }

  #start(): ChildProcess {
    // In this repository, Node 20 does not run TypeScript by itself, and packages may not be built.
    const isSource = this.#program.pathname.endsWith(".ts")
    const tsx = () => pathToFileURL(requireFrom(import.meta.url).resolve("tsx")).href
    const child = fork(fileURLToPath(this.#program), [JSON.stringify(this.#settings)], {
      execArgv: isSource ? ["--conditions=@superstep/source", "--import", tsx()] : [],
      env: environment(),
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    })
    const gone = () => {
      if (this.#child === child) this.#child = undefined
    }
    child.once("exit", gone)
    // A process that could not be started emits no exit.
    child.on("error", gone)
    this.#child = child
    const up = messageOf(child)
    // The caller that awaits it receives the error.
    up.catch(() => undefined)
    this.#up.set(child, up)
    return child
  }
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const over = (settle: () => void) => {
      child.off("message", onMessage)
      child.off("exit", onExit)
      child.off("error", onError)
      settle()
    }
    const onMessage = (message: unknown) => over(() => resolve(message))
    const onExit = (code: number | null, signal: string | null) =>
      over(() => reject(new ProgramEnded("died", signal ?? code ?? undefined)))
    const onError = ({ code, message }: NodeJS.ErrnoException) =>
      over(() => reject(new ProgramEnded("died", code ?? message)))
    child.on("message", onMessage)
    child.on("exit", onExit)
    child.on("error", onError)
  })
}

function keepAlive(child: ChildProcess, isBusy: boolean): void {
  for (const handle of [child, child.channel]) {
    if (isBusy) handle?.ref()
    else handle?.unref()
  }
}

/** The variables that a program needs to start, without secrets, and UTC as the time zone. */
function environment(): NodeJS.ProcessEnv {
  const names = ["PATH", "SystemRoot", "TMPDIR", "TEMP", "TMP"]
  const known = names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return { ...Object.fromEntries(known), TZ: "UTC" }
}

/** For the program: its settings, from its only argument. */
export function programSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] as string) as Settings
}

/** For the program: answers requests with the function that `start` returns. `failed` converts an error to a reply. */
export async function answerParent<Request, Reply>(
  start: () => Promise<(request: Request) => Promise<Reply>>,
  failed: (error: unknown) => Reply,
): Promise<void> {
  process.on("disconnect", endNow)
  try {
    const answer = await start()
    process.on("message", (request: Request) => {
      void answer(request)
        .catch(failed)
        .then((reply) => process.send?.(reply as object))
    })
    process.send?.(UP)
  } catch (error) {
    process.send?.(failed(error) as object)
  }
}

/** Kills this process if it uses far more memory than allowed. Native code exceeds its own limits. */
export function watchMemory(bytes: number): NodeJS.Timeout {
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() > bytes * 1.5 + 256_000_000) endNow()
  }, 20)
  return watch.unref()
}

/** Kills the process: an orderly exit would wait for the running request. */
function endNow(): void {
  process.kill(process.pid, "SIGKILL")
}
