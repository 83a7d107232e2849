/**
 * Which steps there are, in the order of definition, and which of them are in which branch of which block. Ids of steps
 * are paths: those of the blocks around a step, and its own; for a map, the number of the item in between.
 */

export type LayoutEntry =
  | string
  /** A parallel block: its branches run at the same time. */
  | { readonly id: string; readonly branches: readonly (readonly LayoutEntry[])[] }
  /** A map: the steps that run for each item; none where one step makes the item's output. */
  | { readonly id: string; readonly each: readonly LayoutEntry[] }

export type Place =
  | { readonly kind: "step" }
  /** With the ids of its steps, in the order of definition. */
  | { readonly kind: "block" | "map"; readonly children: readonly string[] }
  | { readonly kind: "item"; readonly children: readonly string[] }

interface Known {
  readonly place: Place
  readonly order: readonly number[]
  /** For every block around it, what the steps of the same branch have in common. */
  readonly lineage: readonly string[]
  /** Its path with `*` for the numbers of items. */
  readonly pattern: string
}

export class Layout {
  readonly #root: readonly (readonly LayoutEntry[])[]
  readonly #items = new Map<readonly LayoutEntry[], readonly (readonly LayoutEntry[])[]>()
  readonly #aliases: Readonly<Record<string, string>>
  readonly #known = new Map<string, Known | undefined>()

  /** Aliases are other paths for steps of the same block, with `*` for the numbers of items. */
  constructor(entries: readonly LayoutEntry[], aliases: Readonly<Record<string, string>> = {}) {
    this.#root = [entries]
    this.#aliases = aliases
  }

  at(path: string): Place | undefined {
    return this.#find(path)?.place
  }

  lineage(path: string): readonly string[] {
    return this.#find(path)?.lineage ?? []
  }

  /** For sorting: in the order of definition. What is not there comes last. */
  compare(a: string, b: string): number {
    const [one = [Number.POSITIVE_INFINITY], two = [Number.POSITIVE_INFINITY]] = [
      this.#find(a)?.order,
      this.#find(b)?.order,
    ]
    for (let i = 0; i < Math.max(one.length, two.length); i++) {
      const difference = (one[i] ?? -1) - (two[i] ?? -1)
      if (difference !== 0) return difference
    }
    return 0
  }

  /** A name as a step means it: a step of the innermost block around it that has one of that name. */
  resolve(name: string, from: string): string | undefined {
    const around = from.split("/").slice(0, -1)
    for (let depth = around.length; depth >= 0; depth--) {
      const block = around.slice(0, depth)
      const path = [...block, this.#meant(block.join("/"), name)].join("/")
      const kind = this.at(path)?.kind
      if (kind !== undefined && kind !== "item") return path
    }
    return undefined
  }

  /** The id that the name stands for in the block. */
  #meant(block: string, name: string): string {
    const prefix = block === "" ? "" : `${this.#find(block)?.pattern ?? block}/`
    const named = prefix + name
    return Object.hasOwn(this.#aliases, named) ? (this.#aliases[named] as string).slice(prefix.length) : name
  }

  #find(path: string): Known | undefined {
    if (this.#known.has(path)) return this.#known.get(path)
    const found = this.#walk(path.split("/"))
    this.#known.set(path, found)
    return found
  }

  #walk(names: readonly string[]): Known | undefined {
    let branches: readonly (readonly LayoutEntry[])[] = this.#root
    let known: Known = { place: { kind: "block", children: [] }, order: [], lineage: [], pattern: "" }
    let around = ""
    for (let i = 0; i < names.length; i++) {
      const found = locate(branches, names[i] as string)
      if (found === undefined) return undefined
      const order = [...known.order, found.position]
      const lineage = around === "" ? known.lineage : [...known.lineage, `${around}:${found.branch}`]
      const path = names.slice(0, i + 1).join("/")
      const { entry } = found
      const pattern = known.pattern === "" ? idOf(entry) : `${known.pattern}/${idOf(entry)}`
      known = { place: placeOf(entry), order, lineage, pattern }
      if (typeof entry === "string") return i === names.length - 1 ? known : undefined
      if ("branches" in entry) {
        branches = entry.branches
        around = path
        continue
      }
      const item = names[++i]
      if (item === undefined) return known
      if (!/^(0|[1-9][0-9]*)$/.test(item) && item !== "*") return undefined
      const children = entry.each.map(idOf)
      const place: Place = children.length === 0 ? { kind: "step" } : { kind: "item", children }
      known = {
        place,
        order: [...order, item === "*" ? 0 : Number(item)],
        lineage: [...lineage, `${path}:${item}`],
        pattern: `${pattern}/*`,
      }
      branches = this.#items.get(entry.each) ?? [entry.each]
      this.#items.set(entry.each, branches)
      around = ""
    }
    return known
  }
}

function placeOf(entry: LayoutEntry): Place {
  if (typeof entry === "string") return { kind: "step" }
  if ("branches" in entry) return { kind: "block", children: entry.branches.flat().map(idOf) }
  return { kind: "map", children: [] }
}

function idOf(entry: LayoutEntry): string {
  return typeof entry === "string" ? entry : entry.id
}

interface Located {
  readonly entry: LayoutEntry
  readonly branch: number
  readonly position: number
}

/** By id: lists may be long, and are asked for every step in them. */
const indexes = new WeakMap<object, ReadonlyMap<string, Located>>()

function locate(branches: readonly (readonly LayoutEntry[])[], id: string): Located | undefined {
  const known = indexes.get(branches) ?? indexOf(branches)
  indexes.set(branches, known)
  return known.get(id)
}

function indexOf(branches: readonly (readonly LayoutEntry[])[]): ReadonlyMap<string, Located> {
  const index = new Map<string, Located>()
  for (const [branch, entries] of branches.entries()) {
    for (const entry of entries) index.set(idOf(entry), { entry, branch, position: index.size })
  }
  return index
}
