/**
 * Tasks of nodes with placement `spread`: the process that executes the run sends an attempt as data, a worker calls the handler,
 * and what the handler did comes back as data, which becomes the task's one entry.
 *
 * The worker has no part of the run but the message and the state, so its context can send, write, output, log, count usage and
 * record steps; it cannot wait for anything. Steps are records of the store until the task has its entry: a worker that repeats the
 * attempt, and a later attempt, return them.
 */
import {
  addUsage,
  fromErrorData,
  graphData,
  type Json,
  type NodeId,
  type RunId,
  SuperstepError,
  type Task,
  type TaskId,
  toErrorData,
  type Usage,
} from "../../core/index.ts"
import type { Channel } from "../ports/channel.ts"
import type { Clock } from "../ports/clock.ts"
import type { SpreadAction, SpreadOutcome, SpreadState, SpreadTask } from "../ports/dispatcher.ts"
import type { Context, Program, SendOptions, StepOptions } from "../ports/program.ts"
import { handlersFor, MultiOutput, type PaidStep, type ProgramNode } from "../ports/program.ts"
import type { Store } from "../ports/store.ts"
import { ownValue, validate } from "../ports/values.ts"
import { contextWith } from "./context.ts"
import { HandlerKeys } from "./handler-keys.ts"
import { contextMissing } from "./result.ts"
import { ownUsage } from "./step-start.ts"
import type { TaskFrame } from "./task-frame.ts"
import type { TaskOperations } from "./task-operations.ts"

/** The kind of records that keep the steps of spread tasks. */
const STEPS = "spread-step"
/** Steps per page. */
const PAGE = 100

/** Has the attempt at a task with placement `spread` executed by any worker. Undefined if it is to be executed here. */
export function performElsewhere(
  { host, key, program }: TaskFrame,
  task: Task,
  { node }: ProgramNode,
): Promise<SpreadOutcome> | undefined {
  // Workers find registered workflows; sub-workflows, answers and agents that a fork changed are executed with the run.
  const isOwn = key !== "" || task.answers !== undefined || host.root.machine.hasChangedAgents
  const perform = !isOwn && host.dispatcher?.perform
  if (!perform) return undefined
  const { machine } = host.root
  const { runId, labels, valueBytes } = host
  const { map, item } = task
  const attempt = {
    runId,
    workflow: program.graph.name,
    graph: graphData(program.graph).hash,
    labels,
    node: node.id,
    task: task.id,
    attempt: task.attempt,
    message: task.message,
    valueBytes,
    ...(map === undefined ? {} : { item: { map: map.id, index: item, of: map.results.length } }),
  }
  const channels = [...program.graph.channels.keys()]
  const state = () => Object.fromEntries(channels.map((name) => [name, machine.state(name)])) as SpreadState
  return perform(attempt, state)
}

/** What the handler did elsewhere, done again here. Throws if it failed. */
export function replayOutcome(
  outcome: SpreadOutcome,
  operations: TaskOperations,
  { host }: TaskFrame,
  { id }: Task,
): unknown {
  if (outcome.usage !== undefined) operations.use(outcome.usage)
  const isFailed = outcome.error !== undefined
  for (const action of outcome.actions ?? []) {
    if (action.type === "emit") operations.emit(action.name, action.data)
    else if (action.type === "log") operations.live.log(action.level, action.message, action.data)
    else if (isFailed) continue
    else if (action.type === "send")
      operations.send(action.value, action.to === undefined ? undefined : { to: action.to })
    else if (action.type === "output") operations.output(action.value)
    else operations.state().write({ key: action.channel } as Channel<unknown, Json>, action.value)
  }
  if (outcome.error !== undefined) throw fromErrorData(outcome.error)
  const { values = [], hasSteps } = outcome
  // Should the process die before the task has its entry, the dispatcher has the outcome.
  if (hasSteps) forgetSteps(host.store, host.runId, id).catch(() => undefined)
  return values.length > 1 ? new MultiOutput(values) : values[0]
}

/** The steps of a task that has its entry are needed no more. */
async function forgetSteps(store: Store | undefined, runId: RunId, task: TaskId): Promise<void> {
  if (store === undefined) return
  const prefix = stepId(runId, task, "")
  for (;;) {
    const page = await store.records.list(STEPS, { prefix, limit: PAGE })
    for (const { id } of page) await store.records.remove(STEPS, id)
    if (page.length < PAGE) return
  }
}

function stepId(runId: RunId, task: TaskId, key: string): string {
  return `${runId}:${task} ${key}`
}

export interface SpreadEnvironment {
  readonly store: Store
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly context: unknown
}

/** Calls the handler in this process, which does not execute the run. */
export async function performTask(
  program: Program,
  task: SpreadTask,
  state: SpreadState,
  environment: SpreadEnvironment,
): Promise<SpreadOutcome> {
  const node = program.nodes.find((one) => one.node.id === task.node)
  if (node === undefined) {
    const text = `Workflow "${task.workflow}" has no node "${task.node}" in this process: a worker of another version of it took the task.`
    throw new SuperstepError("NODE_INVALID", text, { run: task.runId, node: task.node })
  }
  const attempt = new SpreadAttempt(task, program, state, environment)
  try {
    const reasons: string[] = []
    for (const { schema, run } of handlersFor(node, false)) {
      const checked = schema === undefined ? undefined : await validate(schema, task.message)
      if (checked?.ok === false) {
        reasons.push(checked.reason)
        continue
      }
      const message = checked === undefined ? task.message : checked.value
      const returned: unknown = await run(message as never, attempt.context(), undefined as never)
      return attempt.outcome(returned, node.returned)
    }
    return { rejected: reasons }
  } catch (error) {
    return attempt.failure(error)
  }
}

