/** What a handler emits at once. Watchers see it; the journal does not have it. */
import type { Json, NodeId, Task } from "../../core/index.ts"
import type { LiveEvent } from "../ports/events.ts"
import type { Delta, LogLevel, PartialOutput, ToolProgress } from "../ports/program.ts"
import { ownValue } from "../ports/values.ts"

/** The frame, as the live events of a task use it. */
interface LiveFrame {
  readonly host: Parameters<typeof ownValue>[1]
  emitLive(event: LiveEvent): void
}

export class LiveEvents {
  readonly #frame: LiveFrame
  readonly #task: Task

  constructor(frame: LiveFrame, task: Task) {
    this.#frame = frame
    this.#task = task
  }

  delta(delta: Delta): void {
    this.#frame.emitLive({ type: "model.delta", task: this.#task.id, node: this.#node, ...delta })
  }

  partial({ call, value, agent }: PartialOutput): void {
    const by = agent === undefined ? {} : { agent }
    const owned = this.#own(value, () => `The partial output of "${this.#node}"`)
    const task = this.#task.id
    this.#frame.emitLive({ type: "output.partial", task, node: this.#node, call, value: owned, ...by })
  }

  progress({ tool: { id, name }, data, agent }: ToolProgress): void {
    const owned = this.#ownData(data, () => `The progress of tool "${name}"`)
    const by = agent === undefined ? {} : { agent }
    const task = this.#task.id
    const tool = { id, name }
    this.#frame.emitLive({ type: "tool.progress", task, node: this.#node, tool, ...owned, ...by })
  }

  emit(name: string, data: unknown): void {
    const owned = this.#ownData(data, () => `The event "${name}" of "${this.#node}"`)
    this.#frame.emitLive({ type: "custom", task: this.#task.id, node: this.#node, name, ...owned })
  }

  log(level: LogLevel, message: string, data: unknown): void {
    const owned = this.#ownData(data, () => `The log entry "${message}" of "${this.#node}"`)
    this.#frame.emitLive({ type: "log", task: this.#task.id, node: this.#node, level, message, ...owned })
  }

  #own(value: unknown, what: () => string): Json {
    return ownValue(value, this.#frame.host, what)
  }

  #ownData(data: unknown, what: () => string): { readonly data?: Json } {
    return data === undefined ? {} : { data: this.#own(data, what) }
  }

  get #node(): NodeId {
    return this.#task.node.id
  }
}
