/**
 * A program whose handlers and steps end and fail when the simulator decides. Its graph is the same, so journals are
 * interchangeable. It also checks invariants: a handler may run only for a task that the journal knows (M2), in the attempt
 * that it knows (M8), once per process, and not after its end is recorded (M1).
 */
import { SuperstepError } from "../../core/index.ts"
import { type BoundHandler, type Context, type Program, programNode } from "../../runtime/index.ts"
import { HandlerKeys, replyKey } from "../../runtime/internal.ts"
import type { Execution, Random } from "./simulate-options.ts"
import type { SimulatedJournal } from "./simulated-journal.ts"
import type { SimulatedProcess } from "./simulated-process.ts"
import { tamper } from "./tamper.ts"

export interface DriverEnvironment {
  readonly executions: Executions
  /** How often each step's function was called, by frame, task and key; over all processes. */
  readonly steps: Map<string, number>
  readonly runId: string
  readonly random: Random
  readonly journal: SimulatedJournal
  readonly process: SimulatedProcess
  /** The probability that an attempt fails if it would be retried. */
  readonly fail: number
  /** Whether values that handlers passed to the engine are changed afterwards. */
  readonly changeSent: boolean
  readonly onBroken: (problem: string) => void
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** By task, over all processes. */
export type Executions = Map<string, Writable<Execution>>

export class Driver {
  readonly #world: DriverEnvironment
  readonly #programs = new WeakMap<Program, Program>()
  /** The attempts that this process has begun. */
  readonly #begun = new Set<string>()
  /** Values that handlers passed: theirs, until the engine has copied them. */
  #handedOver: unknown[] = []

  constructor(world: DriverEnvironment) {
    this.#world = world
  }

  /** Changes values that handlers passed. Called when the engine has copied all of them. */
  changeSent(): void {
    const values = this.#handedOver
    this.#handedOver = []
    for (const value of values) tamper(value)
  }

  /** V1: a handler must not be able to change a value of the engine. */
  #refuseChange<T>(ctx: Context, what: string, value: T): T {
    const [where] = tamper(value).changed
    if (where !== undefined) {
      this.#world.onBroken(`"${ctx.node}" (task ${ctx.task}) could change ${what} at ${where} (V1)`)
    }
    return value
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
    const { execution, watch } = this.#begin(ctx, message)
    const fault = faultFor(world, ctx, retry)
    if (fault?.when === "before") throw fault.error
    const handed: unknown[] = []
    let hasEnded = false
    const end = async () => {
      if (hasEnded) return
      hasEnded = true
      execution.completions++
      await world.process.turn("handler")
    }
    // The handler owns the value that a schema parsed.
    if (handler.schema === undefined) this.#refuseChange(ctx, "its message", message)
    this.#refuseChange(ctx, "the request", request)
    const hold = async (ended: Promise<unknown>): Promise<unknown> => {
      try {
        const value = await watched(watch, ended)
        if (fault !== undefined) throw fault.error
        await end()
        this.#ended(handed, value)
        return value
      } catch (error) {
        await end()
        throw error
      }
    }
    const result = this.#run(handler, message, this.#context(ctx, watch, handed), request, watch)
    if (result instanceof Promise || fault !== undefined || world.random.chance(0.7)) {
      return hold(Promise.resolve(result))
    }
    watch.returned()
    execution.completions++
    this.#ended(handed, result)
    return result
  }

