/**
 * The machine: journal entries in, effects out. Deterministic: no IO, no clock, no randomness, no user code.
 * Its driver runs handlers, decides routes, owns the clock and makes entries durable.
 *
 * Invariants:
 * M1 a finished task never runs again.
 * M2 no dependent task starts before its cause is durable: effects are carried out after their entry is stored.
 * M3 a failed task leaves no writes, messages or outputs.
 * M4 writes to shared state become visible at the commit only, in task order. A node's own state is committed
 *    when its task finishes, so that its next delivery sees it.
 * M5 every message is delivered, buffered in a join, or reported undelivered.
 * M6 fold(journal) = live state, at every prefix.
 * M7 a request is answered at most once.
 * M8 budgets and attempts survive restarts: they follow from the journal. A call that costs is recorded before it is made,
 *    and counts even without a result (R1 to R3 in budget.ts).
 * M9 a signal is received once and taken by at most one wait; until then it is buffered.
 * M10 a paused run starts no task. What executes is recorded; what arrives takes effect when the run is resumed.
 */

import type { AgentChange } from "./agent-change.ts"
import {
  delayBeforeRetry,
  failTask,
  finishTask,
  recordChildUsage,
  recordStep,
  rejectTask,
} from "./attempts.ts"
import { claimed, nodeOverBudget, overBudget, reservationProblem, reserve, startStep } from "./budget.ts"
import { NO_ITEMS, pushSized, putEntry, removeEntry } from "./collections.ts"
import { askForReduction, completeCommit, settle } from "./commit.ts"
import { emit, watched } from "./emit.ts"
import { finishRun } from "./ending.ts"
import type { Entry, LeftByTask, RunStarted, StateReduced } from "./entries.ts"
import { workingTask } from "./entry-checks.ts"
import { type ErrorData, SuperstepError } from "./errors.ts"
import type { Graph, GraphNode } from "./graph.ts"
import type { NodeId, RequestId, RunId, SignalId, TaskId, TimerId } from "./ids.ts"
import { DEFAULT_VALUE_BYTES, type Json } from "./json.ts"
import type {
  BufferedSignal,
  LeftNotice,
  OpenRequest,
  Pause,
  RunStatus,
  Undelivered,
  Wait,
} from "./messages.ts"
import { awaitSignal, receiveSignal, replyToSignal, takeSignal } from "./signals.ts"
import { restoreState, snapshotOf } from "./snapshot.ts"
import type { MachineSnapshot } from "./snapshot-data.ts"
import { forkRun, startRun } from "./starting.ts"
import { type Effect, isLive, lend, lendAll, MachineState } from "./state.ts"
import type { Task } from "./task.ts"
import { type Budget, remaining, type Usage } from "./usage.ts"
import {
  answer,
  finishCall,
  fireTimer,
  keepAnswer,
  openInline,
  passOn,
  pauseRun,
  resumeRun,
  sleep,
  startCall,
} from "./waits.ts"

export class Machine {
  readonly #m: MachineState

  private constructor(state: MachineState) {
    this.#m = state
  }

  /** A machine for a new run, and its first effects. */
  static start(
    graph: Graph,
    entry: RunStarted,
    observed = false,
  ): { machine: Machine; effects: readonly Effect[] } {
    const m = new MachineState(graph, entry.runId)
    m.observed = observed
    const machine = new Machine(m)
    return { machine, effects: machine.apply(entry) }
  }

  static restore(graph: Graph, snapshot: MachineSnapshot): Machine {
    return new Machine(restoreState(graph, snapshot))
  }

