/**
 * Items by their ids, in the order in which they were added. Mostly ids ascend and lie close together: a run numbers its tasks, and
 * may have a hundred thousand of them at once. An array takes a quarter of the memory that a map takes then, and a fraction of the time.
 *
 * 1. An only item is kept without an array: most runs have one task at a time.
 * 2. An array has at most twice as many places as items, and a few more. Items whose ids do not ascend, or would need a larger
 *    array, are kept in a map until the table is empty.
 */

interface Item {
  readonly id: number
}

export class IdTable<T extends Item> {
  #only: T | undefined
  /** The items, if there is more than one. */
  #many: IdWindow<T> | Map<number, T> | undefined

  get size(): number {
    return this.#only === undefined ? (this.#many?.size ?? 0) : 1
  }

  get(id: number): T | undefined {
    if (this.#only === undefined) return this.#many?.get(id)
    return this.#only.id === id ? this.#only : undefined
  }

  /** The table has no item with its id yet. */
  add(item: T): void {
    if (this.#only !== undefined) {
      this.#many = new IdWindow(this.#only)
      this.#only = undefined
    }
    if (this.#many === undefined) this.#only = item
    else if (this.#many instanceof Map) this.#many.set(item.id, item)
    else if (!this.#many.add(item)) {
      const items = [...this.#many.values(), item]
      this.#many = new Map(items.map((one) => [one.id, one]))
    }
  }

  /** Whether the item existed. */
  delete(id: number): boolean {
    if (this.#only?.id === id) {
      this.#only = undefined
      return true
    }
    if (this.#many?.delete(id) !== true) return false
    if (this.#many.size === 0) this.#many = undefined
    return true
  }

  clear(): void {
    this.#only = undefined
    this.#many = undefined
  }

  *values(): IterableIterator<T> {
    if (this.#only !== undefined) yield this.#only
    else if (this.#many !== undefined) yield* this.#many.values()
  }
}

/** Places that an array may have for no item. */
const SPARE_PLACES = 64

/** Items with ascending ids, each at the place of its id; it is created with the first, and never empty when one is added. */
class IdWindow<T extends Item> {
  /** The id of the first place. */
  #first: number
  #places: (T | undefined)[]
  size = 1

  constructor(item: T) {
    this.#first = item.id
    this.#places = [item]
  }

  get(id: number): T | undefined {
    const place = id - this.#first
    return place >= 0 && place < this.#places.length ? this.#places[place] : undefined
  }

  /** False if the item does not fit, and was not added. */
  add(item: T): boolean {
    if (item.id - this.#first < this.#places.length) return false
    if (item.id - this.#first > 2 * this.size + SPARE_PLACES) {
      this.#dropLeading()
      // Half of the places remain, so that dropping takes constant time per item.
      if (item.id - this.#first > this.size + SPARE_PLACES / 2) return false
    }
    while (this.#places.length < item.id - this.#first) this.#places.push(undefined)
    this.#places.push(item)
    this.size++
    return true
  }

  #dropLeading(): void {
    const leading = this.#places.findIndex((item) => item !== undefined)
    this.#places = this.#places.slice(leading)
    this.#first += leading
  }

  delete(id: number): boolean {
    if (this.get(id) === undefined) return false
    this.#places[id - this.#first] = undefined
    this.size--
    return true
  }

  *values(): IterableIterator<T> {
    for (const item of this.#places) if (item !== undefined) yield item
  }
}
