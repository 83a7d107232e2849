/** The first task in which two runs of a workflow differ, and how. */
import type {
  Entry,
  ErrorData,
  Json,
  NodeId,
  RequestSpec,
  Route,
  RunStatus,
  Schedule,
  Send,
  TaskFinished,
  TaskId,
  Usage,
} from "../core/index.ts"
import { canonicalJson } from "../core/internal.ts"
import type { FoldedFrame, FoldedRecord } from "../runtime/internal.ts"
import { isRetried } from "./checkpoints.ts"
import { excerpt, excerpts } from "./excerpts.ts"
import { type Journal, JournalWalk } from "./journal-walk.ts"
import { callOf } from "./recorded-run.ts"

export interface Divergence {
  /** Its index among all compared tasks, from 0. */
  readonly index: number
  /** The sub-workflow it is in; empty for the run itself. */
  readonly path: readonly string[]
  readonly node: NodeId
  readonly task: TaskId
  /** A description. */
  readonly what: string
}

/** `notes` describe, by frame and task of the replay, what could not be taken from the record. */
export function firstDivergence(
  before: FrameSummary,
  after: FrameSummary,
  notes: ReadonlyMap<string, string>,
): Divergence | undefined {
  return new Comparison(notes).frames(before, after)
}

/** A pair of corresponding tasks. */
interface Pair {
  readonly before: TaskSummary | undefined
  readonly after: TaskSummary | undefined
}

class Comparison {
  readonly #notes: ReadonlyMap<string, string>
  #index = 0

  constructor(notes: ReadonlyMap<string, string>) {
    this.#notes = notes
  }

  frames(before: FrameSummary, after: FrameSummary): Divergence | undefined {
    for (const pair of pairs(before, after)) {
      const found = this.#tasks(pair, before, after)
      if (found !== undefined) return found
      this.#index++
    }
    return undefined
  }

  #tasks({ before, after }: Pair, was: FrameSummary, is: FrameSummary): Divergence | undefined {
    const { path } = after === undefined ? was : is
    const { id: task, node } = (after ?? before) as TaskSummary
    const index = this.#index
    const differs = (what: string): Divergence => ({ index, path, node, task, what })
    const name = `"${node}" (task ${task})`
    if (before === undefined) return differs(`${name} runs now but did not run before.`)
    if (after === undefined) return differs(`${name} ran before but does not run now.`)
    if (before.node !== node)
      return differs(`Task ${task} ran "${before.node}" before and runs "${node}" now.`)
    const input = difference(before.input, after.input)
    if (input !== undefined) return differs(`${name} got ${input}.`)
    const below = this.#calls(before, after)
    if (typeof below === "object") return below
    const what =
      below ??
      this.#notes.get(`${is.key} ${task}`) ??
      stepDifference(before, after) ??
      askedDifference(before, after) ??
      endDifference(before.end, after.end)
    if (what === undefined) return undefined
    // A note is a complete sentence.
    return differs(what.endsWith(".") ? what : `${name} ${what}.`)
  }

  /** Compares sub-workflows before the result of their caller. */
  #calls(before: TaskSummary, after: TaskSummary): Divergence | string | undefined {
    for (const [key, was] of before.calls) {
      const is = after.calls.get(key)
      if (!after.calls.has(key)) return `called ${calledName(key)} before but does not call it now`
      // A sub-workflow that had not begun when its caller was stopped has nothing to compare.
      if (was === undefined || is === undefined) continue
      this.#index++
      const found = this.frames(was, is)
      if (found !== undefined) return found
    }
    const added = [...after.calls.keys()].find((key) => !before.calls.has(key))
    return added === undefined ? undefined : `calls ${calledName(added)} now but did not call it before`
  }
}

/** Pairs tasks by their order; in flow mode, where the order may differ, by node and its visit. */
function pairs(before: FrameSummary, after: FrameSummary): Pair[] {
  if (before.schedule === "superstep" && after.schedule === "superstep") {
    const length = Math.max(before.tasks.length, after.tasks.length)
    return Array.from({ length }, (_, i) => ({ before: before.tasks[i], after: after.tasks[i] }))
  }
  const named = byNode(after)
  const found = [...byNode(before)].map(([name, task]): Pair => {
    const same = named.get(name)
    named.delete(name)
    return { before: task, after: same }
  })
  return [...found, ...[...named.values()].map((task) => ({ before: undefined, after: task }))]
}

