/**
 * Where a value of a run comes from: the tasks that wrote a channel or sent an output, each with its message and the tasks that
 * sent it. A pure function of the journal.
 */
import { type Json, type NodeId, type RunId, type Send, SuperstepError, type TaskId } from "../core/index.ts"
import { canonicalJson } from "../core/internal.ts"
import type { Store } from "../runtime/index.ts"
import type { FoldedRecord } from "../runtime/internal.ts"
import { seqOfPoint } from "./fork.ts"
import type { Point } from "./fork-options.ts"
import { checkSeq, type HistoryOptions, summarizeFrame } from "./history.ts"
import { eventsOf, JournalWalk, readJournal } from "./journal-walk.ts"

export interface ProvenanceOptions extends HistoryOptions {
  /** Of a channel of the shared state. */
  readonly channel?: string | undefined
  /** Of an output, from 0. */
  readonly output?: number | undefined
  /** Default: the end of the journal. */
  readonly at?: Point | undefined
}

export interface Provenance {
  readonly runId: RunId
  /** The record that it is answered for. */
  readonly seq: number
  /** Absent if the channel has no value. */
  readonly value?: Json | undefined
  /** What made the value, in order. A reducer that replaces leaves one; others add to what was written before. */
  readonly sources: readonly ValueSource[]
}

export interface ValueSource {
  readonly seq: number
  /** `start`: the initial state, or the input. `fork`: the fork set it. */
  readonly kind: "task" | "start" | "fork"
  /** What was written. */
  readonly value: Json
  readonly reducer?: string | undefined
  readonly task?: TaskSource | undefined
}

export interface TaskSource {
  readonly task: TaskId
  readonly node: NodeId
  /** The message that the task handled. */
  readonly input: Json
  /** The tasks that sent the message; none for the input of the run. */
  readonly from: readonly { readonly task: TaskId; readonly node: NodeId; readonly seq: number }[]
  /** The steps that it had recorded by then: calls of models and tools among them. */
  readonly steps: readonly string[]
}

export async function provenance(
  store: Store,
  runId: RunId,
  options: ProvenanceOptions,
): Promise<Provenance> {
  const { path = [], channel, output } = options
  if ((channel === undefined) === (output === undefined)) {
    throw new SuperstepError(
      "OPTION_INVALID",
      "provenance takes either a channel or the number of an output.",
    )
  }
  const whole = await readJournal(store, runId)
  const { key, machine } = summarizeFrame(whole, path).frame
  const { length } = whole.records
  const seq =
    options.at === undefined
      ? length
      : checkSeq(runId, seqOfPoint(whole, options.at), { from: 1, to: length })
  if (channel !== undefined && !machine.graph.channels.has(channel)) {
    const names = [...machine.graph.channels.keys()].map((one) => `"${one}"`).join(", ") || "none"
    throw new SuperstepError(
      "UNKNOWN_CHANNEL",
      `Run "${runId}" has no channel "${channel}"; it has ${names}.`,
      {
        run: runId,
        retryable: false,
      },
    )
  }
  const trail = new Trail()
  const sources: ValueSource[] = []
  let value: Json | undefined
  let outputs = 0
  for (const walked of new JournalWalk({ ...whole, records: whole.records.slice(0, seq) })) {
    if (walked.frame.key !== key) continue
    trail.take(walked)
    for (const source of channel === undefined ? [] : writesOf(walked, channel, trail)) {
      if (source.reducer === undefined || source.reducer === "replace") sources.length = 0
      sources.push(source)
    }
    for (const event of eventsOf(walked)) {
      if (event.type !== "output" || outputs++ !== output) continue
      const { value, task } = event
      sources.push({ seq: walked.record.seq, kind: "task", value, task: trail.of(task) })
    }
    value = channel === undefined ? sources[0]?.value : walked.frame.machine.state(channel)
  }
  if (output !== undefined && sources.length === 0) {
    const text = `Run "${runId}" has no output ${output} at record ${seq}; it has ${outputs}.`
    throw new SuperstepError("OUTPUT_MISSING", text, { run: runId })
  }
  return { runId, seq, ...(value === undefined ? {} : { value }), sources }
}

