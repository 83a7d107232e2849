/**
 * A node that a test finishes by hand: the test decides when and how each task ends. No sleeps, no races.
 *
 *     const fetch = controlled<string, number>("fetch")
 *     const run = workflow("w").chain(fetch, sum).build().run("a")
 *     const { message } = await fetch.started()
 *     fetch.finish(1)
 */
import { type Node, type NodePolicies, node } from "../builder/index.ts"
import { SuperstepError, type TaskId } from "../core/index.ts"
import type { Context, Schema } from "../runtime/index.ts"

export interface ControlledOptions<In, Out> extends NodePolicies {
  readonly input?: Schema<In> | undefined
  readonly output?: Schema<Out> | undefined
}

/** One start of a task. A retry, or a restart of the process, is another start. */
export interface ControlledTask<In, Out> {
  readonly message: In
  readonly ctx: Context
  /** The handler returns this; undefined sends nothing. */
  finish(value?: Out): void
  /** The handler throws this. */
  fail(error: unknown): void
}

export interface Controlled<In, Out> extends Node<In, Out> {
  /** Resolves when the n-th task has started, counted from 1; without a number, the first that was not returned yet. */
  started(n?: number): Promise<ControlledTask<In, Out>>
  /** Finishes the oldest executing task, or the named one. */
  finish(value?: Out, task?: TaskId): void
  /** Fails the oldest executing task, or the named one. */
  fail(error: unknown, task?: TaskId): void
  /** Tasks that have started and neither ended nor been stopped, the oldest first. */
  readonly atWork: readonly ControlledTask<In, Out>[]
}

export function controlled<In, Out>(
  id: string,
  options: ControlledOptions<In, Out> = {},
): Controlled<In, Out> {
  const starts: ControlledTask<In, Out>[] = []
  const ended = new Set<ControlledTask<In, Out>>()
  const expected = new Map<number, ((task: ControlledTask<In, Out>) => void)[]>()
  let asked = 0

  const run = (message: In, ctx: Context): Promise<Out> =>
    new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        if (ended.has(task)) {
          const text = `Task ${ctx.task} of the controlled node "${id}" was already finished or failed.`
          throw new SuperstepError("CONTROLLED_TWICE", text)
        }
        ended.add(task)
        settle()
      }
      const task: ControlledTask<In, Out> = {
        message,
        ctx,
        finish: (value) => end(() => resolve(value as Out)),
        fail: (error) => end(() => reject(error)),
      }
      const n = starts.push(task)
      for (const tell of expected.get(n) ?? []) tell(task)
      expected.delete(n)
    })

  const atWork = () => starts.filter((task) => !ended.has(task) && !task.ctx.signal.aborted)

  const idle = (verb: string, named: TaskId | undefined): SuperstepError => {
    const which = named === undefined ? "no task" : `no task ${named}`
    const others = atWork().map(({ ctx }) => ctx.task)
    return new SuperstepError(
      "CONTROLLED_IDLE",
      `The controlled node "${id}" has ${which} to ${verb}: ${starts.length} started so far, executing: ${others.join(", ") || "none"}. Await started() first.`,
    )
  }

  const pick = (named: TaskId | undefined, verb: string): ControlledTask<In, Out> => {
    const found = atWork().find((task) => named === undefined || task.ctx.task === named)
    if (found === undefined) throw idle(verb, named)
    return found
  }

  // The compiler cannot infer that the node sends what its handler returns.
  const { output, ...others } = options
  const made = node<In, Promise<unknown>>({ id, ...others, output: output as Schema, run })
  return Object.freeze({
    ...(made as Node<In, Out>),
    started(n = asked + 1) {
      asked = Math.max(asked, n)
      const task = starts[n - 1]
      if (task !== undefined) return Promise.resolve(task)
      return new Promise((resolve) => expected.set(n, [...(expected.get(n) ?? []), resolve]))
    },
    finish: (value, task) => pick(task, "finish").finish(value),
    fail: (error, task) => pick(task, "fail").fail(error),
    get atWork() {
      return atWork()
    },
  } satisfies Controlled<In, Out>)
}
