/** Lets what is done to one run happen in the order in which it was asked for; runs do not wait for each other. */
export class Turns {
  /** How much is being done to a run, and the last of it. */
  readonly #runs = new Map<string, { count: number; last: Promise<unknown> }>()

  /** Does it at once when nothing is being done to the run, else after that. */
  async pass<T>(runId: string, act: () => Promise<T>): Promise<T> {
    const turn = this.#runs.get(runId)
    const acting = turn === undefined ? act() : turn.last.then(act, act)
    const own = turn ?? { count: 0, last: acting }
    own.count += 1
    own.last = acting
    if (turn === undefined) this.#runs.set(runId, own)
    try {
      return await acting
    } finally {
      own.count -= 1
      if (own.count === 0) this.#runs.delete(runId)
    }
  }
}
