/**
 * Keys for what a handler does. What is used under one name a second time is numbered, in the order of the calls; a scope
 * counts for itself, so that parts of a handler that run at the same time do not take each other's records.
 */
export class HandlerKeys {
  readonly #scope: string
  #counts: Map<string, number> | undefined
  #scopes: Map<string, HandlerKeys> | undefined

  constructor(scope = "") {
    this.#scope = scope
  }

  next(kind: "step" | "ask" | "sleep" | "call", name = ""): string {
    this.#counts ??= new Map()
    const used = `${kind}:${name}`
    const count = (this.#counts.get(used) ?? 0) + 1
    this.#counts.set(used, count)
    const full = joined(this.#scope, name)
    return `${kind}${count === 1 ? "" : `#${count}`}${full === "" ? "" : `:${full}`}`
  }

  /** The same one for the same name. */
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
