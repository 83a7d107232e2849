/** A map and a set that cost next to nothing until something is put in: a run has many, and most stay empty. */

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