  #run(handler: BoundHandler, message: never, ctx: Context, request: never, watch: HandlerWatch): unknown {
    try {
      return handler.run(message, ctx, request)
    } catch (error) {
      watch.threw()
      throw error
    }
  }

  /** The handler has passed its values to the engine. */
  #ended(handed: readonly unknown[], result: unknown): void {
    if (this.#world.changeSent) this.#handedOver.push(...handed, result)
  }

  #begin(
    ctx: Context,
    message: unknown,
  ): { readonly execution: Writable<Execution>; readonly watch: HandlerWatch } {
    const { executions, process, journal, onBroken, runId } = this.#world
    const { node, task, attempt } = ctx
    const frame = frameOf(ctx, runId)
    const name = `"${node}" (task ${task}${frame === "" ? "" : ` of ${frame}`}, attempt ${attempt})`
    const key = `${frame} ${task}`
    const none = { calls: 0, completions: 0, repetitions: 0 }
    const execution = executions.get(key) ?? { node, task, frame, ...none }
    executions.set(key, execution)
    execution.calls++
    // A slow process cannot know this: its writes are rejected.
    if (process.isSlow) return { execution, watch: watchHandler(name, message, new Set(), onBroken) }
    const watch = watchHandler(name, message, journal.keysOf(frame, task, attempt), onBroken)
    if (this.#begun.has(`${key} ${attempt}`)) onBroken(`${name} starts twice in one process (M1)`)
    this.#begun.add(`${key} ${attempt}`)
    if (journal.root?.pause !== undefined) onBroken(`${name} starts although the run is paused (M10)`)
    const recorded = journal.attemptOf(frame, task)
    if (journal.hasEnded(frame, task)) {
      execution.repetitions++
      onBroken(`${name} runs again although its end is recorded (M1)`)
    } else if (recorded === undefined) {
      onBroken(`${name} runs although the journal does not know it yet (M2)`)
    } else if (recorded !== attempt) {
      onBroken(`${name} runs although the journal has attempt ${recorded} (M8)`)
    }
    return { execution, watch }
  }

  /** The context with its steps and calls driven too. */
  #context(
    ctx: Context,
    watch: HandlerWatch,
    handed: unknown[],
    keys: HandlerKeys = new HandlerKeys(),
  ): Context {
    const received = <T>(what: string, promise: Promise<T>): Promise<T> => {
      const seen = promise.then((value) => this.#refuseChange(ctx, what, value))
      // A handler may hold it without awaiting it, like any promise of the engine.
      seen.catch(() => undefined)
      return seen
    }
    const own: Partial<Context> = {
      step: (name, run, options) => {
        const key = keys.next("step", name)
        watch.asks(key)
        return received(
          `the result of step "${name}"`,
          ctx.step(name, (paid) => this.#step(ctx, key, () => run(paid)), options),
        )
      },
      ask: (question) => {
        watch.asks(keys.next("ask"))
        const answer = ctx.ask(question)
        // The handler owns the answer that a schema parsed.
        const isOwn = typeof question === "object" && question.schema !== undefined
        return isOwn ? answer : received("an answer", answer)
      },
      waitFor: (name, options) => {
        watch.asks(keys.next("signal", name))
        const value = ctx.waitFor(name, options)
        return options?.schema !== undefined ? value : received(`the value of signal "${name}"`, value)
      },
      waitForUpdate: (name, options) => {
        watch.asks(keys.next("signal", name))
        const update = ctx.waitForUpdate(name, options).then((update) => ({
          ...update,
          reply: (value?: unknown) => {
            watch.asks(replyKey(update.id))
            return update.reply(value)
          },
        }))
        update.catch(() => undefined)
        return update
      },
      sleep: (milliseconds) => {
        watch.asks(keys.next("sleep"))
        return ctx.sleep(milliseconds)
      },
      call: (workflow, input, options) => {
        watch.asks(keys.next("call", workflow.name))
        const driven = { ...workflow, program: this.drive(workflow.program) }
        return received("the outputs of a call", ctx.call(driven, input, options))
      },
      scope: (name) => this.#context(ctx.scope(name), watch, handed, keys.scope(name)),
      send: (message: unknown, options: never) => {
        ctx.send(message, options)
        handed.push(message)
      },
      output: (value: unknown) => {
        ctx.output(value)
        handed.push(value)
      },
      state: {
        get: (channel) => this.#refuseChange(ctx, `channel "${channel.key}"`, ctx.state.get(channel)),
        write: (channel, value) => {
          ctx.state.write(channel, value)
          handed.push(value)
        },
      },
    }
    return new Proxy(ctx, {
      get(_, property) {
        if (Object.hasOwn(own, property)) return own[property as keyof Context]
        const value = Reflect.get(ctx, property, ctx)
        return typeof value === "function" ? value.bind(ctx) : value
      },
    })
  }

  async #step<T>(ctx: Context, key: string, run: () => T | Promise<T>): Promise<T> {
    const world = this.#world
    const frame = frameOf(ctx, world.runId)
    const name = `${frame} ${ctx.task} ${key}`
    world.steps.set(name, (world.steps.get(name) ?? 0) + 1)
    if (!world.process.isSlow && world.journal.hasStep(frame, ctx.task, key)) {
      world.onBroken(`"${key}" of "${ctx.node}" (task ${ctx.task}) runs again although it is recorded (M1)`)
    }
    if (!world.process.isSlow && world.journal.root?.pause !== undefined) {
      world.onBroken(`"${key}" of "${ctx.node}" (task ${ctx.task}) starts although the run is paused (M10)`)
    }
    try {
      return await run()
    } finally {
      await world.process.turn("step")
    }
  }
}

