/**
 * The live tasks of a run by id, in the order they came. A run that does one thing at a time has one live task,
 * and pays for no table.
 */
import type { TaskId } from "./ids.ts"
import type { Task } from "./state.ts"

export class TaskTable {
  #single: Task | undefined
  #many: Map<TaskId, Task> | undefined

  get(id: TaskId): Task | undefined {
    if (this.#single !== undefined) return this.#single.id === id ? this.#single : undefined
    return this.#many?.get(id)
  }

  add(task: Task): void {
    if (this.#single === undefined && (this.#many === undefined || this.#many.size === 0)) {
      this.#single = task
      return
    }
    this.#many ??= new Map()
    if (this.#single !== undefined) {
      this.#many.set(this.#single.id, this.#single)
      this.#single = undefined
    }
    this.#many.set(task.id, task)
  }

  delete(id: TaskId): void {
    if (this.#single?.id === id) this.#single = undefined
    else this.#many?.delete(id)
  }

  clear(): void {
    this.#single = undefined
    this.#many = undefined
  }

  values(): Iterable<Task> {
    if (this.#single !== undefined) return [this.#single]
    return this.#many?.values() ?? []
  }
}
