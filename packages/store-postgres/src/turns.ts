/** Lets what is done to one run happen in the order in which it was asked for; runs do not wait for each other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does it at once when nothing is being done to the run, else after that. */
  pass<T>(runId: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(runId)
    const done = before === undefined ? act() : before.then(act, act)
    this.#last.set(runId, done)
    const over = () => {
      if (this.#last.get(runId) === done) this.#last.delete(runId)
    }
    done.then(over, over)
    return done
  }
}
