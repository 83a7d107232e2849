/**
 * Something that belongs to an object for as long as that lives, kept on the object where nobody sees it. It is for objects that
 * come and go, such as errors: the entries of a `WeakMap` stay until a full collection, with all that they refer to, and its table
 * never shrinks again.
 */
export class HiddenPart<Owner extends object, Part> {
  readonly #name = Symbol("superstep.part")
  readonly #ofFrozen = new WeakMap<Owner, Part>()

  /** Replaces an earlier part. */
  set(owner: Owner, part: Part): void {
    const isSet = Reflect.defineProperty(owner, this.#name, { value: part, configurable: true })
    if (!isSet) this.#ofFrozen.set(owner, part)
  }

  get(owner: Owner): Part | undefined {
    return (owner as Record<symbol, Part>)[this.#name] ?? this.#ofFrozen.get(owner)
  }
}
