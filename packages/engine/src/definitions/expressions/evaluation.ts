/** One evaluation of an expression: where its values come from, and what it has cost so far. */
import type { Json } from "../../core/index.ts"
import { Patterns } from "./expression-patterns.ts"
import { member, type Path, valueAt } from "./path.ts"
import type { Reference } from "./reference.ts"
import { Work } from "./work.ts"

/**
 * The value of a root (`$input` → `input`), or undefined. Called when it is needed, once per reference, with the path
 * that is going to be read from it.
 */
export type Scope = (root: string, path?: Path) => Json | undefined

export class Evaluation {
  readonly work = new Work()
  /** What macros bind, by slot. */
  readonly slots: (Json | undefined)[] = []
  /** A path led nowhere. A failure after that is no error: its value is missing too. */
  hasMissing = false
  readonly #scope: Scope
  readonly #values = new Map<Reference, Json | undefined>()
  #patterns: Patterns | undefined

  constructor(scope: Scope) {
    this.#scope = scope
  }

  get patterns(): Patterns {
    this.#patterns ??= new Patterns(this.work)
    return this.#patterns
  }

  read(reference: Reference): Json | undefined {
    if (this.#values.has(reference)) return this.#values.get(reference)
    const value = referenced(reference, this.#scope)
    this.#values.set(reference, value)
    if (value === undefined) this.hasMissing = true
    return value
  }

  member(owner: Json | undefined, key: string | number): Json | undefined {
    const value = member(owner, key)
    if (value === undefined) this.hasMissing = true
    return value
  }
}

export function referenced({ root, path }: Reference, scope: Scope): Json | undefined {
  return root === "__proto__" ? undefined : valueAt(scope(root, path), path)
}
