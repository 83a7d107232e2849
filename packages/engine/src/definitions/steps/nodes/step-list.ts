/**
 * The steps of a workflow: their order, their blocks and branches, their aliases, and the variables that templates see. The
 * path of a step has the ids of the blocks around it, and the index of the item for each map.
 */
import type { Json } from "../../../core/index.ts"
import { SecretVariables, type SecretVariablesOptions } from "../../variables.ts"

export interface StepListOptions extends SecretVariablesOptions {
  readonly aliases?: Readonly<Record<string, string>> | undefined
  readonly vars?: Readonly<Record<string, Json>> | undefined
  /** The values of `$env`. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export interface StepList {
  readonly layout: Layout
  readonly vars: Readonly<Record<string, Json>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly secrets: SecretVariables
}

export function stepList(entries: readonly LayoutEntry[], options: StepListOptions = {}): StepList {
  const { aliases, vars = {}, env = process.env } = options
  const secrets = new SecretVariables(options, env)
  return { layout: new Layout(entries, aliases), vars: { ...vars, ...secrets.shown }, env, secrets }
}

export type LayoutEntry =
  | string
  /** A parallel block: its branches run at the same time. */
  | { readonly id: string; readonly branches: readonly (readonly LayoutEntry[])[] }
  /** A map: the steps for each item; empty if a single step makes the output of an item. */
  | { readonly id: string; readonly each: readonly LayoutEntry[] }

export type LayoutPart =
  | { readonly kind: "step" }
  /** With the ids of its steps, in the order of definition. */
  | { readonly kind: "block" | "map"; readonly children: readonly string[] }
  | { readonly kind: "item"; readonly children: readonly string[] }

interface Found {
  readonly part: LayoutPart
  readonly order: readonly number[]
  /** The branch that it is in, for every block around it. */
  readonly lineage: readonly string[]
  /** Its path with `*` for the indexes of items. */
  readonly pattern: string
}

export class Layout {
  readonly #root: readonly (readonly LayoutEntry[])[]
  readonly #items = new Map<readonly LayoutEntry[], readonly (readonly LayoutEntry[])[]>()
  readonly #aliases: Readonly<Record<string, string>>
  readonly #known = new Map<string, Found | undefined>()

  /** Aliases are alternative paths of steps in the same block, with `*` for the indexes of items. */
  constructor(entries: readonly LayoutEntry[], aliases: Readonly<Record<string, string>> = {}) {
    this.#root = [entries]
    this.#aliases = aliases
  }

  at(path: string): LayoutPart | undefined {
    return this.#find(path)?.part
  }

  lineage(path: string): readonly string[] {
    return this.#find(path)?.lineage ?? []
  }

  /** Sorts by the order of definition; unknown paths come last. */
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

  /** The path of the step that a name refers to: it is looked up from the innermost block outwards. */
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

  #meant(block: string, name: string): string {
    const prefix = block === "" ? "" : `${this.#find(block)?.pattern ?? block}/`
    const named = prefix + name
    return Object.hasOwn(this.#aliases, named) ? (this.#aliases[named] as string).slice(prefix.length) : name
  }

  #find(path: string): Found | undefined {
    if (this.#known.has(path)) return this.#known.get(path)
    const found = this.#walk(path.split("/"))
    this.#known.set(path, found)
    return found
  }

  #walk(names: readonly string[]): Found | undefined {
    let branches: readonly (readonly LayoutEntry[])[] = this.#root
    let known: Found = { part: { kind: "block", children: [] }, order: [], lineage: [], pattern: "" }
    let around = ""
    for (let i = 0; i < names.length; i++) {
      const found = locate(branches, names[i] as string)
      if (found === undefined) return undefined
      const order = [...known.order, found.position]
      const lineage = around === "" ? known.lineage : [...known.lineage, `${around}:${found.branch}`]
      const path = names.slice(0, i + 1).join("/")
      const { entry } = found
      const pattern = known.pattern === "" ? idOf(entry) : `${known.pattern}/${idOf(entry)}`
      known = { part: partOf(entry), order, lineage, pattern }
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
      const part: LayoutPart = children.length === 0 ? { kind: "step" } : { kind: "item", children }
      known = {
        part,
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

const STEP: LayoutPart = { kind: "step" }

/** A block may have many children, and each of them asks for it. */
const parts = new WeakMap<object, LayoutPart>()

function partOf(entry: LayoutEntry): LayoutPart {
  if (typeof entry === "string") return STEP
  const known = parts.get(entry)
  if (known !== undefined) return known
  const part: LayoutPart =
    "branches" in entry
      ? { kind: "block", children: entry.branches.flat().map(idOf) }
      : { kind: "map", children: [] }
  parts.set(entry, part)
  return part
}

function idOf(entry: LayoutEntry): string {
  return typeof entry === "string" ? entry : entry.id
}

interface Located {
  readonly entry: LayoutEntry
  readonly branch: number
  readonly position: number
}

/** An index for each list, which may be long. */
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
