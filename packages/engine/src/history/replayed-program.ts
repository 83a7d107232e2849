/** A program with unchanged handlers, whose steps and waits are controlled by a director. */
import type { NodeId, RunId, SourcedUsage, TaskId, Usage, UsageSource } from "../core/index.ts"
import {
  type BoundHandler,
  type Callable,
  type Clock,
  type Context,
  type Program,
  programNode,
} from "../runtime/index.ts"
import { HandlerKeys, replyKey } from "../runtime/internal.ts"

/** One attempt at a task, while its handler runs. */
export interface Attempt {
  /** The recorded step; undefined if the step must run. */
  step(key: string): RecordedStep | undefined
  /** A step that runs for real. */
  live<T>(step: Promise<T>): Promise<T>
  /** The clock of steps that run for real. */
  readonly clock?: Clock | undefined
  /** Whether usage that the handler reports counts. */
  readonly counts: boolean
  /** Resolves when the handler may begin to wait under this key. */
  mayWait(key: string): Promise<void>
}

/** The recorded result of a step that does not run. */
export interface RecordedStep {
  readonly value: () => Promise<unknown>
  readonly usage?: Usage | undefined
  readonly source?: UsageSource | undefined
  readonly also?: readonly SourcedUsage[] | undefined
}

/** The task and the attempt of a handler. */
export interface TaskPosition {
  readonly frame: string
  readonly task: TaskId
  readonly node: NodeId
  readonly attempt: number
  readonly use: Context["use"]
}

export interface Director {
  /** Calls the handler, and decides when and how the attempt ends. */
  perform(place: TaskPosition, act: (attempt: Attempt) => unknown): Promise<unknown>
}

/** The graph is the same; only the handlers' context differs. */
export function replayedProgram(runId: RunId, director: Director): (program: Program) => Program {
  const known = new WeakMap<Program, Program>()
  const replayed = (program: Program): Program => {
    const found = known.get(program)
    if (found !== undefined) return found
    const nodes = program.nodes.map(({ node, handlers, onAnswer, output, router }) =>
      programNode(
        node,
        { handlers: handlers.map(bound), onAnswer: onAnswer && bound(onAnswer), output },
        router,
      ),
    )
    const made = { ...program, nodes }
    known.set(program, made)
    return made
  }
  const bound = (handler: BoundHandler): BoundHandler => ({
    ...handler,
    run: (message, ctx, request) => {
      const { node, task, attempt, use } = ctx
      return director.perform({ node, task, attempt, use, frame: frameOf(ctx, runId) }, (allowed) =>
        handler.run(message, contextOf(ctx, allowed, replayed, new HandlerKeys()), request),
      )
    },
  })
  return replayed
}

/** The idempotency key consists of the run's id, the frame if any, and the task. */
function frameOf({ idempotencyKey, task }: Context, runId: RunId): string {
  return idempotencyKey.slice(runId.length + 1, -`:${task}`.length)
}

function contextOf(
  ctx: Context,
  attempt: Attempt,
  replayed: (program: Program) => Program,
  keys: HandlerKeys,
): Context {
  const step: Context["step"] = (name, run, options) => {
    const recorded = attempt.step(keys.next("step", name))
    if (recorded === undefined) return attempt.live(ctx.step(name, run, options))
    const { value, usage, source, also } = recorded
    return ctx.step(name, value as typeof run, {
      usage: usage && (() => usage),
      source: source && (() => source),
      also: also && (() => also),
    })
  }
  const ask: Context["ask"] = (question) => after(attempt.mayWait(keys.next("ask")), () => ctx.ask(question))
  const waitFor: Context["waitFor"] = (name, options) =>
    after(attempt.mayWait(keys.next("signal", name)), () => ctx.waitFor(name, options))
  const waitForUpdate: Context["waitForUpdate"] = (name, options) =>
    after(attempt.mayWait(keys.next("signal", name)), async () => {
      const update = await ctx.waitForUpdate(name, options)
      const reply: typeof update.reply = (value) =>
        after(attempt.mayWait(replyKey(update.id)), () => update.reply(value))
      return { ...update, reply }
    })
  const sleep: Context["sleep"] = (ms) => after(attempt.mayWait(keys.next("sleep")), () => ctx.sleep(ms))
  const call: Context["call"] = (workflow, input, options) =>
    after(attempt.mayWait(keys.next("call", workflow.name)), () =>
      ctx.call(callable(workflow, replayed), input, options),
    )
  const use: Context["use"] = (usage) => {
    if (attempt.counts) ctx.use(usage)
  }
  const scope: Context["scope"] = (name) => contextOf(ctx.scope(name), attempt, replayed, keys.scope(name))
  const own: Partial<Context> = { step, ask, waitFor, waitForUpdate, sleep, call, use, scope }
  return new Proxy(ctx, {
    get(_, property) {
      if (Object.hasOwn(own, property)) return own[property as keyof Context]
      const value = Reflect.get(ctx, property, ctx)
      return typeof value === "function" ? value.bind(ctx) : value
    },
  })
}

function callable<In, Out>(
  workflow: Callable<In, Out>,
  replayed: (program: Program) => Program,
): Callable<In, Out> {
  return { ...workflow, program: replayed(workflow.program) }
}

/** A handler may hold a promise that it does not await yet: stopping its task must not crash the process. */
function after<T>(allowed: Promise<void>, act: () => Promise<T>): Promise<T> {
  const done = allowed.then(act)
  done.catch(() => undefined)
  return done
}
