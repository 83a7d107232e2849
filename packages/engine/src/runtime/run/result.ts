/** The result of a run, and the errors that it ends with. */
import {
  type ErrorData,
  fromErrorData,
  type Machine,
  type OpenRequest,
  type RunId,
  SuperstepError,
} from "../../core/index.ts"
import { failedAs, freezeData, HiddenPart, jsonSize } from "../../core/internal.ts"
import type { LoadedRun } from "../journal/load-run.ts"
import type { AgentReport } from "../ports/agent-report.ts"
import type { EndedRun } from "../ports/dispatcher.ts"
import { outerId } from "../ports/events.ts"
import type { OpenWait, RunResult } from "./options.ts"

export function resultOf(
  runId: RunId,
  machine: Machine,
  { requests, waits }: Pick<RunResult, "requests" | "waits">,
  agents: RunResult["agents"] = [],
): RunResult {
  const status = machine.isOver() || machine.pause !== undefined ? machine.status : "waiting"
  const result: RunResult = {
    runId,
    status: status as RunResult["status"],
    outputs: machine.outputs.slice(),
    state: machine.allState(),
    requests,
    waits,
    undelivered: machine.undelivered.slice(),
    usage: machine.usage,
    supersteps: machine.superstep,
  }
  const ended = machine.error === undefined ? result : withError(result, endingError(machine.error))
  // Not enumerable: it holds whole conversations, and is not part of the run's journal.
  return agents.length === 0 ? ended : Object.defineProperty(ended, "agents", { value: agents })
}

function withError({ runId, status, outputs, state, ...rest }: RunResult, error: SuperstepError): RunResult {
  return { runId, status, outputs, state, error, ...rest }
}

/** The result of a run that this process does not execute. */
export function loadedResult({ runId, frames }: LoadedRun): RunResult {
  const { machine } = frames.get("") as { machine: Machine }
  return resultOf(runId, machine, { requests: requestsOf(frames), waits: waitsOf(frames) })
}

/** Bytes of an end that travels with a reply: a larger one is read from the store. */
const MAX_ENDED = 262_144

/** The end of a run, for another process. Undefined if it is large. */
export function endedRun(machine: Machine): EndedRun | undefined {
  const { status, outputs, error, undelivered, usage, superstep: supersteps } = machine
  const ended = { status, outputs, state: machine.allState(), error, undelivered, usage, supersteps }
  return jsonSize(ended) > MAX_ENDED ? undefined : ended
}

/** The result of a run that another process brought to its end. */
export function endedResult(runId: RunId, { error, ...ended }: EndedRun): RunResult {
  const { status, outputs, state, undelivered, usage, supersteps } = freezeData(ended)
  return {
    runId,
    status: status as RunResult["status"],
    outputs: outputs.slice(),
    state,
    ...(error && { error: endingError(error) }),
    requests: [],
    waits: [],
    undelivered,
    usage,
    supersteps,
  }
}

/** The open questions of all frames, under ids that are unique in the run. */
export function requestsOf(frames: Iterable<[string, { readonly machine: Machine }]>): OpenRequest[] {
  return [...frames].flatMap(([key, { machine }]) =>
    machine.requests().map((request) => ({ ...request, id: outerId(key, request.id) })),
  )
}

/** The open waits for signals of all frames, the oldest first. */
export function waitsOf(frames: Iterable<readonly [string, { readonly machine: Machine }]>): OpenWait[] {
  const open: { readonly order: number; readonly wait: OpenWait }[] = []
  for (const [frame, { machine }] of frames) {
    if (machine.isOver()) continue
    for (const { id: task, node, waits } of machine.tasks()) {
      for (const wait of waits?.values() ?? []) {
        if (wait.kind !== "signal") continue
        const { kind: _, order, ...spec } = wait
        open.push({ order, wait: { ...spec, node: node.id, task, frame } })
      }
    }
  }
  return open.sort((a, b) => a.order - b.order).map(({ wait }) => wait)
}

/** Reports hold whole conversations. */
const MAX_REPORTS = 100

/** The reports of a run's agents, by task: of the last tasks, in this process. */
export class AgentReports {
  readonly #byTask = new Map<string, { readonly attempt: number; readonly reports: AgentReport[] }>()

  /** Another attempt at a task replaces earlier reports. */
  add(task: string, attempt: number, report: AgentReport): void {
    const known = this.#byTask.get(task)
    const reports = known?.attempt === attempt ? known.reports : []
    reports.push(report)
    this.#byTask.delete(task)
    this.#byTask.set(task, { attempt, reports })
    for (const oldest of this.#byTask.keys()) {
      if (this.#byTask.size <= MAX_REPORTS) break
      this.#byTask.delete(oldest)
    }
  }

  list(): readonly AgentReport[] {
    const all: AgentReport[] = []
    for (const { reports } of this.#byTask.values()) all.push(...reports)
    return all
  }
}

/** Thrown when you await a run that did not complete. */
export class RunError extends SuperstepError {
  /** What the run produced before it ended. */
  declare readonly result: RunResult

  constructor(result: RunResult) {
    const error = result.error as SuperstepError
    const { code, node, attempt } = error
    const where = node === undefined ? "" : ` at node "${node}"`
    const tries = attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ""
    super(code, `Run ${result.runId} ended as ${result.status}${where}${tries}: ${error.message}`, {
      ...(error.cause === undefined ? {} : { cause: error.cause }),
      ...(node === undefined ? {} : { node }),
      ...(attempt === undefined ? {} : { attempt }),
    })
    if (this.name === "SuperstepError") this.name = "RunError"
    // Not enumerable: it is not printed with the error.
    Object.defineProperty(this, "result", { value: result, enumerable: false })
  }
}

/** `names`: the keys of the context when the run was started. */
export function contextMissing(runId: RunId, names: readonly string[]): SuperstepError {
  const had = names.length === 0 ? "" : ` with ${names.map((name) => `"${name}"`).join(", ")}`
  const text = `Run ${runId} needs its context${had}, which is never recorded. Pass it as \`context\` to run, to resume, or as a function to the Runtime.`
  return new SuperstepError("CONTEXT_MISSING", text, { retryable: false, fatal: true, run: runId })
}

const originals = new HiddenPart<ErrorData, Error>()

/** Remembers the thrown error of this data in this process: the journal keeps neither class nor stack. */
export function rememberThrown(data: ErrorData, thrown: unknown): void {
  if (!(thrown instanceof Error)) return
  originals.set(data, thrown)
  if (data.node !== undefined) failedAs(thrown, data)
}

/** The error for this data. Its causes are the errors thrown in this process, where known. */
export function errorOf(data: ErrorData): SuperstepError {
  return fromErrorData(data, (cause) => originals.get(cause) ?? errorOf(cause))
}

/** Why a run ended. The cause of a task's failure is the error that its handler threw. */
function endingError(data: ErrorData): SuperstepError {
  if (data.attempt === undefined) return errorOf(data)
  const { node: _, attempt: __, ...thrown } = data
  return fromErrorData({ ...data, cause: thrown }, () => originals.get(data) ?? errorOf(thrown))
}
