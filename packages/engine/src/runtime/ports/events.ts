/** The events of a run, as its watchers receive them. */
import type { Json, MachineEvent, NodeId, RequestId, RunId, TaskId } from "../../core/index.ts"
import type { Delta, LogLevel } from "./program.ts"

interface EventEnvelope {
  readonly runId: RunId
  /** 1, 2, 3, … over the whole run. A live event has the number of the event before it. */
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The tasks that called a nested workflow, as `node#task`; empty for the run itself. */
  readonly path: readonly string[]
}

/**
 * Events that are not journaled: only current watchers receive them. A user's event is always `custom`, whatever its name.
 */
export type LiveEvent =
  | ({ readonly type: "model.delta"; readonly task: TaskId; readonly node: NodeId } & Delta)
  | {
      readonly type: "output.partial"
      readonly task: TaskId
      readonly node: NodeId
      readonly call: string
      readonly value: Json
      readonly agent?: string | undefined
    }
  | {
      readonly type: "tool.progress"
      readonly task: TaskId
      readonly node: NodeId
      readonly tool: { readonly id: string; readonly name: string }
      readonly data?: Json | undefined
      readonly agent?: string | undefined
    }
  | {
      readonly type: "custom"
      readonly task: TaskId
      readonly node: NodeId
      readonly name: string
      readonly data?: Json | undefined
    }
  | {
      readonly type: "log"
      readonly task: TaskId
      readonly node: NodeId
      readonly level: LogLevel
      readonly message: string
      readonly data?: Json | undefined
    }
  | {
      /** The task waits until its node's limits across processes admit it. */
      readonly type: "slot.waiting"
      readonly task: TaskId
      readonly node: NodeId
      readonly pool: string
      readonly lanes: readonly string[]
    }

/** Live events are missing here: the watcher was too slow, or the process that sent them died. */
interface LiveGap {
  readonly type: "live.gap"
  /** The number of missing events; absent if unknown. */
  readonly lost?: number | undefined
}

const LIVE: ReadonlySet<RunEvent["type"]> = new Set([
  "custom",
  "log",
  "model.delta",
  "output.partial",
  "slot.waiting",
  "tool.progress",
  "live.gap",
])

/** Live events have the number of the journaled event before them. */
export function isLive({ type }: Pick<RunEvent, "type">): boolean {
  return LIVE.has(type)
}

export type RunEvent = EventEnvelope & (MachineEvent | LiveEvent | LiveGap)

/** The id by which the run knows a request of a nested workflow. */
export function outerId(frameKey: string, id: RequestId): RequestId {
  return frameKey === "" ? id : `${frameKey}/${id}`
}

export function withOuterIds(frameKey: string, event: MachineEvent): MachineEvent {
  if (frameKey === "") return event
  switch (event.type) {
    case "request.opened":
    case "request.escalated":
      return { ...event, request: { ...event.request, id: outerId(frameKey, event.request.id) } }
    case "request.answered":
    case "request.closed":
      return { ...event, request: outerId(frameKey, event.request) }
    case "task.parked":
      if (event.wait.kind !== "request") return event
      return { ...event, wait: { ...event.wait, request: outerId(frameKey, event.wait.request) } }
    default:
      return event
  }
}
