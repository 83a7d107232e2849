/** A task of an A2A agent, put together from what comes: its state, and its artifacts piece by piece. */
import type { TaskView } from "./a2a-client.ts"
import { type Incoming, type IncomingTask, isUnderWay } from "./a2a-wire.ts"

export class TaskReader {
  #view: Omit<TaskView, "answer">
  readonly #artifacts = new Map<string, string>()
  readonly #tell: (text: string, offset: number) => void
  #told = 0

  constructor(task: IncomingTask, tell: (text: string, offset: number) => void) {
    this.#tell = tell
    this.#view = viewOf(task)
    this.#begin(task)
  }

  take(incoming: Incoming): void {
    switch (incoming.kind) {
      case "task":
        this.#view = viewOf(incoming)
        this.#begin(incoming)
        break
      case "status":
        this.#view = { ...this.#view, state: incoming.state, note: incoming.note }
        break
      case "artifact": {
        const { id, text } = incoming.artifact
        const before = incoming.isMore ? (this.#artifacts.get(id) ?? "") : ""
        this.#artifacts.set(id, before + text)
        this.#add(text)
        break
      }
      case "message":
        this.#view = { ...this.#view, state: "completed", note: incoming.text }
        break
    }
  }

  #begin({ artifacts }: IncomingTask): void {
    for (const { id, text } of artifacts) {
      const before = this.#artifacts.get(id) ?? ""
      this.#artifacts.set(id, text)
      if (text.startsWith(before)) this.#add(text.slice(before.length))
    }
  }

  #add(text: string): void {
    this.#tell(text, this.#told)
    this.#told += text.length
  }

  /** What the task is about is in its artifacts; one without says it with its state. */
  get view(): TaskView {
    const text = [...this.#artifacts.values()].filter((one) => one !== "").join("\n\n")
    return { ...this.#view, answer: text === "" ? this.#view.note : text }
  }

  /** Undefined while it is under way. */
  end(): TaskView | undefined {
    return isUnderWay(this.#view.state) ? undefined : this.view
  }
}

function viewOf({ id, contextId, state, note }: IncomingTask): Omit<TaskView, "answer"> {
  return { id, ...(contextId === undefined ? {} : { contextId }), state, note }
}
