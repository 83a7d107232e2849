/**
 * Collections for runs. A run has many lists, maps and sets, and most stay empty: an empty one is shared by all runs, and
 * the first addition creates the run's own. Writers keep the returned collection; readers see an ordinary one.
 */

export const NO_ITEMS: readonly never[] = Object.freeze([])
export const NO_ENTRIES: ReadonlyMap<never, never> = new Map<never, never>()
export const NO_MEMBERS: ReadonlySet<never> = new Set<never>()

/**
 * Adds to a list that mostly gets one item: the first addition creates a list of that size, while pushing into an empty
 * array would reserve room for sixteen more. Every step creates several such lists.
 */
export function pushSized<T>(list: readonly T[], item: T): readonly T[] {
  if (list.length === 0) return [item]
  ;(list as T[]).push(item)
  return list
}

export function putEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  const own = map === NO_ENTRIES ? new Map<K, V>() : (map as Map<K, V>)
  return own.set(key, value)
}

/** Whether the entry existed. */
export function removeEntry<K>(map: ReadonlyMap<K, unknown>, key: K): boolean {
  return (map as Map<K, unknown>).delete(key)
}

export function addMember<T>(set: ReadonlySet<T>, member: T): ReadonlySet<T> {
  const own = set === NO_MEMBERS ? new Set<T>() : (set as Set<T>)
  return own.add(member)
}

export function removeMember<T>(set: ReadonlySet<T>, member: T): boolean {
  return (set as Set<T>).delete(member)
}

/** First in, first out, in constant time however long it grows. */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  peek(): T | undefined {
    return this.#items[this.#head]
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i] as T
  }
}
