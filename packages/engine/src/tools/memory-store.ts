/** Where memories are kept: a file, or a database behind the same functions. */

export interface Memory {
  readonly id: string
  readonly text: string
  /** Free words to find it by. */
  readonly tags: readonly string[]
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Where memories are kept. Several agents and processes may use one. */
export interface MemoryStore {
  /** Keeps it; one with the same id is replaced. */
  put(memory: Memory): Promise<void>
  /** False when there was none. */
  remove(id: string): Promise<boolean>
  all(): Promise<readonly Memory[]>
  /** The best first. Without it, the words of all memories are searched. */
  search?(query: string, limit: number): Promise<readonly Memory[]>
  close?(): Promise<void> | void
}
