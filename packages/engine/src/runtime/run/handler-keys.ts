/**
 * Keys for the operations of a handler. Repeated names are numbered in the order of the calls; each scope counts separately,
 * so that concurrent parts of a handler do not take each other's records.
 */
export class HandlerKeys {
  readonly #scope: string
  #counts: Map<string, number> | undefined
  #scopes: Map<string, HandlerKeys> | undefined

  constructor(scope = "") {
    this.#scope = scope
  }

  next(kind: "step" | "ask" | "sleep" | "call" | "signal", name = ""): string {
    this.#counts ??= new Map()
    const used = `${kind}:${name}`
    const count = (this.#counts.get(used) ?? 0) + 1
    this.#counts.set(used, count)
    const full = joined(this.#scope, name)
    return `${kind}${count === 1 ? "" : `#${count}`}${full === "" ? "" : `:${full}`}`
  }

  /** The same scope for the same name. */
  scope(name: string): HandlerKeys {
    this.#scopes ??= new Map()
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
