/**
 * A program whose handlers and steps end when the simulator says so, and fail where it says so. Its graph is
 * the same, so journals of the one fit the other. It also looks on: a handler may run only for a task that the
 * journal knows (M2), in the attempt that it knows (M8), and whose end is not on record (M1).
 */
import { type NodeId, SuperstepError, type TaskId } from "../core/index.ts"
import { HandlerKeys } from "../runtime/handler-keys.ts"
import {
  type BoundHandler,
  type Callable,
  type Context,
  type Program,
  programNode,
} from "../runtime/index.ts"
import type { Random } from "./random.ts"
import type { SimulatedJournal } from "./simulated-journal.ts"
import type { SimulatedProcess } from "./simulated-process.ts"

/** What a task's handler did over the whole simulation, in all processes. */
export interface Execution {
  readonly node: NodeId
  readonly task: TaskId
  /** The sub-workflow it belongs to; empty for the run itself. */
  readonly frame: string
  /** How often the handler was called. */
  readonly calls: number
  /** How often it ran to its end, well or not. */
  readonly completions: number
  /** How often it was called although the task's end was on record: never, by M1. */
  readonly repetitions: number
}

export interface DriverSurroundings {
  readonly executions: Executions
  readonly runId: string
  readonly random: Random
  readonly journal: SimulatedJournal
  readonly process: SimulatedProcess
  /** How likely an attempt fails that would be tried again. */
  readonly fail: number
  readonly onBroken: (problem: string) => void
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** By task, over all processes. */
export type Executions = Map<string, Writable<Execution>>

export class Driver {
  readonly #world: DriverSurroundings
  readonly #programs = new WeakMap<Program, Program>()

  constructor(world: DriverSurroundings) {
    this.#world = world
  }

  drive(program: Program): Program {
    const known = this.#programs.get(program)
    if (known !== undefined) return known
    this.#world.journal.knows(program)
    const driven: Program = {
      ...program,
      nodes: program.nodes.map((one) =>
        programNode(
          one.node,
          {
            handlers: one.handlers.map((handler) => this.#handler(handler, one.node.spec.retry)),
            onAnswer: one.onAnswer && this.#handler(one.onAnswer, one.node.spec.retry),
            output: one.output,
          },
          one.router,
        ),
      ),
    }
    this.#programs.set(program, driven)
    return driven
  }

  #handler(handler: BoundHandler, retry: Retry): BoundHandler {
    return { ...handler, run: (message, ctx, request) => this.#call(handler, message, ctx, request, retry) }
  }

  #call(handler: BoundHandler, message: never, ctx: Context, request: never, retry: Retry): unknown {
    const world = this.#world
    const execution = this.#begin(world, ctx)
    const fault = faultFor(world, ctx, retry)
    if (fault?.when === "before") throw fault.error
    const hold = async (ended: Promise<unknown>): Promise<unknown> => {
      try {
        const value = await ended
        if (fault !== undefined) throw fault.error
        return value
      } finally {
        execution.completions++
        await world.process.turn("handler")
      }
    }
    const result = handler.run(message, this.#context(world, ctx), request)
    if (result instanceof Promise || fault !== undefined || world.random.chance(0.7)) {
      return hold(Promise.resolve(result))
    }
    execution.completions++
    return result
  }

  #begin(
    { executions, process, journal, onBroken, runId }: DriverSurroundings,
    ctx: Context,
  ): Writable<Execution> {
    const { node, task, attempt } = ctx
    const frame = frameOf(ctx, runId)
    const name = `"${node}" (task ${task}${frame === "" ? "" : ` of ${frame}`}, attempt ${attempt})`
    const key = `${frame} ${task}`
    const execution = executions.get(key) ?? {
      node,
      task,
      frame,
      calls: 0,
      completions: 0,
      repetitions: 0,
    }
    executions.set(key, execution)
    execution.calls++
    // What a slow process does not know, it cannot heed: its writes are refused.
    if (process.isSlow) return execution
    const recorded = journal.attemptOf(frame, task)
    if (journal.hasEnded(frame, task)) {
      execution.repetitions++
      onBroken(`${name} runs again although its end is on record (M1)`)
    } else if (recorded === undefined) {
      onBroken(`${name} runs although the journal does not know it yet (M2)`)
    } else if (recorded !== attempt) {
      onBroken(`${name} runs although the journal has attempt ${recorded} (M8)`)
    }
    return execution
  }

  /** The context with its steps and calls driven too. */
  #context(world: DriverSurroundings, ctx: Context, keys = new HandlerKeys()): Context {
    const step: Context["step"] = (name, run, options) => {
      const key = keys.next("step", name)
      return ctx.step(name, (paid) => this.#step(world, ctx, key, () => run(paid)), options)
    }
    const scope: Context["scope"] = (name) => this.#context(world, ctx.scope(name), keys.scope(name))
    const call: Context["call"] = (workflow, input, options) =>
      ctx.call(this.#callable(workflow), input, options)
    return new Proxy(ctx, {
      get(_, property) {
        if (property === "step") return step
        if (property === "call") return call
        if (property === "scope") return scope
        const value = Reflect.get(ctx, property, ctx)
        return typeof value === "function" ? value.bind(ctx) : value
      },
    })
  }

  async #step<T>(
    world: DriverSurroundings,
    ctx: Context,
    key: string,
    run: () => T | Promise<T>,
  ): Promise<T> {
    if (!world.process.isSlow && world.journal.hasStep(frameOf(ctx, world.runId), ctx.task, key)) {
      world.onBroken(`"${key}" of "${ctx.node}" (task ${ctx.task}) runs again although it is on record (M1)`)
    }
    try {
      return await run()
    } finally {
      await world.process.turn("step")
    }
  }

  #callable<In, Out>(workflow: Callable<In, Out>): Callable<In, Out> {
    return { ...workflow, program: this.drive(workflow.program) }
  }
}

type Retry = Program["nodes"][number]["node"]["spec"]["retry"]

/** Only an attempt that is followed by another may fail: the run's outcome is to stay the same. */
function faultFor(
  { random, fail }: DriverSurroundings,
  ctx: Context,
  retry: Retry,
): { when: "before" | "after"; error: SuperstepError } | undefined {
  if (fail === 0 || retry === undefined || ctx.attempt >= retry.attempts || !random.chance(fail))
    return undefined
  const code = retry.on?.[0] ?? "SIMULATED_FAULT"
  const error = new SuperstepError(code, `Attempt ${ctx.attempt} of "${ctx.node}" fails, by the simulator.`)
  return { when: random.chance(0.5) ? "before" : "after", error }
}

/** The idempotency key is the run's id, the frame where there is one, and the task. */
function frameOf({ idempotencyKey, task }: Context, runId: string): string {
  return idempotencyKey.slice(runId.length + 1, -`:${task}`.length)
}