function byNode({ tasks }: FrameSummary): Map<string, TaskSummary> {
  const counts = new Map<NodeId, number>()
  return new Map(
    tasks.map((task) => {
      const count = (counts.get(task.node) ?? 0) + 1
      counts.set(task.node, count)
      return [`${task.node}#${count}`, task]
    }),
  )
}

function calledName(key: string): string {
  return `"${key.slice(key.indexOf(":") + 1)}"`
}

function stepDifference(before: TaskSummary, after: TaskSummary): string | undefined {
  const name = (key: string) => `step "${key.replace(/^step(#\d+)?:/, "")}"`
  for (const [key, value] of before.steps) {
    const now = after.steps.get(key)
    if (now === undefined) return `ran ${name(key)} before but does not run it now`
    const found = difference(value, now)
    if (found !== undefined) return `got ${found}, from ${name(key)}`
  }
  const added = [...after.steps.keys()].find((key) => !before.steps.has(key))
  return added === undefined ? undefined : `runs ${name(added)} now but did not run it before`
}

function askedDifference(before: TaskSummary, after: TaskSummary): string | undefined {
  for (const [key, question] of before.asked) {
    const now = after.asked.get(key)
    if (now === undefined) return `asked ${shown(question)} before but does not ask it now`
    const asked = difference(question, now)
    if (asked !== undefined) return `asked ${asked}`
  }
  const added = [...after.asked].find(([key]) => !before.asked.has(key))
  return added === undefined ? undefined : `asks ${shown(added[1])} now but did not ask it before`
}

function endDifference(before: TaskEnd | undefined, after: TaskEnd | undefined): string | undefined {
  const was = endShown(before)
  const is = endShown(after)
  if (was !== is) return `${was} before, and ${is} now`
  if (before?.type !== "finished" || after?.type !== "finished") return undefined
  return (
    sendDifference(before.sends, after.sends) ??
    writeDifference("wrote", before.writes ?? [], after.writes ?? []) ??
    writeDifference("kept", before.local ?? [], after.local ?? [])
  )
}

function endShown(end: TaskEnd | undefined): string {
  if (end === undefined) return "had not ended"
  if (end.type === "refused") return `was rejected (${end.reason})`
  const error = end.type === "failed" ? end.error : end.settled
  return error === undefined ? "finished" : `failed with ${error.code} (${error.message})`
}

function sendDifference(before: readonly Send[], after: readonly Send[]): string | undefined {
  for (const [i, was] of before.entries()) {
    const is = after[i]
    if (is === undefined) break
    const value = difference(was.value, is.value)
    if (value !== undefined) return `sent ${value}`
    const places = [routeShown(was.route), routeShown(is.route)]
    if (places[0] !== places[1]) return `sent ${shown(was.value)} ${places[0]} before, and ${places[1]} now`
  }
  if (before.length === after.length) return undefined
  return `sent ${count(before.length, "message")} before, and ${after.length} now`
}

function routeShown({ nodes = [], joins = [], maps = [], output, result, reason }: Route): string {
  const places = [
    ...nodes.map((id) => `"${id}"`),
    ...joins.map((id) => `the join ${id}`),
    ...maps.map((id) => `each of "${id}"`),
    ...(output ? ["the outputs"] : []),
    ...(result ? ["the map's results"] : []),
  ]
  return places.length === 0 ? `nowhere (${reason ?? "no edge"})` : `to ${places.join(", ")}`
}

type Writes = readonly (readonly [key: string, value: Json])[]

function writeDifference(verb: string, before: Writes, after: Writes): string | undefined {
  for (const [i, [key, value]] of before.entries()) {
    const now = after[i]
    if (now === undefined || now[0] !== key)
      return `${verb} ${shown(value)} under "${key}" before but does not now`
    const found = difference(value, now[1])
    if (found !== undefined) return `${verb} ${found}, under "${key}"`
  }
  const added = after[before.length]
  return added === undefined
    ? undefined
    : `${verb} ${shown(added[1])} under "${added[0]}" now but did not before`
}

const MAX = 100

/** Undefined for equal data. */
function difference(before: Json, after: Json): string | undefined {
  const texts = [canonicalJson(before), canonicalJson(after)] as const
  if (texts[0] === texts[1]) return undefined
  const [was, is] = excerpts(...texts, MAX)
  return `${was} before, and ${is} now`
}

