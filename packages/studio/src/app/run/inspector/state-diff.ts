/** What changed between two values, by path: for the state before and after a task, and for two runs side by side. */

export interface Change {
  readonly path: string
  readonly kind: "added" | "removed" | "changed"
  readonly before?: unknown
  readonly after?: unknown
}

const MAX_CHANGES = 500

export function changesBetween(before: unknown, after: unknown): readonly Change[] {
  const changes: Change[] = []
  const walk = (a: unknown, b: unknown, path: string): void => {
    if (changes.length >= MAX_CHANGES || a === b) return
    if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) {
      const keys = new Set([...Object.keys(a), ...Object.keys(b)])
      for (const key of keys) {
        const place = path === "" ? key : `${path}.${key}`
        if (!(key in a)) changes.push({ path: place, kind: "added", after: b[key] })
        else if (!(key in b)) changes.push({ path: place, kind: "removed", before: a[key] })
        else walk(a[key], b[key], place)
      }
      return
    }
    changes.push({ path, kind: "changed", before: a, after: b })
  }
  walk(before, after, "")
  return changes
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null
}
