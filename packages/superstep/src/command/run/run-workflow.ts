/** Executes an opened workflow in this process: shows its progress, asks the person, and prints the result. */
import {
  type GraphChangePolicy,
  isSuperstepError,
  pastEvents,
  type Run,
  type RunEvent,
  type RunResult,
  Runtime,
  type StartOptions,
  type StoredRun,
} from "@superstep/engine"
import type { Command } from "commander"
import { type Cli, EXIT, type ExitCode } from "../cli.ts"
import { addFlags, limitsOf, type OutputFlags, type RunFlags, type StoreFlags, yoloFlag } from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { type OpenStore, storeAddress, storeFlagOf } from "../open/store.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "../open/workflow.ts"
import { printBasis, printEnded } from "../print/ended.ts"
import { usageError } from "../print/errors.ts"
import { namesOf } from "../print/node-names.ts"
import { plainProgress } from "../print/progress/progress-lines.ts"
import { jsonEvents, silent, type Watcher } from "../print/progress/watcher.ts"
import { liveHolder, machineOf } from "../print/run-report.ts"
import { printText, sanitize } from "../terminal/terminal.ts"
import { allowingTools, promptAnswerer } from "./answerers.ts"
import { shortId, typedId } from "./find-run.ts"
import { type Answerer, superviseRun } from "./supervise.ts"

/** Starts or resumes the run. The run is in an object, because awaiting a run yields its result. */
export type StartRun = (runtime: Runtime) => StartedRun | Promise<StartedRun>

interface StartedRun {
  readonly run: Run<unknown>
  /** For a resumed run: the last event before the resume. Absent: all events from now on are watched. */
  readonly after?: number | undefined
}

/** Starts a new run. */
export function starting(
  { workflow, labels }: OpenedWorkflow,
  input: unknown,
  options: Omit<StartOptions, "labels">,
): StartRun {
  return (runtime) => ({ run: runtime.stream(workflow, input as never, { ...options, labels }) })
}

export function startOptions(flags: RunFlags, { definition }: OpenedWorkflow) {
  const { runId, thread } = flags
  return { ...limitsOf(flags, definition?.dialect), runId, thread }
}

export interface RunWorkflowOptions {
  readonly opened: OpenedWorkflow
  readonly store: OpenStore
  readonly flags: OutputFlags & StoreFlags & Pick<RunFlags, "yolo" | "strict">
  readonly begin: StartRun
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** The earlier events of a resumed run. */
  readonly past?: readonly RunEvent[] | undefined
  /** Default: the progress of the run. */
  readonly watcher?: Watcher | undefined
  /** Default: the person at the terminal. */
  readonly answerer?: Answerer | undefined
  /** Cancels the run at Ctrl-C, although it is stored. */
  readonly cancelAtInterrupt?: boolean | undefined
  /** Called with the result before it is printed. Returns true if the answer is already printed. */
  readonly onResult?: ((result: RunResult) => boolean | Promise<boolean>) | undefined
}

export interface Ended {
  /** Undefined if the run was released at Ctrl-C. */
  readonly result: RunResult | undefined
  readonly code: ExitCode
}

export async function runWorkflow(cli: Cli, options: RunWorkflowOptions): Promise<Ended> {
  const { flags, onResult } = options
  const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
  const watcher = noticeIncomplete(options.watcher ?? (await progressOf(cli, options)))
  const { runId, isRecorded, result, code } = await execute(cli, watcher, isKept, options)
  const isShown = (result !== undefined && (await onResult?.(result))) === true
  printEnded(cli, runId, result, {
    json: flags.json,
    isKept,
    isRecorded,
    storeFlag: storeFlagOf(flags),
    isShown,
    names: namesOf(options.opened.workflow),
  })
  if (result?.status === "completed" && !flags.json) printBasis(cli, result, flags.quiet)
  const problems = incompleteOf(result, watcher)
  printIncomplete(cli, problems, isShown ? [] : (result?.outputs ?? []))
  return { result, code: flags.strict && problems.length > 0 ? EXIT.failed : code }
}

async function execute(cli: Cli, watcher: NoticingWatcher, isKept: boolean, options: RunWorkflowOptions) {
  const { opened, store, flags, begin, onGraphChange, answerer = promptAnswerer(cli) } = options
  const { Runtime } = await import("@superstep/engine")
  // A command executes only the run that it was called for. `runs resume` continues orphaned runs.
  const runtime = new Runtime({ store, workflows: [opened.workflow], recover: false, onGraphChange })
  try {
    const { run, after } = await begin(runtime)
    const ended = await superviseRun(cli, {
      run,
      after,
      watcher,
      answerer: flags.yolo ? allowingTools(answerer) : answerer,
      isKept: isKept && options.cancelAtInterrupt !== true,
    })
    return { runId: run.id, isRecorded: after !== undefined || watcher.isStarted(), ...ended }
  } catch (error) {
    watcher.end?.(undefined)
    throw error
  } finally {
    await runtime.close()
  }
}

/** Live on a terminal, in lines elsewhere, as JSON, or not at all. */
async function progressOf(cli: Cli, { flags, opened, past }: RunWorkflowOptions): Promise<Watcher> {
  if (flags.json) return jsonEvents(cli.out)
  if (flags.quiet) return silent
  if (opened.progress !== undefined && !flags.verbose) return opened.progress(cli.err, past)
  const names = namesOf(opened.workflow)
  if (!cli.err.isTerminal || flags.verbose)
    return plainProgress(cli.err, { past, names, isVerbose: flags.verbose === true })
  const { LiveProgress } = await import("../print/progress/live-progress.ts")
  return new LiveProgress(cli.err, { past, names })
}

