/** `superstep worker`: claims queued runs of definitions and modules, and executes them until it is stopped. */
import { statSync, watch } from "node:fs"
import { readdir } from "node:fs/promises"
import type { AddressInfo } from "node:net"
import { dirname, join, resolve } from "node:path"
import type { Runtime, RuntimeOptions, RuntimeProblem, RuntimeRun } from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  definitionFlags,
  modelFlag,
  type OutputFlags,
  outputFlags,
  parseCount,
  parseDuration,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { type OpenStore, storeAddress, storeOf } from "../open/store.ts"
import { isWorkflowFile, openWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { shortId } from "../run/find-run.ts"
import { sanitizeLine } from "../terminal/terminal.ts"

function workerCommand(cli: Cli): Command {
  const command = new Command()
    .description("Execute queued runs and schedules of these workflows, until Ctrl-C or SIGTERM.")
    .argument("<files...>", "definitions, modules, or folders with them")
    .option("--concurrency <n>", "number of runs that execute at the same time (default: 10)", parseCount)
    .option("--queues <names>", "serve these queues only: a,b (default: all)", parseQueues)
    .option("--grace <time>", "time for runs to finish when stopped (default: 30s)", parseDuration)
    .option("--health <port>", "serve /healthz and /readyz on this port", parsePort)
    .option("--watch", "load the workflows again when their files change")
    .action((files: readonly string[], flags: WorkerFlags) => work(files, flags, cli))
  return complete(
    command,
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    ["superstep worker flows/ --concurrency 20 --queues default,mail", "superstep worker story.yaml --watch"],
    "Runs are queued with superstep enqueue or runtime.enqueue, or by the schedules of the files. When it is stopped, the worker claims nothing more, waits for --grace, and releases what is left: another worker continues it.",
  )
}

async function work(files: readonly string[], flags: WorkerFlags, cli: Cli): Promise<void> {
  const found = (await Promise.all(files.map((file) => filesIn(file, cli)))).flat()
  await runWorker(cli, [...new Set(found)], flags)
}

/** A folder contributes the workflows directly in it. */
async function filesIn(source: string, { io }: Cli): Promise<readonly string[]> {
  const path = resolve(io.cwd, source)
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  if (!isFolder) return [source]
  const names = (await readdir(path)).filter((name) => !name.startsWith(".") && isWorkflowFile(name)).sort()
  if (names.length === 0) throw usageError(`${source} has no definitions or modules.`)
  return names.map((name) => join(source, name))
}

function parseQueues(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim())
  if (names.every((name) => name !== "")) return names
  throw new InvalidArgumentError("Write names that are not empty, for example default,mail.")
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError("Write a port from 0 to 65535; 0 chooses a free one.")
}

export const commands = { worker: workerCommand }

/**
 * Executes queued runs until it is stopped: loads the workflows, claims their runs, prints their progress, answers health
 * checks, and reloads workflows when their files change. After the first Ctrl-C or SIGTERM it claims no more runs and
 * lets active ones finish within the grace period; the others are released. The second one ends the process immediately.
 * If a newer version upgrades the store, the worker stops with a failure, so that its supervisor restarts it.
 */

export interface WorkerFlags extends OutputFlags, StoreFlags, DefinitionFlags {
  readonly concurrency?: number | undefined
  readonly queues?: readonly string[] | undefined
  /** Milliseconds. */
  readonly grace?: number | undefined
  readonly health?: number | undefined
  readonly watch?: true | undefined
}

const CONCURRENCY = 10
const GRACE = 30_000
/** Milliseconds after the last change of a file until the workflows are reloaded. */
const SETTLED = 150

export async function runWorker(cli: Cli, files: readonly string[], flags: WorkerFlags): Promise<void> {
  const store = await storeOf(cli, flags)
  const worker = new Worker(cli, store, files, flags)
  try {
    await worker.untilStopped()
  } finally {
    await store.close()
  }
  cli.exit(worker.isOutdated ? EXIT.failed : EXIT.completed)
}

