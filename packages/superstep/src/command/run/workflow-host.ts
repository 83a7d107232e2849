/**
 * Hosts workflows in this process until it is stopped: loads them, executes their queued runs and schedules, prints progress,
 * and reloads workflows when their files change. `superstep worker` and `superstep serve` are hosts with different fronts.
 *
 * After the first Ctrl-C or SIGTERM a host claims no more runs. Its front stops accepting requests, active runs may finish
 * within the grace period, and the others are released. The second one ends the process immediately. If a newer version
 * upgrades the store, the host stops with a failure, so that its supervisor restarts it.
 */
import { existsSync, readFileSync, statSync, watch } from "node:fs"
import { readdir } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { Runtime, RuntimeOptions, RuntimeProblem, RuntimeRun } from "@superstep/engine"
import { type Command, InvalidArgumentError } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  type DefinitionFlags,
  type OutputFlags,
  parseCount,
  parseDuration,
  type StoreFlags,
} from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { type OpenStore, storeAddress, storeOf } from "../open/store.ts"
import { isWorkflowFile, openWorkflow } from "../open/workflow.ts"
import { errorText, isNoDefinition, printError, usageError } from "../print/errors.ts"
import { sanitizeLine } from "../terminal/terminal.ts"
import { shortId } from "./find-run.ts"

export interface HostFlags extends OutputFlags, StoreFlags, DefinitionFlags {
  readonly concurrency?: number | undefined
  readonly queues?: readonly string[] | undefined
  /** Milliseconds. */
  readonly grace?: number | undefined
  readonly watch?: true | undefined
}

type HostOptions = HostFlags & { readonly concurrency: number }

/** A definition that the host has loaded from a file. */
export interface HostedFile {
  /** The name of its workflow. */
  readonly name: string
  readonly path: string
  readonly text: string
}

/** Answers HTTP requests about a host. */
export interface Front {
  /** The workflows have been loaded, for the first time or again. */
  attach?(runtime: Runtime, workflows: RuntimeOptions["workflows"], files: readonly HostedFile[]): void
  /** Creates the runtime, if it is not an ordinary one. */
  runtime?(options: RuntimeOptions): Promise<Runtime> | undefined
  /** The runtime executes runs from now on. */
  ready?(): Promise<void>
  /** The runtime is about to be replaced. */
  detach?(): Promise<void> | void
  /** Called once, before anything is claimed: a port that is in use must not stop runs. Requests wait for `attach`. */
  listen(): Promise<void>
  /** Called once, after the first load. */
  announce?(): void
  /** The host stops: finishes what is in progress, for at most so many milliseconds. */
  drain(grace: number): Promise<void>
  /** The runtime has closed. */
  close(): void
}

const GRACE = 30_000
/** Milliseconds after the last change of a file until the workflows are reloaded. */
const SETTLED = 150
/** Files of a project that are not workflows, whatever their extension. */
const NO_WORKFLOW = /^(?:\.|package(?:-lock)?\.json$|[jt]sconfig\b)|\.(?:config|test|spec|d)\.\w+$/

export function hostFlags(concurrency: number): (command: Command) => Command {
  return (command) =>
    command
      .option(
        "--concurrency <n>",
        `execute at most n runs at the same time (default: ${concurrency})`,
        parseCount,
      )
      .option("--queues <names>", "serve these queues only: a,b (default: all)", parseQueues)
      .option("--grace <time>", "give runs this time to finish when stopped (default: 30s)", parseDuration)
}

function parseQueues(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim())
  if (names.every((name) => name !== "")) return names
  throw new InvalidArgumentError("Write names that are not empty, for example default,mail.")
}

export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError("Write a port from 0 to 65535; 0 chooses a free one.")
}

/** Hosts the workflows of files and folders until the process is stopped. */
export async function hostWorkflows(
  cli: Cli,
  sources: readonly string[],
  flags: HostOptions,
  frontOf: (host: WorkflowHost) => Front | undefined,
): Promise<void> {
  // Before the store is created.
  await filesOf(sources, cli)
  const store = await storeOf(cli, flags)
  const host = new WorkflowHost(cli, store, sources, flags, frontOf)
  try {
    await host.untilStopped()
  } finally {
    await store.close()
  }
  cli.exit(host.isOutdated ? EXIT.failed : EXIT.completed)
}

