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

  /** Says that nobody else holds the part. */
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
