/**
 * A JSON value as rows for a tree: only what is unfolded becomes rows, and a page of a large list at a time, so that a value of
 * any size costs what is visible. Search finds paths and unfolds the way to them.
 */

export interface TreeRow {
  /** Of the value: `["a", 0]` as "/a/0"; `~` and `/` in keys are escaped as in JSON Pointer. */
  readonly path: string
  readonly depth: number
  readonly key: string | undefined
  readonly value: unknown
  /** How many entries it has; undefined: it cannot be unfolded. */
  readonly size: number | undefined
  readonly isOpen: boolean
  /** A row that shows the next page of its list. */
  readonly more?: number | undefined
}

export const PAGE = 100
const MAX_FOUND = 200
const MAX_SEARCHED = 200_000

export interface TreeState {
  readonly open: ReadonlySet<string>
  /** How many entries of a list are shown, where it is not the first page. */
  readonly shown: ReadonlyMap<string, number>
}

function sizeOf(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null) return undefined
  return Array.isArray(value) ? value.length : Object.keys(value).length
}

export function rowsOf(value: unknown, state: TreeState): TreeRow[] {
  const rows: TreeRow[] = []
  const add = (one: unknown, key: string | undefined, path: string, depth: number): void => {
    const size = sizeOf(one)
    const isOpen = size !== undefined && size > 0 && state.open.has(path)
    // The whole needs no row of its own while its parts are shown.
    const isWhole = path === "" && isOpen
    if (!isWhole) rows.push({ path, depth, key, value: one, size, isOpen })
    if (!isOpen || typeof one !== "object" || one === null) return
    const limit = state.shown.get(path) ?? PAGE
    const entries = Object.entries(one).slice(0, limit)
    const below = isWhole ? 0 : depth + 1
    for (const [name, child] of entries) add(child, name, `${path}/${escaped(name)}`, below)
    if (size > limit) {
      rows.push({
        path: `${path}/…`,
        depth: below,
        key: undefined,
        value: undefined,
        size: undefined,
        isOpen: false,
        more: size - limit,
      })
    }
  }
  add(value, undefined, "", 0)
  return rows
}

/** What is open at first: the top, and below it what is small. */
export function firstOpen(value: unknown): ReadonlySet<string> {
  const open = new Set<string>()
  let room = 40
  const walk = (one: unknown, path: string, depth: number): void => {
    const size = sizeOf(one)
    if (size === undefined || size === 0 || (depth > 0 && (size > 12 || depth > 3 || room < size))) return
    open.add(path)
    room -= Math.min(size, PAGE)
    for (const [name, child] of Object.entries(one as object).slice(0, PAGE)) {
      walk(child, `${path}/${escaped(name)}`, depth + 1)
    }
  }
  walk(value, "", 0)
  return open
}

/** The paths whose key or text contains the words, and everything that must be open to see them. */
export function search(
  value: unknown,
  text: string,
): { readonly found: ReadonlySet<string>; readonly state: TreeState } {
  const wanted = text.toLowerCase()
  const found = new Set<string>()
  const open = new Set<string>()
  const shown = new Map<string, number>()
  let visited = 0
  const walk = (one: unknown, key: string, path: string, above: readonly string[], index: number): void => {
    if (found.size >= MAX_FOUND || visited++ > MAX_SEARCHED) return
    const isHit =
      key.toLowerCase().includes(wanted) ||
      (sizeOf(one) === undefined && String(one).toLowerCase().includes(wanted))
    if (isHit) {
      found.add(path)
      for (const parent of above) open.add(parent)
      const parent = above.at(-1)
      if (parent !== undefined) shown.set(parent, Math.max(shown.get(parent) ?? PAGE, index + 1))
    }
    if (typeof one !== "object" || one === null) return
    const inside = [...above, path]
    for (const [i, [name, child]] of Object.entries(one).entries()) {
      walk(child, name, `${path}/${escaped(name)}`, inside, i)
    }
  }
  walk(value, "", "", [], 0)
  return { found, state: { open, shown } }
}

function escaped(key: string): string {
  return key.replace(/~/g, "~0").replace(/\//g, "~1")
}
