/**
 * The current state of a run, from its events: its active tasks, its usage, the text of its agents. Memory is
 * proportional to the active tasks.
 */
import type { NodeId, RunEvent, Usage } from "@superstep/engine"
import { addUsage } from "@superstep/engine/core"

export interface ActiveTask {
  /** See `displayName`. */
  readonly name: string
  readonly node: NodeId
  readonly startedAt: number
  attempt: number
  /** `retry` until its next attempt. */
  state: "runs" | "waits" | "retry"
  /** The reply of its agent so far. */
  text: string
}

/** A task that ended. */
export interface Outcome {
  readonly task: ActiveTask
  readonly outcome: "finished" | "failed" | "cancelled"
  readonly at: number
  readonly reason?: string | undefined
  /** The time of its next attempt, after a failure. */
  readonly retryAt?: number | undefined
}

/** More characters than are shown. */
const MAX_TEXT_LENGTH = 4_000

export class RunTracker {
  readonly active = new Map<string, ActiveTask>()
  usage: Usage = {}
  superstep = 0
  startedAt: number | undefined
  /** The task whose agent streamed last. */
  speaker: ActiveTask | undefined

  /** Replays the earlier events of a resumed run. Tasks that were active then are timed from now. */
  follow(past: readonly RunEvent[], now: number): void {
    for (const event of past) this.add(event)
    this.startedAt = now
    for (const [key, task] of this.active) this.active.set(key, { ...task, startedAt: now })
  }

  /** Returns the task, or the attempt, that the event ended. */
  add(event: RunEvent): Outcome | undefined {
    this.startedAt ??= event.at
    switch (event.type) {
      case "superstep.started":
        if (event.path.length === 0) this.superstep = event.superstep
        return undefined
      case "usage.recorded":
        this.usage = addUsage(this.usage, event.usage)
        return undefined
      case "model.delta":
        if (event.kind === "text") this.#say(event.path, event.task, event.offset, event.text)
        return undefined
      case "task.started": {
        const key = keyOf(event.path, event.task)
        const known = this.active.get(key)
        if (event.path.length === 0) this.superstep = Math.max(this.superstep, event.superstep)
        if (known !== undefined) Object.assign(known, { attempt: event.attempt, state: "runs", text: "" })
        else
          this.active.set(key, {
            name: displayName(event.path, event.node),
            node: event.node,
            startedAt: event.at,
            attempt: event.attempt,
            state: "runs",
            text: "",
          })
        return undefined
      }
      case "task.parked":
        return this.#turn(event.path, event.task, "waits")
      case "task.resumed":
        return this.#turn(event.path, event.task, "runs")
      case "task.failed": {
        const { error, retryAt, at } = event
        if (retryAt === undefined) return this.#over(event.path, event.task, "failed", at, error.message)
        const task = this.active.get(keyOf(event.path, event.task))
        if (task === undefined) return undefined
        task.state = "retry"
        return { task: { ...task }, outcome: "failed", at, reason: error.message, retryAt }
      }
      case "task.finished":
        return this.#over(event.path, event.task, "finished", event.at, event.settled?.message)
      case "task.cancelled":
        return this.#over(event.path, event.task, "cancelled", event.at)
      case "task.rejected":
        return this.#over(event.path, event.task, "failed", event.at, event.reason)
      default:
        return undefined
    }
  }

  #turn(path: readonly string[], id: number, state: ActiveTask["state"]): undefined {
    const task = this.active.get(keyOf(path, id))
    if (task !== undefined) task.state = state
    return undefined
  }

  #over(
    path: readonly string[],
    id: number,
    outcome: Outcome["outcome"],
    at: number,
    reason?: string,
  ): Outcome | undefined {
    const key = keyOf(path, id)
    const task = this.active.get(key)
    if (task === undefined) return undefined
    this.active.delete(key)
    if (this.speaker === task) this.speaker = undefined
    return { task, outcome, at, reason }
  }

  #say(path: readonly string[], id: number, offset: number, text: string): void {
    const task = this.active.get(keyOf(path, id))
    if (task === undefined) return
    // A retried reply starts over.
    task.text = (offset === 0 ? text : task.text + text).slice(-MAX_TEXT_LENGTH)
    this.speaker = task
  }
}

function keyOf(path: readonly string[], task: number): string {
  return [...path, task].join("/")
}

/** Includes the nodes that called its workflow: `outer/inner`. */
export function displayName(path: readonly string[], node: NodeId): string {
  return [...path.map((part) => part.slice(0, part.lastIndexOf("#"))), node].join("/")
}
