/**
 * Executes the tasks of a chunk at the same time, and records outcomes in Restate's journal as they come. Outcomes that come while an
 * entry is being stored share the next one: many short tasks need few entries, and long ones are recorded when they end.
 *
 * A worker that repeats the chunk reads the entries first, one after another, and executes only the tasks that are in none: of a
 * chunk whose worker dies, no recorded task is executed again.
 */
import type { Context } from "@restatedev/restate-sdk"
import type { SpreadOutcome, SpreadTask } from "@superstep/engine"
import { attemptOf, type ChunkOutcome } from "./spreader.ts"

/** Captured at load time: tests may fake timers. */
const nextTurn = setImmediate

/** `ctx` as far as it is used. */
type Recorder = Pick<Context, "run">

export async function performChunk(
  ctx: Recorder,
  tasks: readonly SpreadTask[],
  perform: (task: SpreadTask) => Promise<SpreadOutcome>,
): Promise<ChunkOutcome> {
  const outcomes: { [attempt: string]: SpreadOutcome } = {}
  const isOpen = (task: SpreadTask) => outcomes[attemptOf(task)] === undefined
  const execution = new Execution(perform)
  for (let entry = 1; tasks.some(isOpen); entry++) {
    // An existing entry is returned, and nothing is executed for it.
    const ended = await ctx.run(`outcomes ${entry}`, () => execution.next(tasks.filter(isOpen)))
    Object.assign(outcomes, ended)
  }
  return outcomes
}

/** Tasks that execute, and outcomes that are not recorded yet. */
class Execution {
  readonly #perform: (task: SpreadTask) => Promise<SpreadOutcome>
  readonly #begun = new Set<string>()
  #ended: { [attempt: string]: SpreadOutcome } = {}
  #failure: { readonly error: unknown } | undefined
  #wake: () => void = () => undefined

  constructor(perform: (task: SpreadTask) => Promise<SpreadOutcome>) {
    this.#perform = perform
  }

  /** The outcomes since the last call, at least one. `open`: the tasks that are not recorded. */
  async next(open: readonly SpreadTask[]): Promise<ChunkOutcome> {
    for (const task of open) if (!this.#begun.has(attemptOf(task))) this.#begin(task)
    while (Object.keys(this.#ended).length === 0) {
      // What has ended is recorded before Restate repeats the rest.
      if (this.#failure !== undefined) throw this.#failure.error
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    // Tasks that end in one turn are recorded together.
    await new Promise((resolve) => nextTurn(resolve))
    const ended = this.#ended
    this.#ended = {}
    return ended
  }

  #begin(task: SpreadTask): void {
    const name = attemptOf(task)
    this.#begun.add(name)
    this.#perform(task)
      .then(
        (outcome) => {
          this.#ended[name] = outcome
        },
        (error) => {
          // `ctx.run` repeats what failed: then the task begins again.
          this.#begun.delete(name)
          this.#failure = { error }
        },
      )
      .finally(() => this.#wake())
  }
}
