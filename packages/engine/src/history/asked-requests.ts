/** The questions of a run: what was asked, and who answered when. */
import type { Json, NodeId, OpenRequest, RequestId, TaskId } from "../core/index.ts"
import { outerId } from "../runtime/events.ts"
import type { ClosedRequest } from "../runtime/index.ts"
import { eventsOf, type WalkedRecord } from "./journal-walk.ts"

export interface AskedRequest {
  readonly id: RequestId
  /** The sub-workflow that asked; empty for the run itself. */
  readonly path: readonly string[]
  readonly node: NodeId
  readonly task: TaskId
  readonly prompt: string
  /** Whom it was for in the end. */
  readonly to?: string | undefined
  readonly openedAt: number
  readonly outcome: "open" | ClosedRequest["outcome"]
  readonly closedAt?: number | undefined
  readonly answer?: Json | undefined
  /** Who answered, as they said; `deadline` where nobody did and the default was taken. */
  readonly by?: string | undefined
}

export class AskedRequests {
  readonly #all = new Map<RequestId, AskedRequest>()

  /** To be called with every record of the run. */
  take(walked: WalkedRecord): void {
    const { key, path } = walked.frame
    const { at } = walked.record.entry
    for (const event of eventsOf(walked)) {
      if (event.type === "request.opened") this.#open(outerId(key, event.request.id), path, event.request)
      else if (event.type === "request.escalated")
        this.#change(outerId(key, event.request.id), { to: event.request.to })
      else if (event.type === "request.answered") {
        const { value: answer, by } = event
        this.#change(outerId(key, event.request), { outcome: "answered", closedAt: at, answer, by })
      } else if (event.type === "request.closed") {
        this.#change(outerId(key, event.request), { outcome: event.reason, closedAt: at })
      }
    }
    for (const { key: below, machine } of walked.abandoned) {
      for (const { id } of machine.requests()) {
        this.#change(outerId(below, id), { outcome: "withdrawn", closedAt: at })
      }
    }
  }

  isOpen(id: RequestId): boolean {
    return this.#all.get(id)?.outcome === "open"
  }
  ids(): RequestId[] {
    return [...this.#all.keys()]
  }

  /** Those of a frame and of everything below it. */
  below(frame: string): AskedRequest[] {
    if (frame === "") return [...this.#all.values()]
    return [...this.#all.values()].filter(({ id }) => id.startsWith(`${frame}/`))
  }

  #open(id: RequestId, path: readonly string[], { node, task, prompt, to, openedAt }: OpenRequest): void {
    const whom = to === undefined ? {} : { to }
    this.#all.set(id, { id, path, node, task, prompt, ...whom, openedAt, outcome: "open" })
  }

  #change(id: RequestId, change: Partial<AskedRequest>): void {
    const request = this.#all.get(id)
    if (request !== undefined) this.#all.set(id, { ...request, ...change })
  }
}
