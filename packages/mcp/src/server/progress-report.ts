/** Tells a client what happens in its run while it waits for the result. */
import type { ServerNotification } from "@modelcontextprotocol/sdk/types.js"
import type { RunEvent, RunResult } from "@superstep/engine"

export interface ProgressListener {
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined
  readonly sendNotification: (notification: ServerNotification) => Promise<void>
}

export function wantsProgress({ _meta }: ProgressListener): boolean {
  return _meta?.progressToken !== undefined
}

export class ProgressReport {
  readonly #events: AsyncIterator<RunEvent>
  readonly #over: Promise<void>
  #isWaiting = false
  #onWaiting: (() => void) | undefined

  constructor(events: AsyncIterator<RunEvent>, listener: ProgressListener) {
    this.#events = events
    // The call itself tells what is wrong with the run; a client that left reads no progress.
    this.#over = this.#report(listener).catch(() => undefined)
  }

  async #report({ _meta, sendNotification }: ProgressListener): Promise<void> {
    const progressToken = _meta?.progressToken ?? 0
    let progress = 0
    for (let next = await this.#events.next(); next.done !== true; next = await this.#events.next()) {
      const message = messageOf(next.value)
      if (message !== undefined) {
        progress += 1
        const params = { progressToken, progress, message }
        await sendNotification({ method: "notifications/progress", params })
      }
      this.#isWaiting = next.value.type === "run.waiting" && next.value.path.length === 0
      if (this.#isWaiting) this.#onWaiting?.()
    }
  }

  /** Resolves when all is told that happened until the run came to this. */
  async complete(status: RunResult["status"]): Promise<void> {
    if (status !== "waiting") return await this.#over
    if (this.#isWaiting) return
    const waiting = new Promise<void>((resolve) => {
      this.#onWaiting = resolve
    })
    await Promise.race([waiting, this.#over])
  }

  stop(): void {
    // One that waits for its next event ends with that.
    this.#events.return?.().catch(() => undefined)
  }
}

function messageOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case "task.started":
      return `${event.node} started${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`
    case "task.finished":
      return `${event.node} finished`
    case "task.failed":
      return `${event.node} failed: ${event.error.message}`
    case "request.opened":
      return `${event.request.node} asks: ${event.request.prompt}`
    case "log":
      return event.level === "debug" ? undefined : `${event.node}: ${event.message}`
    default:
      return undefined
  }
}
