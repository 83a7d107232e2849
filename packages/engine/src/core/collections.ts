/**
 * Collections for runs. A run has many lists, maps and sets, and most stay empty: an empty one is shared by all runs, and
 * the first addition creates the run's own. Writers keep the returned collection; readers see an ordinary one.
 */

export const NO_ITEMS: readonly never[] = Object.freeze([])
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

/** Whether two lists have the same items, in the same order. */
export function hasSameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, i) => item === other[i])
}

/**
 * A map that mostly has one entry, and keeps it without a table: a table takes 150 bytes, and time to allocate. Iterates in the
 * order of insertion, as a map does. Values are not undefined.
 */
export class SmallMap<K, V> implements ReadonlyMap<K, V> {
  #key: K | undefined
  /** Of the only entry. */
  #value: V | undefined
  /** The entries, if there is more than one. */
  #many: Map<K, V> | undefined

  static of<K, V>(entries: Iterable<readonly [K, V]>): SmallMap<K, V> {
    const map = new SmallMap<K, V>()
    for (const [key, value] of entries) map.set(key, value)
    return map
  }

  get size(): number {
    return this.#value === undefined ? (this.#many?.size ?? 0) : 1
  }

  get(key: K): V | undefined {
    if (this.#value === undefined) return this.#many?.get(key)
    return this.#key === key ? this.#value : undefined
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  set(key: K, value: V): this {
    if (this.#value === undefined ? this.size === 0 : this.#key === key) {
      this.#key = key
      this.#value = value
      return this
    }
    this.#many ??= new Map()
    if (this.#value !== undefined) this.#many.set(this.#key as K, this.#value)
    this.#key = undefined
    this.#value = undefined
    this.#many.set(key, value)
    return this
  }

  /** Whether the entry existed. */
  delete(key: K): boolean {
    if (this.#value === undefined) return this.#many?.delete(key) === true
    if (this.#key !== key) return false
    this.#key = undefined
    this.#value = undefined
    return true
  }

  clear(): void {
    this.#key = undefined
    this.#value = undefined
    this.#many = undefined
  }

  keys(): MapIterator<K> {
    return this.#value === undefined ? (this.#many?.keys() ?? none()) : [this.#key as K].values()
  }

  values(): MapIterator<V> {
    return this.#value === undefined ? (this.#many?.values() ?? none()) : [this.#value].values()
  }

  entries(): MapIterator<[K, V]> {
    if (this.#value === undefined) return this.#many?.entries() ?? none()
    const entry: [K, V] = [this.#key as K, this.#value]
    return [entry].values()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }

  forEach(act: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) act(value, key, this)
  }
}

function none(): MapIterator<never> {
  return NO_ITEMS.values()
}

export const NO_ENTRIES: ReadonlyMap<never, never> = new SmallMap<never, never>()

export function putEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  const own = map === NO_ENTRIES ? new SmallMap<K, V>() : (map as SmallMap<K, V>)
  return own.set(key, value)
}

/** Whether the entry existed. */
export function removeEntry<K>(map: ReadonlyMap<K, unknown>, key: K): boolean {
  return (map as SmallMap<K, unknown>).delete(key)
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