async function filesOf(sources: readonly string[], cli: Cli): Promise<readonly string[]> {
  const files = await Promise.all(sources.map((source) => filesIn(source, cli)))
  return [...new Set(files.flat())]
}

/** A folder contributes the workflows directly in it. */
async function filesIn(source: string, { io }: Cli): Promise<readonly string[]> {
  const path = resolve(io.cwd, source)
  if (!isFolder(path)) return [source]
  const names = (await readdir(path)).filter((name) => !NO_WORKFLOW.test(name) && isWorkflowFile(name)).sort()
  if (names.length === 0) throw usageError(`${source} has no definitions or modules.`)
  return names.map((name) => join(source, name))
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

export class WorkflowHost {
  readonly store: OpenStore
  readonly #cli: Cli
  /** Files and folders. What a folder contains is read with each load. */
  readonly #sources: readonly string[]
  readonly #flags: HostOptions
  readonly #front: Front | undefined
  #opened: readonly OpenedWorkflow[] = []
  #runtime: Runtime | undefined
  #version = 0
  #isStopping = false
  /** Ids of the runs that were released since the process stops, and that have not continued in it. */
  readonly #released = new Set<string>()
  #isOutdated = false
  #stop: () => void = () => undefined
  #interrupts = 0
  /** Serializes loads and reloads. */
  #loading: Promise<void> = Promise.resolve()

  constructor(
    cli: Cli,
    store: OpenStore,
    sources: readonly string[],
    flags: HostOptions,
    frontOf: (host: WorkflowHost) => Front | undefined,
  ) {
    this.#cli = cli
    this.store = store
    this.#sources = sources
    this.#flags = flags
    this.#front = frontOf(this)
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Whether a newer version has upgraded the store. */
  get isOutdated(): boolean {
    return this.#isOutdated
  }

  /** Resolves when no reload is in progress, whether it succeeded or not. */
  get settled(): Promise<void> {
    return this.#loading
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
    try {
      this.#loading = this.#load()
      await this.#loading
      this.#front?.announce?.()
      await stopped
      await this.#drain()
    } finally {
      this.#isStopping = true
      stopWatching?.()
      try {
        // Throws if a newer version has upgraded the store.
        await this.#runtime?.close()
      } finally {
        this.#front?.close()
        for (const { close } of this.#opened) await close()
      }
    }
    const { size } = this.#released
    const [count, verb] = size === 1 ? ["1 run", "is"] : [`${size} runs`, "are"]
    this.log("stopped", size === 0 ? "Stopped." : `Stopped. ${count} ${verb} unfinished, in the store.`)
  }

  async #drain(): Promise<void> {
    this.#isStopping = true
    // An upgraded store records nothing that finishes now.
    const grace = this.#isOutdated ? 0 : (this.#flags.grace ?? GRACE)
    const deadline = Date.now() + grace
    this.log("stopping", `Stopping: runs have ${Math.ceil(grace / 1_000)} s to finish.`)
    await this.#loading
    await this.#front?.drain(grace)
    await this.#runtime?.close({ grace: Math.max(0, deadline - Date.now()) })
  }

  /** Replaces the workflows and the runtime. Active runs are released, and continue in the new runtime. */
  async #load(): Promise<void> {
    const { concurrency, queues, watch: isWatched } = this.#flags
    const opened: OpenedWorkflow[] = []
    const version = this.#version++
    try {
      const files = await this.#openAll(opened, version)
      checkNames(opened, files)
      if (version === 0) await this.#front?.listen()
    } catch (error) {
      for (const { close } of opened) await close()
      throw error
    }
    const before = { runtime: this.#runtime, opened: this.#opened }
    await this.#front?.detach?.()
    await before.runtime?.close()
    for (const { close } of before.opened) await close()
    const { isInternal, Runtime } = await import("@superstep/engine")
    const workflows = opened.map(withLabels)
    this.#opened = opened
    const options: RuntimeOptions = {
      store: this.store,
      workflows,
      concurrency,
      queues,
      onGraphChange: isWatched ? "continue" : undefined,
      onRun: (run) => (isInternal(run.workflow) ? undefined : this.#tell(run)),
      onProblem: (problem) => this.#problem(problem),
    }
    this.#runtime = (await this.#front?.runtime?.(options)) ?? new Runtime(options)
    this.#front?.attach?.(this.#runtime, workflows, this.#definitionFiles(opened))
    await this.#runtime.recover()
    await this.#front?.ready?.()
    const names = workflows.map(({ name }) => name)
    const { url } = storeAddress(this.#flags.store, this.#cli.io.cwd)
    const served = queues === undefined ? "all queues" : `queues ${queues.join(", ")}`
    const [type, word] = version === 0 ? ["ready", "Ready"] : ["reloaded", "Reloaded"]
    const shown = names.length === 0 ? "the definitions of the store" : names.join(", ")
    const line = `${word}: ${shown} on ${url}, ${served}, ${concurrency} at a time.`
    this.log(type, line, { workflows: names })
  }

  #definitionFiles(opened: readonly OpenedWorkflow[]): readonly HostedFile[] {
    return opened.flatMap(({ workflow: { name }, definition }) => {
      const path = definition && resolve(this.#cli.io.cwd, definition.file)
      // One of the registry has no file.
      return path !== undefined && existsSync(path) ? [{ name, path, text: readFileSync(path, "utf8") }] : []
    })
  }

  /**
   * Adds to `opened`; returns the file of each. Reports every file that cannot be opened: throws the last error, and prints
   * those before it. Files of a folder that are something else than definitions are left out.
   */
  async #openAll(opened: OpenedWorkflow[], version: number): Promise<readonly string[]> {
    const files: string[] = []
    const others: string[] = []
    const errors: unknown[] = []
    for (const file of await filesOf(this.#sources, this.#cli)) {
      try {
        opened.push(await this.#open(file, version))
        files.push(file)
      } catch (error) {
        if (isNoDefinition(error) && !this.#sources.includes(file)) others.push(file)
        else errors.push(error)
      }
    }
    for (const error of errors.slice(0, -1)) await printError(error, this.#cli)
    if (errors.length > 0) throw errors.at(-1)
    if (files.length === 0 && others.length > 0) throw usageError(`No definition: ${others.join(", ")}.`)
    for (const file of others) this.log("skipped", `Skipped ${file}: it is not a definition.`, { file })
    return files
  }

  #open(file: string, version: number): Promise<OpenedWorkflow> {
    return openWorkflow(file, this.#cli, {
      flags: { ...this.#flags, quiet: true },
      isScript: true,
      store: async () => this.store,
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
          .catch(async (error: unknown) => {
            const line = `Not reloaded: ${await errorText(error, this.#cli.err)}`
            this.log("problem", line, { message: `Not reloaded: ${messageOf(error)}` })
          })
      }, SETTLED)
    }
    const paths = this.#sources.map((source) => resolve(this.#cli.io.cwd, source))
    const folders = new Set(paths.map((path) => (isFolder(path) ? path : dirname(path))))
    const watchers = [...folders].map((folder) =>
      watch(folder, (_, name) => isWorkflowFile(name ?? "") && changed()),
    )
    return () => {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
    }
  }

  #tell({ type, runId, workflow, status, error }: RuntimeRun): void {
    const { paint } = this.#cli.err
    const isDetailed = this.#flags.json === true || this.#flags.verbose === true
    if (type === "released") {
      if (this.#isStopping) this.#released.add(runId)
      // A process that stops releases all at once: `Stopped.` has their number.
      if (!this.#isStopping || isDetailed)
        this.log("run.released", paint.dim(`· ${workflow} ${shortId(runId)} waits`), { runId, workflow })
      return
    }
    this.#released.delete(runId)
    if (type === "started") {
      if (isDetailed)
        this.log("run.started", paint.dim(`· ${workflow} ${shortId(runId)} starts`), { runId, workflow })
      return
    }
    const isGood = status === "completed"
    const why = error === undefined ? "" : `: ${error.message}`
    const line = `${isGood ? "✓" : "✗"} ${workflow} ${shortId(runId)} ${status}${why}`
    this.log("run.ended", paint[isGood ? "green" : "red"](sanitizeLine(line)), {
      runId,
      workflow,
      status,
      error,
    })
  }

  #problem({ runId, error }: RuntimeProblem): void {
    this.log("problem", this.#cli.err.paint.red(sanitizeLine(error.message)), {
      runId,
      message: error.message,
    })
    if ((error as NodeJS.ErrnoException).code !== "STORE_OUTDATED") return
    this.#isOutdated = true
    this.#stop()
  }

  /** A line for people on stderr, or with --json the data on stdout. */
  log(type: string, line: string, data: object = {}): void {
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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
