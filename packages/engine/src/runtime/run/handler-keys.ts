import { SmallMap } from "../../core/internal.ts"

type Kind = "step" | "ask" | "sleep" | "call" | "signal"

/**
 * Keys for the operations of a handler. Repeated names are numbered in the order of the calls; each scope counts separately,
 * so that concurrent parts of a handler do not take each other's records.
 */
export class HandlerKeys {
  readonly #scope: string
  #counts: SmallMap<string, number> | undefined
  #scopes: SmallMap<string, HandlerKeys> | undefined

  constructor(scope = "") {
    this.#scope = scope
  }

  next(kind: Kind, name = ""): string {
    const key = this.peek(kind, name)
    this.#counts ??= new SmallMap()
    const used = `${kind}:${name}`
    this.#counts.set(used, (this.#counts.get(used) ?? 0) + 1)
    return key
  }

  /** The key that `next` returns. */
  peek(kind: Kind, name = ""): string {
    const count = (this.#counts?.get(`${kind}:${name}`) ?? 0) + 1
    const full = joined(this.#scope, name)
    return `${kind}${count === 1 ? "" : `#${count}`}${full === "" ? "" : `:${full}`}`
  }

  /** The same scope for the same name. */
  scope(name: string): HandlerKeys {
    this.#scopes ??= new SmallMap()
    let scope = this.#scopes.get(name)
    if (scope === undefined) {
      scope = new HandlerKeys(joined(this.#scope, name))
      this.#scopes.set(name, scope)
    }
    return scope
  }
}

function joined(scope: string, name: string): string {
  if (scope === "") return name
  return name === "" ? scope : `${scope}/${name}`
}