// Sources that are missing from an answer, as the workflow reports them: printed, and a failure with `--strict`.

interface NoticingWatcher extends Watcher {
  /** `SOURCE: REASON`, each once. */
  readonly noticed: ReadonlySet<string>
  /** Whether the run has had an event. */
  isStarted(): boolean
}

/** Also covers called workflows: the run does not see their state, but receives their events. */
function noticeIncomplete(watcher: Watcher): NoticingWatcher {
  const noticed = new Set<string>()
  let isStarted = false
  return {
    noticed,
    isStarted: () => isStarted,
    event(event: RunEvent) {
      isStarted = true
      if (event.type === "custom" && event.name.endsWith(".incomplete")) noticed.add(problemText(event.data))
      watcher.event(event)
    },
    pause: () => watcher.pause?.(),
    resume: () => watcher.resume?.(),
    end: (result) => watcher.end?.(result),
  }
}

/** For a completed run: the problems in its state, and those noticed while it executed. */
function incompleteOf(result: RunResult | undefined, { noticed }: NoticingWatcher): readonly string[] {
  if (result?.status !== "completed") return []
  const { incomplete } = result.state
  const own = Array.isArray(incomplete) ? incomplete.map(problemText) : []
  return [...new Set([...own, ...noticed])]
}

/** Prints to stderr, unless the printed answer contains the problem. */
function printIncomplete({ err }: Cli, problems: readonly string[], shown: readonly unknown[]): void {
  const text = plain(shown.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n"))
  for (const problem of problems) {
    if (text.includes(plain(problem))) continue
    printText(err, sanitize(problem), { label: `${err.paint.magenta("incomplete:")} `, indent: 2 })
  }
}

function problemText(data: unknown): string {
  const { source, reason } = (data ?? {}) as { readonly source?: unknown; readonly reason?: unknown }
  return [source, reason].filter((one) => typeof one === "string" && one !== "").join(": ") || "a source"
}

/** A Markdown report escapes the text that a reason quotes. */
function plain(text: string): string {
  return text.replace(/[\\`\s]+/g, "")
}

/** Resumes a stored run in this process, as `superstep run` would execute it. */

export interface ResumeFlags extends OutputFlags, StoreFlags, StoredWorkflowFlags {
  readonly yolo?: true | undefined
  readonly acceptChanges?: true | undefined
  /** An incomplete answer is a failure. */
  readonly strict?: true | undefined
}

export function resumeFlags(command: Command): Command {
  return addFlags(
    command.option("--accept-changes", "continue with a changed definition; nodes are matched by name"),
    storedWorkflowFlags,
    yoloFlag,
  )
}

export interface ResumeOptions {
  /** Creates the run to resume, a fork of the stored one, once its workflow is open. Default: the stored run itself. */
  readonly makeRun?: ((opened: OpenedWorkflow) => Promise<string>) | undefined
  readonly takeOver?: boolean | undefined
  /** Called once the run is claimed, before it continues. */
  readonly first?: ((run: Run<unknown>) => Promise<void>) | undefined
}

export async function resume(
  cli: Cli,
  store: OpenStore,
  stored: StoredRun,
  flags: ResumeFlags,
  { makeRun, takeOver, first }: ResumeOptions = {},
): Promise<void> {
  const opened = await openStoredWorkflow(cli, store, stored, flags)
  try {
    const made = await makeRun?.(opened)
    const runId = made ?? stored.runId
    const past = await pastEvents(store, runId)
    const begin = async (runtime: Runtime) => {
      const run = runtime.resume(opened.workflow, runId, { takeOver })
      await first?.(run)
      return { run, after: past.at(-1)?.seq ?? 0 }
    }
    const onGraphChange = flags.acceptChanges && "continue"
    const { code } = await runWorkflow(cli, { opened, store, flags, onGraphChange, past, begin }).catch(
      async (error) => {
        if (isSuperstepError(error, "RUN_HELD")) throw await held(store, stored, storeFlagOf(flags), error)
        if (!isSuperstepError(error, "GRAPH_CHANGED")) throw error
        if (made !== undefined) await discard(store, made)
        throw graphChanged(stored.runId, runId, storeFlagOf(flags), error)
      },
    )
    cli.exit(code)
  } finally {
    await opened.close()
  }
}

async function held(store: OpenStore, run: StoredRun, storeFlag: string, cause: Error): Promise<Error> {
  const id = typedId(run.runId)
  const holder = await liveHolder(store, (await store.run(run.runId)) ?? run)
  const where = holder === undefined ? "another process" : `process ${holder.pid} on ${machineOf(holder)}`
  return usageError(
    `Run ${shortId(run.runId)} is being executed by ${where}. Follow it:\nsuperstep runs events ${id} --follow${storeFlag}\n` +
      `If that process is stuck, take the run over:\nsuperstep runs resume ${id} --take-over${storeFlag}`,
    cause,
  )
}

/** The engine's message ends with a line about its own API, which the CLI's flags replace. */
function graphChanged(storedId: string, runId: string, storeFlag: string, cause: Error): Error {
  const what = cause.message
    .split("\n")
    .slice(0, -1)
    .join("\n")
    .replace(runId, () => storedId)
  const cancel =
    runId === storedId ? ` To end the run:\nsuperstep runs cancel ${typedId(runId)}${storeFlag}` : ""
  return usageError(`${what}\nTo continue, with nodes matched by name, add --accept-changes.${cancel}`, cause)
}

/** Removes a fork that cannot continue. */
async function discard(store: OpenStore, runId: string): Promise<void> {
  const runtime = new Runtime({ store, workflows: [], recover: false })
  try {
    await runtime.cancel(runId)
    await runtime.remove(runId)
  } finally {
    await runtime.close()
  }
}