class Worker {
  readonly #cli: Cli
  readonly #store: OpenStore
  readonly #files: readonly string[]
  readonly #flags: WorkerFlags
  #opened: readonly OpenedWorkflow[] = []
  #runtime: Runtime | undefined
  #version = 0
  #isStopping = false
  #isOutdated = false
  #stop: () => void = () => undefined
  #interrupts = 0
  /** Serializes loads and reloads. */
  #loading: Promise<void> = Promise.resolve()

  constructor(cli: Cli, store: OpenStore, files: readonly string[], flags: WorkerFlags) {
    this.#cli = cli
    this.#store = store
    this.#files = files
    this.#flags = flags
  }

  /** Whether a newer version has upgraded the store. */
  get isOutdated(): boolean {
    return this.#isOutdated
  }

  async untilStopped(): Promise<void> {
    const { io } = this.#cli
    const stopped = new Promise<void>((resolve) => {
      this.#stop = resolve
    })
    const stopListening = io.onInterrupt(() => {
      this.#interrupts++
      if (this.#interrupts > 1) io.exitNow(EXIT.cancelled)
      else this.#stop()
    })
    try {
      await this.#workUntil(stopped)
    } finally {
      stopListening()
    }
  }

  async #workUntil(stopped: Promise<void>): Promise<void> {
    const stopWatching = this.#watchFiles()
    this.#loading = this.#load()
    await this.#loading
    const stopServing = await this.#serveHealth()
    await stopped
    this.#isStopping = true
    // An upgraded store records nothing that finishes now.
    const grace = this.#isOutdated ? 0 : (this.#flags.grace ?? GRACE)
    this.#log("stopping", `Stopping: runs have ${Math.ceil(grace / 1_000)} s to finish.`)
    stopWatching?.()
    await this.#loading
    await this.#runtime?.close({ grace })
    stopServing?.()
    for (const { close } of this.#opened) await close()
    this.#log("stopped", "Stopped.")
  }

  /** Replaces the workflows and the runtime. Active runs are released, and continue in the new runtime. */
  async #load(): Promise<void> {
    const { concurrency = CONCURRENCY, queues, watch: isWatched } = this.#flags
    const opened: OpenedWorkflow[] = []
    const version = this.#version++
    try {
      for (const file of this.#files) opened.push(await this.#open(file, version))
      checkNames(opened, this.#files)
    } catch (error) {
      for (const { close } of opened) await close()
      throw error
    }
    const before = { runtime: this.#runtime, opened: this.#opened }
    await before.runtime?.close()
    for (const { close } of before.opened) await close()
    const { Runtime } = await import("@superstep/engine")
    this.#opened = opened
    this.#runtime = new Runtime({
      store: this.#store,
      workflows: opened.map(withLabels),
      concurrency,
      queues,
      onGraphChange: isWatched ? "continue" : undefined,
      onRun: (run) => this.#tell(run),
      onProblem: (problem) => this.#problem(problem),
    })
    await this.#runtime.recover()
    const names = opened.map(({ workflow }) => workflow.name).join(", ")
    const { url } = storeAddress(this.#flags.store, this.#cli.io.cwd)
    const served = queues === undefined ? "all queues" : `queues ${queues.join(", ")}`
    this.#log(
      "ready",
      `${version === 0 ? "Ready" : "Reloaded"}: ${names} on ${url}, ${served}, ${concurrency} at a time.`,
    )
  }

  #open(file: string, version: number): Promise<OpenedWorkflow> {
    return openWorkflow(file, this.#cli, {
      flags: { ...this.#flags, quiet: true },
      isScript: true,
      store: async () => this.#store,
      version,
    })
  }

