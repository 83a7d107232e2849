/**
 * Where the callers of a list of replies are. A process that goes on with a run finds its place by the caller's
 * ordinal, the number of calls on record; while the list has been gone through by this very process, its own count
 * is what holds, because attempts that failed have used replies up as well.
 */
export class Place {
  #next = 0

  /** Which reply is next. `after` tells where a list stands when that many calls have been answered. */
  of(ordinal: number | undefined, after: (calls: number) => number): number {
    if (ordinal === undefined || ordinal <= this.#next) return this.#next
    return Math.max(this.#next, after(ordinal))
  }

  passed(index: number): void {
    this.#next = Math.max(this.#next, index + 1)
  }

  get next(): number {
    return this.#next
  }
}