async function watched(watch: HandlerWatch, ended: Promise<unknown>): Promise<unknown> {
  try {
    const value = await ended
    watch.returned()
    return value
  } catch (error) {
    watch.threw()
    throw error
  }
}

type Retry = Program["nodes"][number]["node"]["spec"]["retry"]

/** Only an attempt that is retried may fail: the run's outcome must stay the same. */
function faultFor(
  { random, fail }: DriverEnvironment,
  ctx: Context,
  retry: Retry,
): { when: "before" | "after"; error: SuperstepError } | undefined {
  if (fail === 0 || retry === undefined || ctx.attempt >= retry.attempts || !random.chance(fail))
    return undefined
  const code = retry.on?.[0] ?? "SIMULATED_FAULT"
  const error = new SuperstepError(code, `The simulator failed attempt ${ctx.attempt} of "${ctx.node}".`)
  return { when: random.chance(0.5) ? "before" : "after", error }
}

/** The idempotency key consists of the run's id, the frame if any, and the task. */
function frameOf({ idempotencyKey, task }: Context, runId: string): string {
  return idempotencyKey.slice(runId.length + 1, -`:${task}`.length)
}

/**
 * Watches one call of a handler for mistakes that show only after a restart, or only in another node: an input that the
 * handler changed, and records of the journal that it did not request again.
 */
interface HandlerWatch {
  /** The handler requests a step, an answer, a signal, a sleep or a call. */
  asks(key: string): void
  returned(): void
  threw(): void
}

/** `recorded` is the journal of this attempt, by key: a deterministic handler requests all of it again. */
function watchHandler(
  name: string,
  input: unknown,
  recorded: ReadonlySet<string>,
  onBroken: (problem: string) => void,
): HandlerWatch {
  const before = JSON.stringify(input)
  const asked = new Set<string>()

  const checkInput = () => {
    const after = JSON.stringify(input)
    if (after === before) return
    onBroken(
      `handler changed its input: ${name} received ${before} and changed it to ${after}. Other nodes, and the same node ` +
        "after a restart, may see either. Return a new value instead",
    )
  }
  return {
    asks: (key) => void asked.add(key),
    returned() {
      checkInput()
      const missing = [...recorded].filter((key) => !asked.has(key)).map((key) => `"${key}"`)
      if (missing.length === 0) return
      onBroken(
        `handler did not repeat its recorded operations: ${name} returned without ${missing.join(", ")}. A handler that ` +
          "restarts must make the same steps, questions, waits, sleeps and calls: put decisions by time, chance or external data " +
          "into a step",
      )
    },
    threw: checkInput,
  }
}
