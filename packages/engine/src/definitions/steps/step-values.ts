/** `$steps` as templates see it: what the references of a template lead to, and no more. */
import type { Json } from "../../core/index.ts"
import { lookedInto } from "../data-in-text.ts"
import { outputOf, type View } from "./view.ts"

type Names = readonly (string | number)[]
type Fields = Record<string, Json>

/** The steps that the references name; all where one names none. */
export function stepValues(view: View, references: readonly Names[]): Json {
  const { layout } = view.steps
  const values = bare()
  const wanted = new Map<string, Names[]>()
  for (const [name, ...rest] of references) {
    if (name === undefined)
      for (const path of view.latest.keys()) add(wanted, path.split("/")[0] as string, [])
    else add(wanted, String(name), rest)
  }
  for (const [name, rests] of wanted) {
    const path = layout.resolve(name, view.path)
    const value = path === undefined ? undefined : valueAt(view, path, rests)
    if (value !== undefined) values[name] = value
  }
  return values
}

/** What a block or a step has left, as `{ output }`; undefined where there is nothing. */
export function valueAt(view: View, path: string, rests: readonly Names[] = []): Json | undefined {
  const place = view.steps.layout.at(path)
  if (place?.kind === "map") return mapValue(view, path, rests)
  if (place?.kind === "block") return blockValue(view, path, place.children, rests)
  const record = view.latest.get(path)
  if (record === undefined) return undefined
  if (record.last !== undefined) return valueAt(view, record.last, rests)
  const output = outputOf(record)
  if (output === undefined) return undefined
  const looksInside = rests.some(([field, ...more]) => field === "output" && more.length > 0)
  return fields({ output: looksInside ? lookedInto(output) : output, agent: record.agent })
}

/** Of a parallel block: `{ steps, order }`. */
function blockValue(
  view: View,
  path: string,
  children: readonly string[],
  rests: readonly Names[],
): Json | undefined {
  const outputs = childValues(view, path, children, rests)
  const order = children.filter((id) => outputs[id] !== undefined)
  if (order.length === 0 && !view.latest.has(path)) return undefined
  const steps = bare()
  for (const id of order) {
    const { output, agent } = outputs[id] as { readonly output: Json; readonly agent?: Json }
    steps[id] = fields({ output, agent })
  }
  return fields({ output: { steps, order }, outputs: numbered(view, path, { outputs, order, rests }), order })
}

/** Of a map: its output is the list of the items' outputs. */
function mapValue(view: View, path: string, rests: readonly Names[]): Json | undefined {
  const record = view.latest.get(path)
  const items = (record?.order ?? itemsOf(view, path)).map(String)
  if (record === undefined && items.length === 0) return undefined
  const outputs = childValues(view, path, items, rests)
  const output = items.map((item) => (outputs[item] as Fields | undefined)?.output ?? null)
  return fields({ output, outputs: numbered(view, path, { outputs, order: items, rests }), order: items })
}

function itemsOf(view: View, path: string): string[] {
  const found = new Set<string>()
  for (const id of view.latest.keys()) {
    if (id.startsWith(`${path}/`)) found.add(id.slice(path.length + 1).split("/")[0] as string)
  }
  return [...found]
}

function childValues(view: View, path: string, children: readonly string[], rests: readonly Names[]): Fields {
  const outputs = bare()
  for (const child of children) {
    const value = valueAt(view, `${path}/${child}`, restsAfter(rests, child))
    if (value !== undefined) outputs[child] = value
  }
  return outputs
}

interface Numbered {
  readonly outputs: Fields
  readonly order: readonly string[]
  readonly rests: readonly Names[]
}

/** `outputs[0]` is the first by order, `outputs[-1]` the last. */
function numbered(view: View, path: string, { outputs, order, rests }: Numbered): Json {
  const all = fields(outputs)
  const keys = new Set(rests.flatMap(([field, key]) => (field === "outputs" ? (key ?? []) : [])))
  for (const key of keys) {
    const id = typeof key === "number" ? order.at(key) : undefined
    const value = id === undefined ? undefined : valueAt(view, `${path}/${id}`, restsAfter(rests, key))
    if (value !== undefined) all[String(key)] = value
  }
  return all
}

/** What the references say after `outputs` and this key. */
function restsAfter(rests: readonly Names[], wanted: string | number): readonly Names[] {
  return rests.flatMap(([field, key, ...more]) => (field === "outputs" && key === wanted ? [more] : []))
}

function add(wanted: Map<string, Names[]>, name: string, rest: Names): void {
  const list = wanted.get(name)
  if (list === undefined) wanted.set(name, [rest])
  else list.push(rest)
}

/** Names of steps are the user's: none of them may mean a prototype. */
function bare(): Fields {
  return Object.create(null) as Fields
}

function fields(given: Readonly<Record<string, Json | undefined>>): Fields {
  const made = bare()
  for (const [name, value] of Object.entries(given)) if (value !== undefined) made[name] = value
  return made
}
