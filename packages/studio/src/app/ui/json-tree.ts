/**
 * A JSON value as rows for a tree: only what is unfolded becomes rows, and a page of a large list at a time, so that a value of
 * any size costs what is visible. A search leaves what it found, and the way to it.
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
  /** Nothing but these paths. */
  readonly only?: ReadonlySet<string>
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
    const limit = state.only === undefined ? (state.shown.get(path) ?? PAGE) : size
    const below = isWhole ? 0 : depth + 1
    for (const [name, child] of Object.entries(one).slice(0, limit)) {
      const place = `${path}/${escaped(name)}`
      if (state.only?.has(place) !== false) add(child, name, place, below)
    }
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
  let visited = 0
  const walk = (one: unknown, key: string, path: string, above: readonly string[]): void => {
    if (found.size >= MAX_FOUND || visited++ > MAX_SEARCHED) return
    const isHit =
      key.toLowerCase().includes(wanted) ||
      (sizeOf(one) === undefined && String(one).toLowerCase().includes(wanted))
    if (isHit) {
      found.add(path)
      for (const parent of above) open.add(parent)
    }
    if (typeof one !== "object" || one === null) return
    const inside = [...above, path]
    for (const [name, child] of Object.entries(one)) walk(child, name, `${path}/${escaped(name)}`, inside)
  }
  walk(value, "", "", [])
  return { found, state: { open, shown: new Map(), only: new Set([...open, ...found]) } }
}

function escaped(key: string): string {
  return key.replace(/~/g, "~0").replace(/\//g, "~1")
}
