/**
 * Our side of the process that DuckDB runs in.
 *
 * D1 One request at a time; the others wait for their turn, and their time counts from it.
 * D2 A request that is not answered in its time, or is aborted, ends: if need be with the process.
 * D3 A process that ended is replaced for the next request, on the same files.
 * D4 A process without a request does not keep ours alive, and ends with it.
 */
import { type ChildProcess, fork } from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { optionalPackage } from "../optional-package.ts"
import type { DuckDbReplies, DuckDbReply, DuckDbRequest, DuckDbSettings } from "./duckdb-messages.ts"
import { failed, refused, timedOut } from "./query-errors.ts"

const require = createRequire(import.meta.url)
/** What an interrupted query gets to end by itself. */
const GRACE = 1_000

export class DuckDbChild {
  readonly #settings: DuckDbSettings
  #child: ChildProcess | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(settings: DuckDbSettings) {
    this.#settings = settings
  }

  ask<R extends DuckDbRequest>(request: R, signal?: AbortSignal): Promise<DuckDbReplies[R["do"]]> {
    const asked = this.#turn.then(async () => {
      signal?.throwIfAborted()
      await this.#start(request)
      return (await this.#send(request, signal)) as DuckDbReplies[R["do"]]
    })
    this.#turn = asked.catch(() => undefined)
    return asked
  }

  close(): void {
    this.#isClosed = true
    this.#child?.kill("SIGKILL")
  }

  async #start(request: DuckDbRequest): Promise<void> {
    if (this.#isClosed) throw new SuperstepError("DATABASE_CLOSED", "The database of files is closed.")
    if (this.#child !== undefined) return
    await optionalPackage("@duckdb/node-api", "SQL over files", async () =>
      require.resolve("@duckdb/node-api"),
    )
    const { program, execArgv } = programOf()
    const child = fork(program, [JSON.stringify(this.#settings)], {
      execArgv,
      env: environment(),
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    })
    child.once("exit", () => {
      if (this.#child === child) this.#child = undefined
    })
    this.#child = child
    if (request.do === "query") await this.#send({ do: "open" }, undefined)
  }

  async #send(request: DuckDbRequest, signal: AbortSignal | undefined): Promise<unknown> {
    const child = this.#child as ChildProcess
    const timeout = request.do === "query" ? request.limits.timeout : undefined
    const timers: NodeJS.Timeout[] = []
    let isKilled = false
    const kill = () => {
      isKilled = true
      child.kill("SIGKILL")
    }
    if (timeout !== undefined) timers.push(setTimeout(kill, timeout + GRACE))
    const onAbort = () => {
      child.send("interrupt", () => undefined)
      timers.push(setTimeout(kill, GRACE))
    }
    signal?.addEventListener("abort", onAbort, { once: true })
    keepAlive(child, true)
    try {
      const reply = await replyOf(child, request)
      signal?.throwIfAborted()
      if ("ok" in reply) return reply.ok
      if (reply.error === "timeout") throw timedOut(timeout as number)
      throw reply.error === "refused" ? refused(reply.message) : failed(reply.message)
    } catch (error) {
      signal?.throwIfAborted()
      if (isSuperstepError(error)) throw error
      throw isKilled && timeout !== undefined ? timedOut(timeout) : this.#died(request, error)
    } finally {
      for (const timer of timers) clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
      keepAlive(child, false)
    }
  }

  #died(request: DuckDbRequest, error: unknown): SuperstepError {
    if (this.#isClosed) return new SuperstepError("DATABASE_CLOSED", "The database of files was closed.")
    const { exit } = error as { exit?: string | number }
    if (request.do !== "query") {
      const message = `DuckDB ended while it read the files (${exit}): is one of them very large or damaged?`
      return new SuperstepError("FILE_UNREADABLE", message, { retryable: false })
    }
    const limit = Math.round(this.#settings.memory / 1_000_000)
    return exit === "SIGKILL"
      ? failed(`it took more memory than the ${limit} MB it may.`)
      : failed(`DuckDB ended because of it (${exit}).`)
  }
}

function replyOf(child: ChildProcess, request: DuckDbRequest): Promise<DuckDbReply> {
  return new Promise((resolve, reject) => {
    const over = (settle: () => void) => {
      child.off("message", onMessage)
      child.off("exit", onExit)
      settle()
    }
    const onMessage = (reply: unknown) => over(() => resolve(reply as DuckDbReply))
    const onExit = (code: number | null, signal: string | null) =>
      over(() => reject(Object.assign(new Error("The process ended."), { exit: signal ?? code })))
    child.on("message", onMessage)
    child.on("exit", onExit)
    // If it cannot be sent the process is ending, and says so.
    child.send(request, () => undefined)
  })
}

function keepAlive(child: ChildProcess, isBusy: boolean): void {
  for (const handle of [child, child.channel]) {
    if (isBusy) handle?.ref()
    else handle?.unref()
  }
}

/** Beside this file, built or in source; Node 20 does not read TypeScript by itself. */
function programOf(): { program: string; execArgv: string[] } {
  const isSource = import.meta.url.endsWith(".ts")
  const program = fileURLToPath(new URL(`./duckdb-process.${isSource ? "ts" : "js"}`, import.meta.url))
  return { program, execArgv: isSource ? ["--import", pathToFileURL(require.resolve("tsx")).href] : [] }
}

/** What a program needs to start, and no secrets. */
function environment(): NodeJS.ProcessEnv {
  const names = ["PATH", "SystemRoot", "TMPDIR", "TEMP", "TMP"]
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}
