/** Executes the calls for one run in order; different runs do not wait for each other. */
export class Turns {
  /** How many calls of a run are in progress, and the last one. */
  readonly #runs = new Map<string, { count: number; last: Promise<unknown> }>()

  /** Executes at once if no call of the run is in progress, else after the last one. */
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
