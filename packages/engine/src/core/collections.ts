/**
 * Collections for runs. A run has many maps and sets, and most stay empty: a lazy one costs next to nothing until something
 * is added.
 */

export class LazyMap<K, V> implements Iterable<[K, V]> {
  #map: Map<K, V> | undefined

  get size(): number {
    return this.#map?.size ?? 0
  }
  get(key: K): V | undefined {
    return this.#map?.get(key)
  }
  has(key: K): boolean {
    return this.#map?.has(key) ?? false
  }
  set(key: K, value: V): void {
    this.#map ??= new Map()
    this.#map.set(key, value)
  }
  delete(key: K): boolean {
    return this.#map?.delete(key) ?? false
  }
  clear(): void {
    this.#map = undefined
  }
  keys(): Iterable<K> {
    return this.#map?.keys() ?? NOTHING
  }
  values(): Iterable<V> {
    return this.#map?.values() ?? NOTHING
  }
  [Symbol.iterator](): Iterator<[K, V]> {
    return (this.#map ?? NOTHING)[Symbol.iterator]() as Iterator<[K, V]>
  }
}

export class LazySet<T> implements Iterable<T> {
  #set: Set<T> | undefined

  get size(): number {
    return this.#set?.size ?? 0
  }
  has(value: T): boolean {
    return this.#set?.has(value) ?? false
  }
  add(value: T): void {
    this.#set ??= new Set()
    this.#set.add(value)
  }
  delete(value: T): boolean {
    return this.#set?.delete(value) ?? false
  }
  clear(): void {
    this.#set = undefined
  }
  [Symbol.iterator](): Iterator<T> {
    return (this.#set ?? NOTHING)[Symbol.iterator]() as Iterator<T>
  }
}

const NOTHING: readonly never[] = []

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

/**
 * Adds to a list that mostly gets one item: the first makes a list of just that size, where pushing into an empty
 * array would reserve room for sixteen more. Every step makes several such lists.
 */
export function pushSized<T>(list: T[], item: T): T[] {
  if (list.length === 0) return [item]
  list.push(item)
  return list
}
