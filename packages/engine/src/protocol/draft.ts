/**
 * Copy before the first write. A draft writes in place into what it made or copied itself; what came from
 * elsewhere, out of an older view or an event, it copies first. So a long fold costs its events and not its
 * views, and whoever holds an older view never sees it change.
 */

/** A part that may be written to. */
export type Owned<T> = T extends readonly (infer Item)[] ? Item[] : { -readonly [K in keyof T]: T[K] }

export class Draft {
  readonly #onCopy: ((part: object) => void) | undefined
  #owned = new WeakSet<object>()

  constructor(onCopy?: (part: object) => void) {
    this.#onCopy = onCopy
  }

  /** The part itself where the draft owns it, else a copy that takes its place. */
  own<T extends object>(part: T, copy: (part: T) => T = shallowCopy): Owned<T> {
    if (this.#owned.has(part)) return part as Owned<T>
    this.#onCopy?.(part)
    return this.made(copy(part)) as Owned<T>
  }

  /** Declares that nothing else holds the part. */
  made<T extends object>(part: T): T {
    this.#owned.add(part)
    return part
  }

  /** From now on everything may be held by others. */
  release(): void {
    this.#owned = new WeakSet()
  }
}

function shallowCopy<T extends object>(part: T): T {
  if (Array.isArray(part)) return part.slice() as unknown as T
  return Object.getPrototypeOf(part) === null ? Object.assign(emptyRecord(), part) : { ...part }
}

/** For keys that others choose: no name in it is special, not even `__proto__`. */
export function emptyRecord<T>(): { [key: string]: T } {
  return Object.create(null)
}

/**
 * Values by number, as plain data in pages: a change copies one page and the record of pages. Pages are lists with holes;
 * numbers may be far apart.
 */
export interface Paged<T> {
  readonly [page: number]: readonly (T | null | undefined)[]
}

const PAGE_SIZE = 256

export function getPaged<T>(paged: Paged<T>, id: number): T | undefined {
  return paged[pageOf(id)]?.[id % PAGE_SIZE] ?? undefined
}

/** Replaces `paged`. */
export function putPaged<T>(draft: Draft, paged: Paged<T>, id: number, value: T): Paged<T> {
  const pages = draft.own(paged, copyPages)
  const page = draft.own(pages[pageOf(id)] ?? [])
  page[id % PAGE_SIZE] = value
  pages[pageOf(id)] = page
  return pages
}

/** In the order of their numbers. */
export function pagedValues<T>(paged: Paged<T>): T[] {
  return Object.values(paged).flatMap((page: Paged<T>[number]) =>
    // A hole that went through JSON is null.
    page.filter((value) => value !== undefined && value !== null),
  )
}

function pageOf(id: number): number {
  return Math.floor(id / PAGE_SIZE)
}

/** Apart from other copies: an engine copies objects of one shape many times faster than of any shape. */
function copyPages<T>(pages: Paged<T>): Paged<T> {
  return { ...pages }
}