  /** Applies one entry. An entry that is invalid in this state throws and changes nothing. */
  apply(entry: Entry): readonly Effect[] {
    const m = this.#m
    if (!isLive(m))
      throw new SuperstepError("RUN_OVER", `Run "${m.runId}" is ${m.status}; it accepts no more entries.`)
    m.out = NO_ITEMS
    m.entry = entry
    m.now = entry.at
    switch (entry.type) {
      case "task.finished":
        finishTask(m, workingTask(m, entry.task), entry)
        break
      case "task.failed":
        failTask(m, workingTask(m, entry.task), entry)
        break
      case "task.rejected":
        rejectTask(m, workingTask(m, entry.task), entry.reason)
        break
      case "step.recorded":
        recordStep(m, workingTask(m, entry.task), entry)
        break
      case "step.started":
        startStep(m, workingTask(m, entry.task), entry)
        break
      case "usage.recorded":
        recordChildUsage(m, workingTask(m, entry.task), entry)
        break
      case "usage.reserved": {
        const { hold: key, usage, source, isRaise, spent } = entry
        reserve(m, { task: workingTask(m, entry.task), key, usage, source, spent }, isRaise === true)
        break
      }
      case "request.opened":
        openInline(m, workingTask(m, entry.task), entry)
        break
      case "request.answered":
        answer(m, entry)
        break
      case "answer.kept":
        keepAnswer(m, entry)
        break
      case "request.escalated":
        passOn(m, entry)
        break
      case "signal.received":
        receiveSignal(m, entry)
        break
      case "signal.awaited":
        awaitSignal(m, workingTask(m, entry.task), entry)
        break
      case "signal.taken":
        takeSignal(m, entry)
        break
      case "signal.replied":
        replyToSignal(m, entry)
        break
      case "timer.set":
        sleep(m, workingTask(m, entry.task), entry)
        break
      case "timer.fired":
        fireTimer(m, entry)
        break
      case "call.started":
        startCall(m, workingTask(m, entry.task), entry)
        break
      case "call.finished":
        finishCall(m, workingTask(m, entry.task), entry)
        break
      case "state.reduced":
        acceptReduction(m, entry)
        break
      case "run.started":
        startRun(m, entry)
        break
      case "run.forked":
        forkRun(m, entry)
        break
      case "graph.changed":
        throw new SuperstepError("GRAPH_CHANGED", "A machine keeps its graph; restore one for the new graph.")
      case "run.paused":
        pauseRun(m, entry)
        break
      case "run.resumed":
        resumeRun(m, entry)
        break
      case "run.failed":
        finishRun(m, "failed", entry.error)
        break
      case "run.cancelled":
        finishRun(m, "cancelled", {
          code: entry.code ?? "CANCELLED",
          message: entry.reason ?? "The run was cancelled.",
        })
        break
    }
    return takeEffects(m)
  }

