/** The scope of a step's templates and conditions. */
import type { Json } from "../../../core/index.ts"
import { type Scope, template } from "../../../expressions/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { isSecretName } from "../../../text/index.ts"
import { parseIfJson } from "../../json-values.ts"
import { type SecretVariables, secretReference } from "../../variables.ts"
import { outputOf } from "./records.ts"
import type { View } from "./view.ts"

export const ROOTS = ["steps", "input", "env", "run", "vars", "item", "index"] as const

/** `revealed` collects the values of secrets that were used. Without it, expressions see references instead. */
export function scopeOf(view: View, revealed?: string[]): Scope {
  const { env, vars, secrets } = view.steps
  return (root, path = []) => {
    switch (root) {
      case "steps":
        // One reference at a time: an output is parsed only for references that lead into it.
        return stepValues(view, path)
      case "input":
        return view.prompt
      case "env":
        return named(env, path, revealed)
      case "run":
        return { id: view.runId }
      case "vars":
        return withSecret(vars, path, secrets, revealed)
      case "item":
        return view.items.at(-1)?.value
      case "index":
        return view.items.at(-1)?.index
      default:
        return undefined
    }
  }
}

/** Only the variable with that name, because the environment contains secrets. */
function named(
  env: Readonly<Record<string, string | undefined>>,
  [name]: readonly (string | number)[],
  revealed: string[] | undefined,
): Json {
  const found: Record<string, Json> = Object.create(null)
  const value = name === undefined ? undefined : env[String(name)]
  if (value === undefined) return found
  const isSecret = isSecretName(String(name))
  if (isSecret) revealed?.push(value)
  found[String(name)] = isSecret && revealed === undefined ? secretReference(`env.${name}`) : value
  return found
}

function withSecret(
  vars: Readonly<Record<string, Json>>,
  [name]: readonly (string | number)[],
  secrets: SecretVariables,
  revealed: string[] | undefined,
): Json {
  if (revealed === undefined || name === undefined || !secrets.has(String(name))) return { ...vars }
  const value = secrets.value(String(name))
  revealed.push(value)
  return { ...vars, [String(name)]: value }
}

type Names = readonly (string | number)[]
type Fields = Record<string, Json>

/** `$steps`: the step that the reference names, or all steps if it names none. */
function stepValues(view: View, [name, ...rest]: Names): Json {
  const top = (path: string) => path.split("/")[0] as string
  const names = name === undefined ? Array.from(view.outputs(), ({ id }) => top(id)) : [String(name)]
  const values = bare()
  for (const one of names) {
    const path = view.steps.layout.resolve(one, view.path)
    const value = path === undefined ? undefined : valueAt(view, path, rest)
    if (value !== undefined) values[one] = value
  }
  return values
}

/** The output of a step or a block, as `{ output }`; undefined if it has none. `rest` leads on into it. */
export function valueAt(view: View, path: string, rest: Names = []): Json | undefined {
  const part = view.steps.layout.at(path)
  if (part?.kind === "map") return mapValue(view, path, rest)
  if (part?.kind === "block") return blockValue(view, path, part.children, rest)
  const record = view.output(path)
  if (record === undefined) return undefined
  if (record.last !== undefined) return valueAt(view, record.last, rest)
  const output = outputOf(record)
  if (output === undefined) return undefined
  const leadsInside = rest[0] === "output" && rest.length > 1
  return fields({ output: leadsInside ? parseIfJson(output) : output, agent: record.agent })
}

/** The output of a parallel block is `{ steps, order }`. */
function blockValue(view: View, path: string, children: readonly string[], rest: Names): Json | undefined {
  const [field, key] = rest
  const isOne = field === "outputs" && typeof key === "string"
  const one = isOne ? valueAt(view, `${path}/${key}`, restAfter(rest, key)) : undefined
  // The reference leads into one step, so the others need not be read.
  if (isOne && one !== undefined) return fields({ outputs: fields({ [key]: one }) })
  const outputs = childValues(view, path, children, rest)
  const order = children.filter((id) => outputs[id] !== undefined)
  if (order.length === 0 && view.output(path) === undefined) return undefined
  const steps = bare()
  for (const id of order) {
    const { output, agent } = outputs[id] as { readonly output: Json; readonly agent?: Json }
    steps[id] = fields({ output, agent })
  }
  return fields({ output: { steps, order }, outputs: numbered(view, path, outputs, order, rest), order })
}

/** The output of a map is the list of its items' outputs. */
function mapValue(view: View, path: string, rest: Names): Json | undefined {
  const record = view.output(path)
  const items = (record?.order ?? itemsOf(view, path)).map(String)
  if (record === undefined && items.length === 0) return undefined
  const outputs = childValues(view, path, items, rest)
  const output = items.map((item) => (outputs[item] as Fields | undefined)?.output ?? null)
  return fields({ output, outputs: numbered(view, path, outputs, items, rest), order: items })
}

function itemsOf(view: View, path: string): string[] {
  const inside = Array.from(view.outputs(), ({ id }) => id).filter((id) => id.startsWith(`${path}/`))
  return [...new Set(inside.map((id) => id.slice(path.length + 1).split("/")[0] as string))]
}

function childValues(view: View, path: string, children: readonly string[], rest: Names): Fields {
  const values = children.map((child) => [child, valueAt(view, `${path}/${child}`, restAfter(rest, child))])
  return fields(Object.fromEntries(values))
}

/** `outputs[0]` is the first by order, `outputs[-1]` the last. */
function numbered(view: View, path: string, outputs: Fields, order: readonly string[], rest: Names): Json {
  const [field, key] = rest
  const id = field === "outputs" && typeof key === "number" ? order.at(key) : undefined
  if (id === undefined) return outputs
  return fields({ ...outputs, [String(key)]: valueAt(view, `${path}/${id}`, restAfter(rest, key)) })
}

/** The rest of the reference after `outputs` and this key. */
function restAfter([field, key, ...more]: Names, wanted: string | number | undefined): Names {
  return field === "outputs" && key === wanted ? more : []
}

/** Users choose the names of steps, so names must not resolve to a prototype. */
function bare(): Fields {
  return Object.create(null) as Fields
}

function fields(values: Readonly<Record<string, Json | undefined>>): Fields {
  const made = bare()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) made[name] = value
  return made
}

/** By the signal of the attempt, which is the same everywhere in the task. */
export const currentViews = new WeakMap<AbortSignal, View>()

/** Instructions with templates, which see the step that the agent runs in. Outside of a step, references are empty. */
export function stepsText(text: string): (input: unknown, ctx: Context) => string {
  const read = template(text, "steps")
  return (input, ctx) => {
    const view = currentViews.get(ctx.signal)
    if (view !== undefined) return read.render(scopeOf(view))
    return read.render((root) => (root === "input" && typeof input === "string" ? input : undefined))
  }
}
