/**
 * Names that identify corresponding parts in two runs of the same, or a changed, workflow: a task by the path to its
 * workflow, its node, and the visit; a question and a timer by their task. Ids do not work: they shift with the first new
 * task. A sub-workflow that a retry called again has the same name.
 */
import type { NodeId, OpenRequest, RequestId, TaskId, TimerId } from "../core/index.ts"
import { splitName } from "../core/internal.ts"

export class Names {
  readonly #tasks = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #requests = new Map<string, string>()

  /** Names the task on first use, in the order in which tasks start. */
  task(frame: string, task: TaskId, node: NodeId): string {
    const known = this.#tasks.get(`${frame} ${task}`)
    if (known !== undefined) return known
    const count = (this.#counts.get(`${frame}\n${node}`) ?? 0) + 1
    this.#counts.set(`${frame}\n${node}`, count)
    const name = `${this.frame(frame)}\n${node}#${count}`
    this.#tasks.set(`${frame} ${task}`, name)
    return name
  }

  knownTask(frame: string, task: TaskId): string {
    return this.#tasks.get(`${frame} ${task}`) ?? `${frame} ${task}`
  }

  /** The task that called it, and the key of the call; not the attempt. */
  frame(key: string): string {
    if (key === "") return ""
    const { frame, task, call } = callOf(key)
    return `${this.knownTask(frame, task)}\n${call}`
  }

  /** `key` is the key of the wait; questions of a task that asked without waiting are numbered. */
  openRequest(frame: string, { id, task }: Pick<OpenRequest, "id" | "task">, key: string | number): string {
    const own = typeof key === "number" ? `request ${key}` : key
    const name = `${this.knownTask(frame, task)}\n${own}`
    this.#requests.set(`${frame} ${id}`, name)
    return name
  }

  request(frame: string, id: RequestId): string | undefined {
    return this.#requests.get(`${frame} ${id}`)
  }

  timer(frame: string, timer: TimerId): string {
    const [kind, rest] = splitName(timer)
    const [first, key] = splitName(rest)
    if (kind === "retry" || kind === "sleep") return `${this.knownTask(frame, Number(first))}\n${kind} ${key}`
    if (kind === "request") return `${this.request(frame, rest)}\ndeadline`
    return `${this.frame(frame)}\n${timer}`
  }
}

/** The call of a sub-workflow, from its frame's key: see `childKey`. */
export function callOf(key: string): {
  readonly frame: string
  readonly task: TaskId
  readonly call: string
} {
  const slash = key.lastIndexOf("/")
  const own = key.slice(slash + 1)
  const call = splitName(own)[1].replaceAll("%2F", "/")
  return { frame: slash < 0 ? "" : key.slice(0, slash), task: Number.parseInt(own, 10), call }
}
