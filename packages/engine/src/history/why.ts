/**
 * Why the messages of a task went where they went: every edge of its node, whether the message took it, and why. It is read
 * from the journal and the stored graph: nothing is evaluated again. The condition of a definition is recorded with the values
 * of its operands. The condition of a workflow in code is a function that sees the message, so the message is what it decided
 * on; the label of the edge says what it asks.
 */
import {
  type EdgeGroup,
  type ErrorData,
  type GraphNode,
  type Json,
  joinId,
  type Machine,
  type NodeId,
  type OutGroup,
  type Route,
  type RouteDecision,
  type RunId,
  type Send,
  SuperstepError,
  type SwitchEdge,
  type TaskId,
} from "../core/index.ts"
import { failureRoute } from "../core/internal.ts"
import type { Store } from "../runtime/index.ts"
import { isRetried } from "./checkpoints.ts"
import { type HistoryOptions, summarizeFrame } from "./history.ts"
import { type Journal, JournalWalk, readJournal } from "./journal-walk.ts"

export interface RouteExplanation {
  readonly runId: RunId
  readonly task: TaskId
  readonly node: NodeId
  /** The record in which the task ended; absent if it has not. */
  readonly seq?: number | undefined
  /** Why the task failed, if so. */
  readonly error?: ErrorData | undefined
  /** The conditions of the definition that its node evaluated, in order. Absent for workflows in code. */
  readonly conditions?: readonly RouteDecision[] | undefined
  readonly messages: readonly ExplainedMessage[]
}

export interface ExplainedMessage {
  /** What the conditions decided on. */
  readonly value: Json
  readonly isOutput: boolean
  /** Why it reached no node, if so. */
  readonly undelivered?: string | undefined
  /** In the order of the workflow. */
  readonly edges: readonly ExplainedEdge[]
}

export interface ExplainedEdge {
  readonly kind: EdgeGroup["kind"]
  /** Absent for a case of a switch that makes the message an output. */
  readonly to?: NodeId | undefined
  /** The label of a conditional edge. */
  readonly label?: string | undefined
  readonly taken: boolean
  readonly reason: string
  /** The condition of a definition that decided about it, with the values of its operands. */
  readonly condition?: RouteDecision | undefined
}

export async function why(
  store: Store,
  runId: RunId,
  task: TaskId,
  { path = [] }: HistoryOptions = {},
): Promise<RouteExplanation> {
  const journal = await readJournal(store, runId)
  const { key, machine } = summarizeFrame(journal, path).frame
  let node = machine.task(task)?.node
  let ended:
    | {
        readonly seq: number
        readonly sends: readonly Send[]
        readonly hasFailed: boolean
        readonly conditions?: readonly RouteDecision[] | undefined
      }
    | undefined
  let error: ErrorData | undefined
  for (const walked of new JournalWalk(journal)) {
    const { record, frame, task: own } = walked
    if (frame.key !== key || own?.id !== task) continue
    const { entry, seq } = record
    node = own.node
    if (entry.type === "task.finished") {
      ended = { seq, sends: entry.sends, hasFailed: false, conditions: entry.decisions }
      error = entry.settled
    } else if (entry.type === "task.failed" && !isRetried(walked)) {
      error = entry.error
      const stops = error.fatal || error.limit
      ended = { seq, sends: (stops ? undefined : failureRoute(own, error)) ?? [], hasFailed: true }
    }
  }
  if (node === undefined) {
    throw new SuperstepError("TASK_UNKNOWN", `Run "${runId}" did not start task ${task}.`, { run: runId })
  }
  const about = { runId, task, node: node.id, ...(error === undefined ? {} : { error }) }
  if (ended === undefined) return { ...about, messages: [] }
  const { seq, sends, hasFailed, conditions } = ended
  const decision = { node, before: machineBefore(journal, key, seq), hasFailed, conditions: conditions ?? [] }
  const messages = sends.map((send) => explained(decision, send))
  return { ...about, seq, ...(conditions === undefined ? {} : { conditions }), messages }
}

/** What a route was decided with. */
interface Decision {
  readonly node: GraphNode
  /** The machine as the task found it. */
  readonly before: Machine
  /** The message is the failure of the task: no condition is asked. */
  readonly hasFailed: boolean
  /** The conditions that its node evaluated. */
  readonly conditions: readonly RouteDecision[]
}

function machineBefore({ runId, records, graphs }: Journal, key: string, seq: number): Machine {
  let machine: Machine | undefined
  for (const { frame } of new JournalWalk({ runId, records: records.slice(0, seq - 1), graphs })) {
    if (frame.key === key) machine = frame.machine
  }
  return machine as Machine
}