class SpreadAttempt {
  readonly #task: SpreadTask
  readonly #program: Program
  readonly #state: SpreadState
  readonly #environment: SpreadEnvironment
  readonly #actions: SpreadAction[] = []
  readonly #limit: Pick<SpreadTask, "runId" | "valueBytes">
  #usage: Usage | undefined
  #hasSteps = false

  constructor(task: SpreadTask, program: Program, state: SpreadState, environment: SpreadEnvironment) {
    this.#task = task
    this.#program = program
    this.#state = state
    this.#environment = environment
    this.#limit = task
  }

  outcome(returned: unknown, what: string): SpreadOutcome {
    const values =
      returned === undefined ? [] : returned instanceof MultiOutput ? returned.values : [returned]
    return { ...this.#done(), values: values.map((value) => ownValue(value, this.#limit, what)) }
  }

  failure(error: unknown): SpreadOutcome {
    return { ...this.#done(), error: toErrorData(error) }
  }

  #done(): Omit<SpreadOutcome, "values" | "error"> {
    const usage = this.#usage === undefined ? {} : { usage: this.#usage }
    return { actions: this.#actions, ...usage, ...(this.#hasSteps ? { hasSteps: true } : {}) }
  }

  context(): Context {
    const { runId, labels, node, task, attempt } = this.#task
    const { signal, clock, context } = this.#environment
    const own = (value: unknown, what: string) => ownValue(value, this.#limit, `${what} of "${node}"`)
    const data = (value: unknown, what: string) => (value === undefined ? {} : { data: own(value, what) })
    const known = {
      runId,
      labels,
      node,
      task,
      attempt,
      idempotencyKey: `${runId}:${task}`,
      signal,
      clock,
      get context() {
        if (context === undefined) throw contextMissing(runId, [])
        return context
      },
      send: (message: unknown, options?: SendOptions) => {
        const to = options?.to
        const id: NodeId | undefined = typeof to === "object" ? to.id : to
        this.#actions.push({
          type: "send",
          value: own(message, "A message"),
          ...(id === undefined ? {} : { to: id }),
        })
      },
      output: (value: unknown) => this.#actions.push({ type: "output", value: own(value, "An output") }),
      state: {
        get: <T>({ key }: Channel<T, never>) => this.#read(key) as T,
        write: (channel: { readonly key: string }, value: unknown) =>
          this.#actions.push({ type: "write", channel: channel.key, value: own(value, "What a write") }),
      },
      // Watchers see them when the task has ended.
      emit: (name: string, value?: unknown) =>
        this.#actions.push({ type: "emit", name, ...data(value, "An event") }),
      log: (level: "info", message: string, value?: unknown) =>
        this.#actions.push({ type: "log", level, message, ...data(value, "A log entry") }),
      isWatched: false,
      delta: () => undefined,
      partial: () => undefined,
      progress: () => undefined,
      use: (usage: Usage) => {
        this.#usage = addUsage(this.#usage ?? {}, ownUsage(usage))
      },
      // The process that executes the run checks budgets before it sends the task, and counts its usage when it ends.
      budget: { used: {}, left: {} },
      checkBudget: () => undefined,
      usedBy: () => ({}),
      usedHere: {},
    }
    const base = new Proxy(known, {
      get: (target, name) => {
        if (name in target || typeof name === "symbol") return Reflect.get(target, name)
        throw unavailable(String(name), node)
      },
    }) as unknown as Context
    return this.#scoped(base, new HandlerKeys())
  }

  #scoped(base: Context, keys: HandlerKeys): Context {
    const step = <T>(name: string, run: (step: PaidStep) => T | Promise<T>, options: StepOptions<T> = {}) =>
      this.#step(keys.next("step", name), run, options)
    const scope = (name: string) => this.#scoped(base, keys.scope(name))
    return contextWith(base, { step, scope } as Partial<Context>)
  }

  async #step<T>(key: string, run: (step: PaidStep) => T | Promise<T>, options: StepOptions<T>): Promise<T> {
    const { runId, task, node } = this.#task
    const { records } = this.#environment.store
    const id = stepId(runId, task, key)
    this.#hasSteps = true
    const recorded = await records.get(STEPS, id)
    if (recorded !== undefined) return recorded.value as T
    const result = await run({ mayHaveRun: this.#task.attempt > 1, reserve: () => undefined })
    const value = ownValue(result ?? null, this.#limit, `The result of a step of "${node}"`)
    for (const { usage } of [{ usage: options.usage?.(result) ?? {} }, ...(options.also?.(result) ?? [])])
      this.#usage = addUsage(this.#usage ?? {}, ownUsage(usage))
    await records.put(STEPS, id, value, null)
    return value as T
  }

  #read(key: string): Json | undefined {
    const { channels, name } = this.#program.graph
    if (channels.has(key)) return this.#state[key]
    throw new SuperstepError("UNKNOWN_CHANNEL", `Workflow "${name}" has no channel "${key}" in its state.`, {
      retryable: false,
    })
  }
}

function unavailable(name: string, node: NodeId): SuperstepError {
  const text = `ctx.${name} is not available in node "${node}", whose tasks execute on any worker (placement: "spread"): it would have to wait, or needs the run. Set placement: "inline", or move that part to a node of its own.`
  return new SuperstepError("SPREAD_UNAVAILABLE", text, { retryable: false })
}