  /** The state as plain data: the same entries yield the same bytes. */
  snapshot(): MachineSnapshot {
    return snapshotOf(this.#m)
  }

  /** The effects after a restore: every unfinished task starts (again), every timer is set. A paused run has none (M10). */
  resume(): readonly Effect[] {
    const m = this.#m
    m.out = NO_ITEMS
    if (m.status === "paused") return NO_ITEMS
    for (const [timer, at] of m.timers) m.out = pushSized(m.out, { type: "timer", timer, at })
    for (const task of m.tasks.values()) {
      if (task.status === "running" || task.status === "parked")
        m.out = pushSized(m.out, { type: "start", task })
    }
    for (const [key, writes] of m.reducing) askForReduction(m, key, writes)
    return takeEffects(m)
  }

  /** Sets whether events are created, not only counted. */
  observe(observed: boolean): void {
    this.#m.observed = observed
  }

  /** Calls `leave` when an entry makes the run reach a limit; the result becomes `atWork` of that entry. */
  onLimit(leave: (breach: ErrorData) => LeftByTask): void {
    this.#m.leave = leave
  }

  /** How many events the entries so far produced. */
  get eventCount(): number {
    return this.#m.events
  }
  get graph(): Graph {
    return this.#m.graph
  }
  get runId(): RunId {
    return this.#m.runId
  }
  get status(): RunStatus {
    return this.#m.status
  }
  get error(): ErrorData | undefined {
    return this.#m.error
  }
  /** Since when it is paused, and why; undefined if it is not. */
  get pause(): Pause | undefined {
    return this.#m.pause
  }
  /** If a limit ended the run: the progress of its agents. */
  get left(): LeftNotice | undefined {
    return this.#m.left
  }
  get superstep(): number {
    return this.#m.superstep
  }
  get usage(): Usage {
    return this.#m.usage
  }
  /** The part of `usage` reserved by calls with an unknown outcome: their process died, or they were stopped. */
  get lost(): Usage {
    return this.#m.lost
  }
  /** What is used, together with what calls in progress have reserved. */
  get claimed(): Usage {
    return claimed(this.#m, this.#m.usage, () => true)
  }
  /** What an agent has used and reserved in the run and below, over all its tasks. */
  usageOf(agent: string): Usage {
    const used = this.#m.usageByAgent.get(agent) ?? {}
    return claimed(this.#m, used, ({ source }) => source?.agent === agent)
  }
  /**
   * How many of an agent's model calls have a recorded end, without calls in progress and lost ones.
   */
  endedCallsOf(agent: string): number {
    const { usageByAgent, lostCallsByAgent } = this.#m
    return (usageByAgent.get(agent)?.modelCalls ?? 0) - (lostCallsByAgent.get(agent) ?? 0)
  }
  get hasChangedAgents(): boolean {
    return this.#m.agents !== undefined
  }
  /** What forks changed of an agent. */
  agentChange(agent: string): AgentChange | undefined {
    return this.#m.agents?.[agent]
  }
  /** The answer that holds for all questions of the run with this name. */
  keptAnswer(name: string): Json | undefined {
    return this.#m.kept.get(name)
  }
  /** What remains of the budget, part by part; a part without a limit is absent. */
  get budgetLeft(): Budget {
    return remaining(this.#m.budget ?? {}, this.claimed)
  }
  /** The largest single value that the run accepts. */
  get valueBytes(): number {
    return this.#m.limits.valueBytes ?? DEFAULT_VALUE_BYTES
  }
  get outputs(): readonly Json[] {
    return this.#m.outputs
  }
  get undelivered(): readonly Undelivered[] {
    return this.#m.undelivered
  }
  /** Why no further task or paid call may start, or undefined. */
  get overBudget(): ErrorData | undefined {
    return overBudget(this.#m)
  }
  /** Whether this additional usage exhausts the budget. */
  isOverBudgetWith(more: Usage): boolean {
    return overBudget(this.#m, more) !== undefined
  }
  /** Why no further task or paid call of the node may start, or undefined. */
  nodeOverBudget(node: GraphNode): ErrorData | undefined {
    return nodeOverBudget(this.#m, node)
  }

  /** Why a call of the task with this reservation may not start, or undefined. `replaces`: its earlier reservation. */
  reservationProblem(task: TaskId, replaces: string | undefined, needed: Usage): ErrorData | undefined {
    const found = this.#m.tasks.get(task)
    return found === undefined
      ? undefined
      : reservationProblem(this.#m, { task: found, key: replaces }, needed)
  }
  /** Whether the step was started and has no result: it may have happened. */
  wasStarted(task: TaskId, key: string): boolean {
    return this.#m.tasks.get(task)?.starts?.has(key) ?? false
  }

  /** Whether tasks are executing; otherwise the run has ended or waits for something external. */
  isBusy(): boolean {
    // The tasks of a paused run that have not started wait for it.
    return this.#m.status === "paused" ? this.#m.running > 0 : this.#m.open > 0
  }
  /** How many tasks were started and neither ended nor wait. */
  get running(): number {
    return this.#m.running
  }
  isOver(): boolean {
    return !isLive(this.#m)
  }
  /** Whether this failure is followed by another attempt. */
  willRetry(task: TaskId, error: ErrorData): boolean {
    const found = this.#m.tasks.get(task)
    return found !== undefined && delayBeforeRetry(this.#m, found, error) !== undefined
  }
  task(id: TaskId): Task | undefined {
    return this.#m.tasks.get(id)
  }
  /** Tasks that have not ended. */
  tasks(): Iterable<Task> {
    return this.#m.tasks.values()
  }
  isWaitingFor(task: TaskId, key: string): Wait | undefined {
    return this.#m.tasks.get(task)?.waits?.get(key)
  }
  timers(): Iterable<TimerId> {
    return this.#m.timers.keys()
  }
  /** When its next timer is due. */
  nextTimer(): number | undefined {
    let next: number | undefined
    for (const at of this.#m.timers.values()) if (next === undefined || at < next) next = at
    return next
  }
  hasTimer(timer: TimerId): boolean {
    return this.#m.timers.has(timer)
  }

  /** The committed value of a channel. */
  state(key: string): Json | undefined {
    return lend(this.#m, key)
  }
  allState(): { [key: string]: Json } {
    return this.#m.shared.size === 0 ? {} : Object.fromEntries(lendAll(this.#m))
  }
  local(node: GraphNode, key: string): Json | undefined {
    const local = this.#m.nodes?.[node.index]?.local
    return local !== undefined && Object.hasOwn(local, key) ? local[key] : undefined
  }

  requests(): OpenRequest[] {
    return [...this.#m.requests.values()]
  }
  request(id: RequestId): OpenRequest | undefined {
    return this.#m.requests.get(id)
  }
  wasAnswered(id: RequestId): boolean {
    return this.#m.answered.has(id)
  }
  answered(): Iterable<RequestId> {
    return this.#m.answered
  }
  /** Buffered signals, in the order of their arrival. */
  signals(): Iterable<BufferedSignal> {
    return this.#m.signals.values()
  }
  hasReceived(id: SignalId): boolean {
    return this.#m.signalIds.has(id)
  }
  replyTo(id: SignalId): Json | undefined {
    return this.#m.replies.get(id)
  }
  /** How often a counted edge was taken. */
  passes(from: GraphNode, to: NodeId): number {
    const edge = from.counted.get(to)
    return edge === undefined ? 0 : (this.#m.passes?.[edge.index] ?? 0)
  }
}

/** The run keeps neither the entry nor its effects: an entry may start a hundred thousand tasks. */
function takeEffects(m: MachineState): readonly Effect[] {
  const effects = m.out
  m.out = NO_ITEMS
  m.entry = undefined
  return effects
}

function acceptReduction(m: MachineState, { key, value }: StateReduced): void {
  const writes = m.reducing.get(key)
  if (writes === undefined)
    throw new SuperstepError("NOT_REDUCING", `Channel "${key}" does not wait for a reduction.`)
  removeEntry(m.reducing, key)
  m.shared = putEntry(m.shared, key, value)
  const last = m.committing.findLast((task) =>
    task.ended?.writes?.some(([written]) => written === key),
  ) as Task
  if (watched(m)) {
    emit(m, { type: "state.written", task: last.id, node: last.node.id, key, reducer: "replace", value })
  }
  if (m.reducing.size > 0) return
  completeCommit(m)
  settle(m)
}