function explained(decision: Decision, { value, route }: Send): ExplainedMessage {
  const { node, hasFailed } = decision
  const isNamed = !hasFailed && node.out.some((group) => isUnconditional(group) && !isTaken(group, route))
  const edges = node.out.flatMap((group): ExplainedEdge[] => {
    if (hasFailed) return targetsOf(group, route).map((edge) => ({ ...edge, reason: "the task failed" }))
    if (isNamed) return targetsOf(group, route).map((edge) => ({ ...edge, reason: namedReason(edge) }))
    return group.kind === "switch" ? casesOf(decision, group, route) : edgesOf(group, route)
  })
  const { onError } = node
  if (onError !== undefined) {
    const taken = hasFailed && route.nodes?.includes(onError) === true
    const reason = hasFailed ? "the task failed" : "the task did not fail"
    edges.push({ kind: "error", to: onError, taken, reason })
  }
  const undelivered = route.reason === undefined ? {} : { undelivered: route.reason }
  const decided = edges.map((edge) => ({ ...edge, ...conditionOf(decision, edge) }))
  return { value, isOutput: route.output === true, ...undelivered, edges: decided }
}

/** A condition names where it leads, or is the only one of its node: then it decides between the edges. */
function conditionOf(
  { conditions, hasFailed }: Decision,
  { to, kind }: ExplainedEdge,
): Pick<ExplainedEdge, "condition"> {
  if (hasFailed || kind === "error") return {}
  const own = conditions.findLast((one) => one.to !== undefined && one.to === (to ?? null))
  const only = conditions.length === 1 && conditions[0]?.to === undefined ? conditions[0] : undefined
  const condition = own ?? (kind === "switch" || kind === "single" ? only : undefined)
  return condition === undefined ? {} : { condition }
}

type Target = Omit<ExplainedEdge, "reason">

function targetsOf(group: OutGroup, route: Route): Target[] {
  const { kind } = group
  switch (kind) {
    case "single":
      return [{ kind, to: group.to, ...labelOf(group), taken: isTaken(group, route) }]
    case "fan-out":
      return group.to.map((to) => ({
        kind,
        to,
        ...labelOf(group),
        taken: route.nodes?.includes(to) === true,
      }))
    case "fan-in":
      return [{ kind, to: group.to, taken: isTaken(group, route) }]
    case "map":
      return [{ kind, to: group.worker, taken: isTaken(group, route) }]
    case "switch":
      return group.cases.map((one) => ({
        kind,
        ...toOf(one),
        ...labelOf(one),
        taken: leadsTo(one.to, route),
      }))
  }
}

function namedReason({ taken }: Target): string {
  return taken ? "the message named this target" : "the message named another target"
}

function edgesOf(group: Exclude<OutGroup, SwitchEdge>, route: Route): ExplainedEdge[] {
  return targetsOf(group, route).map((edge) => {
    const [yes, no] =
      group.kind === "fan-out" ? ["the selection named it", "the selection did not name it"] : HELD
    const reason = isUnconditional(group) ? "it has no condition" : edge.taken ? yes : no
    return { ...edge, reason }
  })
}

const HELD = ["its condition held", "its condition did not hold"] as const

/** The first case that holds is chosen, else the one without a condition. */
function casesOf({ node, before }: Decision, group: SwitchEdge, route: Route): ExplainedEdge[] {
  const isUsedUp = ({ to, max }: SwitchEdge["cases"][number]) =>
    to !== undefined && max !== undefined && before.passes(node, to) >= max
  const held = group.cases.findIndex((one) => one.conditional && !isUsedUp(one) && leadsTo(one.to, route))
  const chosen = held >= 0 ? held : group.cases.findIndex(({ conditional }) => !conditional)
  const reasonOf = (i: number, one: SwitchEdge["cases"][number]) => {
    if (!one.conditional) return i === chosen ? "no case before it held" : "a case held"
    if (isUsedUp(one)) return `it was taken ${one.max} times, which is its limit`
    if (i === chosen) return HELD[0]
    return held >= 0 && i > held ? "an earlier case held" : HELD[1]
  }
  return group.cases.map((one, i) => ({
    kind: group.kind,
    ...toOf(one),
    ...labelOf(one),
    taken: i === chosen,
    reason: reasonOf(i, one),
  }))
}

function isUnconditional(group: OutGroup): boolean {
  if (group.kind === "single") return group.conditional !== true
  if (group.kind === "fan-out") return group.selective !== true
  return group.kind !== "switch"
}

function isTaken(group: OutGroup, route: Route): boolean {
  switch (group.kind) {
    case "single":
      return leadsTo(group.to, route)
    case "fan-out":
      return group.to.some((to) => leadsTo(to, route))
    case "fan-in":
      return route.joins?.includes(joinId(group)) === true
    case "map":
      return route.maps?.includes(group.worker) === true
    case "switch":
      return group.cases.some(({ to }) => leadsTo(to, route))
  }
}

function leadsTo(to: NodeId | undefined, { nodes, output }: Route): boolean {
  return to === undefined ? output === true : nodes?.includes(to) === true
}

function toOf({ to }: { readonly to?: NodeId | undefined }): { readonly to?: NodeId } {
  return to === undefined ? {} : { to }
}

function labelOf({ label }: { readonly label?: string | undefined }): { readonly label?: string } {
  return label === undefined ? {} : { label }
}