function* writesOf(walked: FoldedRecord, channel: string, trail: Trail): Generator<ValueSource> {
  const { seq } = walked.record
  for (const event of eventsOf(walked)) {
    if (event.type === "run.started" || event.type === "run.forked") {
      const value = event.state?.[channel]
      if (value !== undefined) yield { seq, kind: event.type === "run.started" ? "start" : "fork", value }
    } else if (event.type === "state.written" && event.key === channel) {
      const { value, reducer, task } = event
      yield { seq, kind: "task", value, reducer, task: trail.of(task) }
    }
  }
}

interface Sent {
  /** How it reaches the task: by itself, with those of other nodes, item by item, or as one result of a map. */
  readonly by: "node" | "join" | "map" | "result"
  readonly task: TaskId
  readonly node: NodeId
  readonly seq: number
  readonly value: Json
}

/** Who sent what to whom, in one frame. */
class Trail {
  readonly #tasks = new Map<TaskId, TaskSource & { readonly steps: string[] }>()
  /** Messages that no task has handled yet, by the node that they go to. */
  readonly #sent = new Map<NodeId, Sent[]>()

  take(walked: FoldedRecord): void {
    const { entry } = walked.record
    if (entry.type === "step.recorded") this.#tasks.get(entry.task)?.steps.push(entry.key)
    if (entry.type === "task.finished") for (const send of entry.sends) this.#send(walked, send)
    for (const event of eventsOf(walked)) {
      if (event.type !== "task.started" || this.#tasks.has(event.task)) continue
      const { task, node, input, from } = event
      this.#tasks.set(task, { task, node, input, from: this.#senders(node, input, from), steps: [] })
    }
  }

  of(task: TaskId): TaskSource | undefined {
    const found = this.#tasks.get(task)
    return found && { ...found, steps: [...found.steps] }
  }

  #send({ record, task, frame }: FoldedRecord, { value, route }: Send): void {
    if (task === undefined) return
    const { graph } = frame.machine
    const add = (to: NodeId | undefined, by: Sent["by"]) => {
      if (to === undefined) return
      const sent = { by, task: task.id, node: task.node.id, seq: record.seq, value }
      this.#sent.set(to, [...(this.#sent.get(to) ?? []), sent])
    }
    for (const to of route.nodes ?? []) add(to, "node")
    for (const id of route.joins ?? []) add(graph.joinIndex.get(id)?.group.to, "join")
    for (const worker of route.maps ?? []) add(worker, "map")
    if (route.result) add(graph.maps.get(task.node.id)?.group.to, "result")
  }

  #senders(node: NodeId, input: Json, from: NodeId | undefined): TaskSource["from"] {
    const waiting = this.#sent.get(node) ?? []
    const text = canonicalJson(input)
    const direct = waiting.find(
      (one) => one.by === "node" && one.node === (from ?? one.node) && canonicalJson(one.value) === text,
    )
    const map = waiting.find(
      ({ by, value }) =>
        by === "map" && Array.isArray(value) && value.some((item) => canonicalJson(item) === text),
    )
    const found = direct ? [direct] : map ? [map] : gathered(waiting)
    // A list is the message of all its items.
    this.#sent.set(
      node,
      waiting.filter((one) => one.by === "map" || !found.includes(one)),
    )
    return found.map(({ task, node: sender, seq }) => ({ task, node: sender, seq }))
  }
}

/** A join takes one message of each source, the first first; what follows a map gets all its results. */
function gathered(waiting: readonly Sent[]): readonly Sent[] {
  const joined = waiting.filter(({ by }) => by === "join")
  const first = joined.filter((one, i) => joined.findIndex(({ node }) => node === one.node) === i)
  return first.length > 0 ? first : waiting.filter(({ by }) => by === "result")
}
