/**
 * The tasks toolset: a list of tasks with priorities and dependencies that stays from run to run, in a file that agents and
 * processes share.
 *
 * K1 A task is in the file before the tool returns; each is one entry of a memory file, so writers need no lock.
 * K2 A call that is made again after a crash changes the same task: its id comes from the call that created it.
 * K3 Dependencies are tasks that exist, and never form a circle.
 */
import type { Json } from "../core/index.ts"
import { terminalError } from "../core/internal.ts"
import { type MemoryStore, memoryFile, memoryId } from "./memory/memory-file.ts"
import { objectInput, type Tool, type Toolset, tool } from "./tool.ts"

const PRIORITIES = ["critical", "high", "medium", "low"] as const
const STATUSES = ["pending", "in_progress", "done", "blocked"] as const

export interface ListedTask {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly priority: (typeof PRIORITIES)[number]
  readonly status: (typeof STATUSES)[number]
  /** Ids of the tasks that come first. */
  readonly dependencies: readonly string[]
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface TasksOptions {
  /** The file of the list; created with the first task. */
  readonly file: string
  /** Default 1,000. */
  readonly maxTasks?: number | undefined
}

type TaskFields = Partial<Pick<ListedTask, "title" | "description" | "priority" | "status" | "dependencies">>

const ID = { type: "string", minLength: 1, description: "The id of a task." }
const IDS = { type: "array", maxItems: 100, items: ID }
const FIELDS = {
  title: { type: "string", minLength: 1, maxLength: 300 },
  description: { type: "string", maxLength: 10_000 },
  priority: { type: "string", enum: PRIORITIES, description: "Default medium." },
  dependencies: { ...IDS, description: "The ids of tasks that must be done first." },
}
const STATUS = { type: "string", enum: STATUSES }

export function tasks({ file, maxTasks = 1_000 }: TasksOptions): Toolset {
  const list = new TaskList(memoryFile(file))
  const made = [...changingTools(list, maxTasks), ...readingTools(list)]
  return {
    name: "tasks",
    instructions:
      "Keep the tasks of longer work in the task list: it stays for later conversations. Take the next one with next_task, and set its status as you work. A task with an unfinished dependency is blocked.",
    tools: () => made,
  }
}

function changingTools(list: TaskList, maxTasks: number): readonly Tool[] {
  return [
    tool({
      name: "create_task",
      description: "Adds a task to the list.",
      input: objectInput(FIELDS, ["title"]),
      idempotent: true,
      async run(fields: TaskFields & { title: string }, { idempotencyKey, ctx }) {
        const all = await list.all()
        const id = memoryId(idempotencyKey)
        if (all.size >= maxTasks && !all.has(id)) {
          throw terminalError("TASKS_FULL", `The list has ${maxTasks} tasks; delete some that are done.`)
        }
        const plain = { description: "", priority: "medium", status: "pending", dependencies: [] } as const
        return await list.put({ ...plain, ...fields, id, at: ctx.clock.now() }, all)
      },
    }),
    tool({
      name: "update_task",
      description: "Changes a task: its status, priority, title, description or dependencies.",
      input: objectInput({ id: ID, ...FIELDS, status: STATUS }, ["id"]),
      idempotent: true,
      run: ({ id, ...fields }: TaskFields & { id: string }) => list.change(id, () => fields),
    }),
    tool({
      name: "delete_task",
      description: "Deletes a task. Others no longer depend on it.",
      input: objectInput({ id: ID }, ["id"]),
      run: ({ id }: { id: string }) => list.remove(id),
    }),
    tool({
      name: "add_dependency",
      description: "Makes a task wait for another.",
      input: objectInput({ task_id: ID, depends_on_id: ID }, ["task_id", "depends_on_id"]),
      idempotent: true,
      run: ({ task_id, depends_on_id }: DependencyArgs) =>
        list.change(task_id, ({ dependencies }) => ({
          dependencies: [...new Set([...dependencies, depends_on_id])],
        })),
    }),
    tool({
      name: "remove_dependency",
      description: "A task no longer waits for another.",
      input: objectInput({ task_id: ID, depends_on_id: ID }, ["task_id", "depends_on_id"]),
      idempotent: true,
      run: ({ task_id, depends_on_id }: DependencyArgs) =>
        list.change(task_id, ({ dependencies }) => ({
          dependencies: dependencies.filter((one) => one !== depends_on_id),
        })),
    }),
  ]
}

interface DependencyArgs {
  readonly task_id: string
  readonly depends_on_id: string
}

function readingTools(list: TaskList): readonly Tool[] {
  const { priority } = FIELDS
  return [
    tool({
      name: "get_task",
      description: "Returns a task.",
      input: objectInput({ id: ID }, ["id"]),
      idempotent: true,
      run: async ({ id }: { id: string }) => {
        const all = await list.all()
        return shown(known(id, all), all)
      },
    }),
    tool({
      name: "list_tasks",
      description: "Lists the tasks, the most important first; blocked ones and finished ones last.",
      input: objectInput({ status: STATUS, priority }),
      idempotent: true,
      run: async (wanted: Pick<TaskFields, "status" | "priority">) => {
        const found = (await list.inOrder()).filter(
          (one) =>
            (wanted.status === undefined || one.status === wanted.status) &&
            (wanted.priority === undefined || one.priority === wanted.priority),
        )
        return { tasks: found }
      },
    }),
    tool({
      name: "next_task",
      description: "Returns the most important task that can be worked on now.",
      idempotent: true,
      run: async () => {
        const next = (await list.inOrder()).find(({ status }) => status !== "blocked" && status !== "done")
        return next ?? "There is no task to work on: all are done or blocked."
      },
    }),
  ]
}

type Tasks = ReadonlyMap<string, ListedTask>

class TaskList {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async all(): Promise<Tasks> {
    const entries = await this.#store.all()
    const tasks = entries.flatMap(({ text, id, at }) => taskOf(text, id, at) ?? [])
    return new Map(tasks.map((task) => [task.id, task]))
  }

