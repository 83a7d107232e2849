/**
 * Copy before the first write. A draft writes in place to parts that it created or copied; parts of an older view or an
 * event are copied first. So a long fold costs its events and not its views, and an older view never changes.
 */

/** A part that may be written to. */
export type Owned<T> = T extends readonly (infer Item)[] ? Item[] : { -readonly [K in keyof T]: T[K] }

export class Draft {
  readonly #onCopy: ((part: object) => void) | undefined
  #owned = new WeakSet<object>()

  constructor(onCopy?: (part: object) => void) {
    this.#onCopy = onCopy
  }

  /** The part itself if the draft owns it, else a copy that replaces it. */
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

  /** Gives up ownership of all parts. */
  release(): void {
    this.#owned = new WeakSet()
  }
}

function shallowCopy<T extends object>(part: T): T {
  if (Array.isArray(part)) return part.slice() as unknown as T
  return Object.getPrototypeOf(part) === null ? Object.assign(emptyRecord(), part) : { ...part }
}

/** For untrusted keys: no name is special, not even `__proto__`. */
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

/** A separate function: engines copy objects of one shape many times faster than of mixed shapes. */
function copyPages<T>(pages: Paged<T>): Paged<T> {
  return { ...pages }
}
