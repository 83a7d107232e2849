/** Changes everything that it can reach, as a careless handler, watcher or caller might. */

export interface Tampered {
  /** Rejected changes, as expected for a value of a run. */
  refused: number
  /** Paths of successful changes: `items[0].name`. */
  readonly changed: string[]
}

/** Tries to change a value and every part of it. */
export function tamper(value: unknown): Tampered {
  const outcome: Tampered = { refused: 0, changed: [] }
  tamperWith(value, "", outcome, new Set())
  return outcome
}

function tamperWith(value: unknown, path: string, outcome: Tampered, seen: Set<unknown>): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return
  seen.add(value)
  const target = value as Record<string, unknown>
  const parts = Object.entries(target)
  // Like an assignment, without the cost of an error if it is rejected.
  const set = (where: string, key: string) => {
    if (Reflect.set(target, key, "tampered")) outcome.changed.push(where)
    else outcome.refused++
  }
  for (const [key, part] of parts) {
    const where = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`
    tamperWith(part, where, outcome, seen)
    set(where, key)
  }
  if (Array.isArray(value)) set(`${path}[${value.length}]`, String(value.length))
  else set(`${path}.tampered`, "tampered")
}
