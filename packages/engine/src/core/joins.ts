/**
 * Joins keep a buffer per source over supersteps: the k-th message of every source belongs to round k. A round
 * fires when its policy is met, and the target gets a list in the declared order of the sources.
 */
import { emit, reportUndelivered, watched } from "./emit.ts"
import type { ErrorData } from "./errors.ts"
import type { GraphJoin, GraphNode, Settled } from "./graph.ts"
import type { NodeId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import { freezeData } from "./own-json.ts"
import type { JoinRound, JoinState, MachineState } from "./state.ts"
import { extrasOf, type Task } from "./task.ts"
import { addTask, sendFromOutside } from "./tasks.ts"
import { clearTimer, setTimer } from "./waiting.ts"

/** A message reaches a join: it is buffered, makes the join fire, or is too late. */
export function arrive(m: MachineState, join: GraphJoin, from: Task, value: Json, failed: boolean): void {
  const source = join.sources.get(from.node.id) as number
  const state = joinState(m, join)
  const number = state.arrivals[source] as number
  state.arrivals[source] = number + 1
  const round = state.rounds.get(number) ?? openRound(m, join, number)
  round.count++
  if (round.fired) {
    if (round.count === join.sources.size) state.rounds.delete(number)
    const reason = "it came after the join had fired"
    return reportUndelivered(m, { from: from.node.id, to: join.group.to, reason, value })
  }
  round.values[source] = settles(join) && !failed ? asSucceeded(value) : value
  if (from.ended?.trace !== undefined) {
    round.traces ??= []
    round.traces.push(from.ended.trace)
  }
  if (round.count >= (join.needs ?? join.sources.size)) {
    addTask(m, m.graph.nodes[join.target] as GraphNode, takeRound(m, join, round), from, round.traces)
  } else if (watched(m)) {
    emit(m, {
      type: "join.waiting",
      join: join.id,
      node: join.group.to,
      missing: missingSources(join, round),
    })
  }
}

function joinState(m: MachineState, join: GraphJoin): JoinState {
  m.joins ??= []
  let state = m.joins[join.index]
  if (state === undefined) {
    state = { arrivals: new Array<number>(join.sources.size).fill(0), rounds: new Map() }
    m.joins[join.index] = state
  }
  return state
}

function openRound(m: MachineState, join: GraphJoin, number: number): JoinRound {
  const values = new Array<Json | undefined>(join.sources.size).fill(undefined)
  const round: JoinRound = { round: number, values, count: 0, fired: false, traces: undefined }
  joinState(m, join).rounds.set(number, round)
  if (join.group.timeout !== undefined) setTimer(m, joinTimer(join, number), m.now + join.group.timeout)
  return round
}

/** Ends a round and returns the list for the target. */
function takeRound(m: MachineState, join: GraphJoin, round: JoinRound): Json {
  round.fired = true
  if (round.count === join.sources.size) joinState(m, join).rounds.delete(round.round)
  clearTimer(m, joinTimer(join, round.round))
  if (!settles(join)) return Object.freeze(round.values.filter((value) => value !== undefined))
  return Object.freeze(round.values.map((value, i) => value ?? asFailed(notSent(join, i))))
}

/** Fires a settling join with the messages so far; sources that have not sent appear as failures. */
export function fireEarly(m: MachineState, join: GraphJoin, round: JoinRound): void {
  const node = m.graph.nodes[join.target] as GraphNode
  const sender = sendFromOutside(m, node, { value: takeRound(m, join, round), route: { nodes: [node.id] } })
  if (round.traces !== undefined) extrasOf(sender).traces = round.traces
}

/** Every round that has not fired. */
export function* openRounds(m: MachineState): Generator<{ join: GraphJoin; round: JoinRound }> {
  for (const join of m.graph.joins) {
    for (const round of m.joins?.[join.index]?.rounds.values() ?? []) if (!round.fired) yield { join, round }
  }
}

/** The first open round of a settling join, if there is one. */
export function openSettlement(m: MachineState): { join: GraphJoin; round: JoinRound } | undefined {
  if (m.joins === undefined) return undefined
  for (const open of openRounds(m)) if (settles(open.join)) return open
  return undefined
}

export function missingSources(join: GraphJoin, round: JoinRound): NodeId[] {
  return join.group.from.filter((_, i) => round.values[i] === undefined)
}

export function settles(join: GraphJoin): boolean {
  return join.group.join.kind === "settle"
}

/** A failure as the value that settling joins and nodes pass on. */
export function asFailed(error: ErrorData): Json {
  return freezeData({ ok: false, error } satisfies Settled<Json>) as unknown as Json
}

function asSucceeded(value: Json): Json {
  return Object.freeze({ ok: true, value } satisfies Settled<Json>)
}

function notSent(join: GraphJoin, source: number): ErrorData {
  const node = join.group.from[source]
  return { code: "NOT_SENT", message: `"${node}" sent nothing to the join`, node }
}

function joinTimer(join: GraphJoin, round: number): TimerId {
  return `join:${round}:${join.id}`
}
