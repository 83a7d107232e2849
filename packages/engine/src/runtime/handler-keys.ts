/** Keys for what a handler does. What is used under one name a second time is numbered, in the order of the calls. */
export class HandlerKeys {
  readonly #counts = new Map<string, number>()

  next(kind: "step" | "ask" | "sleep" | "call", name = ""): string {
    const used = `${kind}:${name}`
    const count = (this.#counts.get(used) ?? 0) + 1
    this.#counts.set(used, count)
    return `${kind}${count === 1 ? "" : `#${count}`}${name === "" ? "" : `:${name}`}`
  }
}
