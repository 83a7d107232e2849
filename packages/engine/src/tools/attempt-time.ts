/** How long one attempt of a tool may take. The time stands still while the tool waits for the outside. */
import type { Clock, Context } from "../runtime/index.ts"

export class AttemptTime {
  readonly #clock: Clock
  readonly #onUp: () => void
  #left: number
  #since = 0
  #waits = 0
  #disarm: (() => void) | undefined

  constructor(clock: Clock, milliseconds: number, onUp: () => void) {
    this.#clock = clock
    this.#left = milliseconds
    this.#onUp = onUp
    this.#go()
  }

  #go(): void {
    this.#since = this.#clock.now()
    this.#disarm = this.#clock.setTimer(this.#since + this.#left, this.#onUp)
  }

  /** The attempt is over. */
  end(): void {
    this.#disarm?.()
    this.#disarm = undefined
    this.#left = 0
  }

  /** What the tool gets as `ctx`: asking a person, sleeping and calling a workflow are not counted. */
  watching(ctx: Context): Context {
    const waiting =
      <Args extends readonly unknown[], T>(wait: (...args: Args) => Promise<T>) =>
      (...args: Args) =>
        this.#whileStanding(() => wait(...args))
    const ask = waiting(ctx.ask.bind(ctx))
    const sleep = waiting(ctx.sleep.bind(ctx))
    const call = waiting(ctx.call.bind(ctx))
    const scope = (name: string) => this.watching(ctx.scope(name))
    return new Proxy(ctx, {
      get(target, key) {
        if (key === "ask") return ask
        if (key === "sleep") return sleep
        if (key === "call") return call
        if (key === "scope") return scope
        // With the context itself as `this`: its getters read private fields.
        return Reflect.get(target, key, target)
      },
    })
  }

  async #whileStanding<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits++ === 0 && this.#disarm !== undefined) {
      this.#disarm()
      this.#left = Math.max(0, this.#left - Math.max(0, this.#clock.now() - this.#since))
    }
    try {
      return await wait()
    } finally {
      if (--this.#waits === 0 && this.#disarm !== undefined) this.#go()
    }
  }
}