function shown(value: Json): string {
  return excerpt(canonicalJson(value), 0, MAX)
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`
}

// The outcome of a run, task by task, for comparing two runs of a workflow. Attempts and times are ignored.

export interface RunSummary {
  readonly status: RunStatus
  readonly error: ErrorData | undefined
  readonly outputs: readonly Json[]
  readonly state: { readonly [key: string]: Json }
  readonly usage: Usage
  /** The part of `usage` that was reserved and never settled. */
  readonly lost: Usage
  readonly root: FrameSummary
}

/** One workflow within the run. */
export interface FrameSummary {
  readonly key: string
  readonly path: readonly string[]
  readonly schedule: Schedule
  /** In the order of their ids; only those that started. */
  readonly tasks: readonly TaskSummary[]
}

interface TaskSummary {
  readonly id: TaskId
  readonly node: NodeId
  readonly input: Json
  readonly steps: ReadonlyMap<string, Json>
  /** Its questions to people, by key. */
  readonly asked: ReadonlyMap<string, Json>
  /** The sub-workflows that it called, by key, once they had begun; if a retry called one again, the last. */
  readonly calls: ReadonlyMap<string, FrameSummary | undefined>
  readonly end: TaskEnd | undefined
}

type TaskEnd =
  | ({ readonly type: "finished" } & Pick<TaskFinished, "sends" | "writes" | "local" | "settled">)
  | { readonly type: "failed"; readonly error: ErrorData }
  | { readonly type: "refused"; readonly reason: string }

interface OwnTask extends TaskSummary {
  readonly steps: Map<string, Json>
  readonly asked: Map<string, Json>
  readonly calls: Map<string, FrameSummary | undefined>
  end: TaskEnd | undefined
}

interface OwnFrame extends FrameSummary {
  readonly tasks: OwnTask[]
  readonly byId: Map<TaskId, OwnTask>
}

/** Throws the machine's error for an invalid entry. */
export function summarize(journal: Journal): RunSummary {
  const walk = new JournalWalk(journal)
  const frames = new Map<string, OwnFrame>()
  for (const walked of walk) take(walked, frames)
  for (const { tasks } of frames.values()) tasks.sort((a, b) => a.id - b.id)
  const { machine } = walk.frames.get("") as FoldedFrame
  const { status, error, outputs, usage, lost } = machine
  return { status, error, outputs, state: machine.allState(), usage, lost, root: frames.get("") as OwnFrame }
}

function take(walked: FoldedRecord, frames: Map<string, OwnFrame>): void {
  const { record, effects } = walked
  const frame = frames.get(record.frame) ?? newFrame(walked.frame, frames)
  if ("task" in record.entry && record.entry.task !== undefined) {
    const task = frame.byId.get(record.entry.task)
    if (task !== undefined) takeEntry(task, record.entry, walked)
  }
  for (const effect of effects) {
    if (effect.type !== "start" || frame.byId.has(effect.task.id)) continue
    const { id, node, message } = effect.task
    const own = { steps: new Map(), asked: new Map(), calls: new Map(), end: undefined }
    const task: OwnTask = { id, node: node.id, input: message, ...own }
    frame.byId.set(id, task)
    frame.tasks.push(task)
  }
}

function newFrame({ key, path, machine }: FoldedFrame, frames: Map<string, OwnFrame>): OwnFrame {
  const { schedule } = machine.graph
  const frame: OwnFrame = { key, path, schedule, tasks: [], byId: new Map() }
  frames.set(key, frame)
  if (key === "") return frame
  const { frame: above, task, call } = callOf(key)
  frames.get(above)?.byId.get(task)?.calls.set(call, frame)
  return frame
}

function takeEntry(task: OwnTask, entry: Entry, walked: FoldedRecord): void {
  switch (entry.type) {
    case "step.recorded":
      task.steps.set(entry.key, entry.value)
      break
    case "call.started":
      if (!task.calls.has(entry.key)) task.calls.set(entry.key, undefined)
      break
    case "request.opened":
      task.asked.set(entry.key, question(entry.request))
      break
    case "task.finished": {
      const { sends, writes, local, settled } = entry
      for (const [i, request] of (entry.requests ?? []).entries())
        task.asked.set(`request ${i + 1}`, question(request))
      task.end = { type: "finished", sends, writes, local, settled }
      break
    }
    case "task.failed":
      if (!isRetried(walked)) task.end = { type: "failed", error: entry.error }
      break
    case "task.rejected":
      task.end = { type: "refused", reason: entry.reason }
      break
    default:
      break
  }
}

/** Without the deadline, which depends on the clock. */
function question({ prompt, data, to }: RequestSpec): Json {
  return { prompt, data, to }
}
