/** The limits that the workflows of this process have, as the store applies them to every process. */
import type { Program, RunQueue } from "../runtime/index.ts"

export class StoredLimits {
  readonly #queue: RunQueue
  /** By workflow: the program whose limits the store has. */
  readonly #known = new Map<string, { readonly program: Program; readonly areSet: Promise<void> }>()

  constructor(queue: RunQueue) {
    this.#queue = queue
  }

  async set(programs: Iterable<readonly [string, Program]>): Promise<void> {
    for (const [name, program] of programs) {
      let limits = this.#known.get(name)
      if (limits?.program !== program) {
        limits = { program, areSet: this.#write(name, program) }
        this.#known.set(name, limits)
      }
      // Those who ask at the same time wait for the same write, and continue in the order in which they asked.
      await limits.areSet
    }
  }

  async #write(name: string, program: Program): Promise<void> {
    try {
      await this.#queue.setLimits(name, program.flow?.limits ?? [])
    } catch (error) {
      if (this.#known.get(name)?.program === program) this.#known.delete(name)
      throw error
    }
  }
}
