/** What is going on in a run right now, from its events: what runs, what it has used, what is said. Costs what is at work. */
import type { NodeId, RunEvent, RunId, Usage } from "@superstep/engine"

export interface ActiveTask {
  /** As `nameOf` gives it. */
  readonly name: string
  readonly node: NodeId
  readonly startedAt: number
  attempt: number
  /** `retry` until its next attempt. */
  state: "runs" | "waits" | "retry"
  /** What its agent says, in the reply that is coming. */
  said: string
}

/** A task that is over. */
export interface Outcome {
  readonly task: ActiveTask
  readonly outcome: "finished" | "failed" | "cancelled"
  readonly at: number
  readonly reason?: string | undefined
  /** When it is tried again, after a failure. */
  readonly retryAt?: number | undefined
}

/** Enough for what is shown of it. */
const LONGEST_SAID = 4_000

export class RunTracker {
  readonly active = new Map<string, ActiveTask>()
  runId: RunId | undefined
  usage: Usage = {}
  superstep = 0
  finished = 0
  startedAt: number | undefined
  /** Who has said something last. */
  speaker: ActiveTask | undefined

  /** Of a run that goes on: what was before. What was at work then counts from now. */
  follow(past: readonly RunEvent[], now: number): void {
    for (const event of past) this.add(event)
    this.startedAt = now
    for (const [key, task] of this.active) this.active.set(key, { ...task, startedAt: now })
  }

  /** Gives the task that the event ended, or an attempt of it. */
  add(event: RunEvent): Outcome | undefined {
    this.runId ??= event.runId
    this.startedAt ??= event.at
    switch (event.type) {
      case "superstep.started":
        if (event.path.length === 0) this.superstep = event.superstep
        return undefined
      case "usage.recorded":
        this.usage = sum(this.usage, event.usage)
        return undefined
      case "model.delta":
        if (event.kind === "text") this.#say(event.path, event.task, event.offset, event.text)
        return undefined
      case "task.started": {
        const key = keyOf(event.path, event.task)
        const known = this.active.get(key)
        if (event.path.length === 0) this.superstep = Math.max(this.superstep, event.superstep)
        if (known !== undefined) Object.assign(known, { attempt: event.attempt, state: "runs", said: "" })
        else
          this.active.set(key, {
            name: nameOf(event.path, event.node),
            node: event.node,
            startedAt: event.at,
            attempt: event.attempt,
            state: "runs",
            said: "",
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
    if (outcome === "finished") this.finished++
    return { task, outcome, at, reason }
  }

  #say(path: readonly string[], id: number, offset: number, text: string): void {
    const task = this.active.get(keyOf(path, id))
    if (task === undefined) return
    // A reply that is tried again starts over.
    task.said = (offset === 0 ? text : task.said + text).slice(-LONGEST_SAID)
    this.speaker = task
  }
}

function keyOf(path: readonly string[], task: number): string {
  return [...path, task].join("/")
}

/** With the nodes that it is below: `outer/inner`. */
export function nameOf(path: readonly string[], node: NodeId): string {
  return [...path.map((part) => part.slice(0, part.lastIndexOf("#"))), node].join("/")
}

function sum(total: Usage, more: Usage): Usage {
  const added: Record<string, number> = {}
  for (const usage of [total, more])
    for (const [counter, value] of Object.entries(usage) as [string, number | undefined][])
      added[counter] = (added[counter] ?? 0) + (value ?? 0)
  return added
}