  #watchFiles(): (() => void) | undefined {
    if (this.#flags.watch !== true) return undefined
    let timer: NodeJS.Timeout | undefined
    const changed = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (this.#isStopping) return
        this.#loading = this.#loading
          .then(() => this.#load())
          .catch((error: unknown) => this.#log("problem", `Not reloaded: ${messageOf(error)}`))
      }, SETTLED)
    }
    const folders = new Set(this.#files.map((file) => dirname(resolve(this.#cli.io.cwd, file))))
    const watchers = [...folders].map((folder) =>
      watch(folder, (_, name) => isWorkflowFile(name ?? "") && changed()),
    )
    return () => {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
    }
  }

  /** `/healthz`: the process answers. `/readyz`: it claims runs, and the store answers. */
  async #serveHealth(): Promise<(() => void) | undefined> {
    const { health } = this.#flags
    if (health === undefined) return undefined
    const { createServer } = await import("node:http")
    const server = createServer(async ({ url }, response) => {
      const isReady = url === "/readyz" && !this.#isStopping && (await this.#answers())
      const isKnown = url === "/healthz" || url === "/readyz"
      const code = !isKnown ? 404 : url === "/healthz" || isReady ? 200 : 503
      response.writeHead(code, { "content-type": "text/plain" }).end(code === 200 ? "ok\n" : "not ready\n")
    })
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(health, resolve)
    }).catch((error: unknown) => {
      throw usageError(`Cannot listen on port ${health}: ${messageOf(error)}`)
    })
    const { port } = server.address() as AddressInfo
    this.#log("health", `Health on port ${port}.`, { port })
    return () => {
      server.close()
      server.closeAllConnections()
    }
  }

  async #answers(): Promise<boolean> {
    try {
      await this.#store.holders()
      return true
    } catch {
      return false
    }
  }

  #tell({ type, runId, workflow, status, error }: RuntimeRun): void {
    const { paint } = this.#cli.err
    if (type === "released")
      return this.#log("run.released", paint.dim(`· ${workflow} ${shortId(runId)} waits`), {
        runId,
        workflow,
      })
    if (type === "started") {
      if (this.#flags.json || this.#flags.verbose)
        this.#log("run.started", paint.dim(`· ${workflow} ${shortId(runId)} starts`), { runId, workflow })
      return
    }
    const isGood = status === "completed"
    const why = error === undefined ? "" : `: ${error.message}`
    const line = `${isGood ? "✓" : "✗"} ${workflow} ${shortId(runId)} ${status}${why}`
    this.#log("run.ended", paint[isGood ? "green" : "red"](sanitizeLine(line)), {
      runId,
      workflow,
      status,
      error,
    })
  }

  #problem({ runId, error }: RuntimeProblem): void {
    this.#log("problem", this.#cli.err.paint.red(sanitizeLine(error.message)), {
      runId,
      message: error.message,
    })
    if ((error as NodeJS.ErrnoException).code !== "STORE_OUTDATED") return
    this.#isOutdated = true
    this.#stop()
  }

  #log(type: string, line: string, data: object = {}): void {
    const { out, err } = this.#cli
    if (this.#flags.json) out.line(JSON.stringify({ at: new Date().toISOString(), type, ...data }))
    else if (!this.#flags.quiet) err.line(line)
  }
}

/** The runs of its schedules have the labels that others of it have: they can be opened again. */
function withLabels({ workflow, labels }: OpenedWorkflow): RuntimeOptions["workflows"][number] {
  const { name, program } = workflow
  const schedules = program.schedules?.map((one) => ({ ...one, labels: { ...labels, ...one.labels } }))
  return { name, program: { ...program, schedules } }
}

function checkNames(opened: readonly OpenedWorkflow[], files: readonly string[]): void {
  const names = opened.map(({ workflow }) => workflow.name)
  const twice = names.findIndex((name, i) => names.indexOf(name) !== i)
  if (twice < 0) return
  const first = files[names.indexOf(names[twice] as string)]
  throw usageError(
    `${first} and ${files[twice]} both define "${names[twice]}". Set another name in one of them.`,
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