  /** With the status that follows from the dependencies. */
  async inOrder(): Promise<readonly ListedTask[]> {
    const all = await this.all()
    const lateness = ({ status }: ListedTask) => ["blocked", "done"].indexOf(status)
    const importance = ({ priority }: ListedTask) => PRIORITIES.indexOf(priority)
    return [...all.values()]
      .map((task) => shown(task, all))
      .sort((a, b) => lateness(a) - lateness(b) || importance(a) - importance(b) || a.at - b.at)
  }

  async put(task: ListedTask, all: Tasks): Promise<ListedTask> {
    const { id, at, ...fields } = task
    checkDependencies(task, all)
    await this.#store.put({ id, at, tags: [], text: JSON.stringify(fields) })
    return shown(task, new Map(all).set(id, task))
  }

  async change(id: string, fields: (task: ListedTask) => TaskFields): Promise<ListedTask> {
    const all = await this.all()
    const task = known(id, all)
    return await this.put({ ...task, ...fields(task) }, all)
  }

  async remove(id: string): Promise<Json> {
    const all = await this.all()
    for (const task of all.values()) {
      if (!task.dependencies.includes(id)) continue
      await this.put({ ...task, dependencies: task.dependencies.filter((one) => one !== id) }, all)
    }
    return { id, removed: await this.#store.remove(id) }
  }
}

function known(id: string, all: Tasks): ListedTask {
  const task = all.get(id)
  if (task !== undefined) return task
  throw terminalError("TASK_NOT_LISTED", `There is no task "${id}". Use list_tasks to see the ids.`)
}

function checkDependencies({ id, dependencies }: ListedTask, all: Tasks): void {
  for (const one of dependencies) if (one !== id) known(one, all)
  const open = [...dependencies]
  const seen = new Set<string>()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === id) {
      throw terminalError(
        "TASK_CIRCLE",
        `The task "${id}" would depend on itself. Remove a dependency first.`,
      )
    }
    if (seen.has(next)) continue
    seen.add(next)
    open.push(...(all.get(next)?.dependencies ?? []))
  }
}

/** A task with an unfinished dependency is blocked. */
function shown(task: ListedTask, all: Tasks): ListedTask {
  const isBlocked = task.dependencies.some((id) => (all.get(id)?.status ?? "done") !== "done")
  return isBlocked && task.status !== "done" ? { ...task, status: "blocked" } : task
}

/** Undefined for an entry that is no task: the file may be edited by hand. */
function taskOf(text: string, id: string, at: number): ListedTask | undefined {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    return undefined
  }
  const { title, description = "", priority, status, dependencies } = Object(data) as Record<string, unknown>
  const isTask =
    typeof title === "string" &&
    typeof description === "string" &&
    PRIORITIES.some((one) => one === priority) &&
    STATUSES.some((one) => one === status) &&
    Array.isArray(dependencies) &&
    dependencies.every((one) => typeof one === "string")
  return isTask ? ({ id, at, title, description, priority, status, dependencies } as ListedTask) : undefined
}
