/**
 * The behaviour that all steps share: a token enters, the step writes a record, and passes the token on. Tokens are
 * small, because the run's input and the outputs of steps are in its state.
 */
import type { NodeKeyOf, NodePolicies } from "../../../builder/index.ts"
import { type Json, type NodeId, SuperstepError } from "../../../core/index.ts"
import { omitUndefined } from "../../../core/internal.ts"
import { type Scope, template, textOf } from "../../../expressions/index.ts"
import type { Callable, Context, NodeFlowRun } from "../../../runtime/index.ts"
import { isSecretName } from "../../../text/index.ts"
import { type DefinitionNode, definitionNode, parseIfJson, plainJson } from "../../definition.ts"
import { flowKey } from "../../flow.ts"
import { type SecretVariables, secretReference } from "../../variables.ts"
import type { StepList } from "./step-list.ts"
import { INPUT, type MapItem, outputOf, RECORDS, type StepRecord, View, type ViewOptions } from "./view.ts"

export interface StepNodeOptions
  extends Pick<NodePolicies, "description" | "retry" | "timeout" | "flow" | "placement" | "budget"> {
  /** The last step: its output is the run's. */
  readonly last?: boolean | undefined
  readonly loop?: StepLoopOptions | undefined
}

interface NodeParts extends StepNodeOptions {
  /** The node's id, if it is not the step's. */
  readonly id?: NodeId | undefined
  /** The name that people see, if it is not the id. */
  readonly name?: string | undefined
  readonly kind: string
  readonly nested?: Callable<never, unknown> | undefined
  /** It joins branches: its message is a list of theirs. */
  readonly joins?: boolean | undefined
}

/** Returns the message to the next node, or the run's output. */
type Run = (view: View, ctx: Context, message: unknown) => unknown

export function makeNode(steps: StepList, pattern: string, parts: NodeParts, run: Run): DefinitionNode {
  const { id = pattern, name, kind, loop, joins } = parts
  const { description, retry, timeout, flow, placement, budget, nested } = parts
  const handler = (message: unknown, ctx: Context) => {
    const turn = joins ? ({ after: "" } satisfies StepToken) : message
    const entry = entered(turn, ctx)
    const path = pathOf(pattern, entry.items)
    if (loop !== undefined) countLoop(path, turn, ctx, loop)
    return run(new View({ ...entry, steps, path, runId: ctx.runId }), ctx, message)
  }
  const policies = { description, retry, timeout, flow, placement, budget }
  return definitionNode(id, kind, handler, { name, nested, ...policies })
}

export function leave(view: View, ctx: Context, record: Omit<StepRecord, "id">, isLast?: boolean): unknown {
  const written = omitUndefined({ id: view.path, ...record }) as StepRecord
  // Only answers that are data may have parts that are not JSON.
  const isText = typeof record.output === "string" && record.value === undefined
  ctx.state.write(RECORDS, [isText ? written : plainJson(written)])
  return isLast ? (outputOf(record as StepRecord) ?? null) : { after: ctx.node }
}

/** The output at the path, as a copy. */
export function resultAt(view: View, path: string): Json {
  const { output = null } = (valueAt(view, path) ?? {}) as { readonly output?: Json }
  return plainJson(output)
}

export interface StepToken {
  readonly after: string
  readonly holds?: boolean | undefined
  readonly item?: MapItem | undefined
}

/** The input of a block that runs as a sub-workflow: everything that its steps can see. */
export interface Carried {
  readonly prompt: string
  readonly records: readonly StepRecord[]
  readonly items?: readonly MapItem[] | undefined
}

export interface StepLoopOptions {
  readonly after: readonly string[]
  /** How often it may run before the loop is left. Default 100. */
  readonly limit?: number | undefined
}

const MAX_LOOPS = 100

function entered(message: unknown, ctx: Context): Omit<ViewOptions, "steps" | "path" | "runId"> {
  // The step before failed with on_error: continue, so its input is this step's.
  if (isFailure(message)) return entered(message.input, ctx)
  if (isToken(message)) {
    const input = ctx.state.get(INPUT)
    const { prompt = "", items = [], carried = 0 } = input ?? {}
    const own = message.item === undefined ? items : [...items, message.item]
    return { prompt, input, records: () => ctx.state.get(RECORDS), items: own, carried }
  }
  if (isCarried(message)) {
    const { prompt, records, items = [] } = message
    ctx.state.write(INPUT, { prompt, ...(items.length === 0 ? {} : { items }), carried: records.length })
    if (records.length > 0) ctx.state.write(RECORDS, records)
    return { prompt, records: () => records, items, carried: records.length }
  }
  const prompt = textOf(message as Json | undefined)
  ctx.state.write(INPUT, { prompt })
  return { prompt, records: () => [], items: [], carried: 0 }
}

/** A key of a step's limits: an expression over the input of the run. */
export function stepFlowKey(text: string): NodeKeyOf {
  const read = flowKey(text)
  return (message: unknown, { state }) => read(parseIfJson(promptOf(message, state)))
}

function promptOf(message: unknown, state: NodeFlowRun["state"]): Json {
  if (isFailure(message)) return promptOf(message.input, state)
  if (isToken(message)) return state.get(INPUT)?.prompt ?? ""
  return isCarried(message) ? message.prompt : (message as Json)
}

/** Counts runs that come from inside of the loop; entering it from outside starts again at 1. */
function countLoop(path: string, message: unknown, ctx: Context, loop: StepLoopOptions): void {
  const { after, limit = MAX_LOOPS } = loop
  const isBack = after.includes(senderOf(message) ?? "")
  const runs = isBack ? (ctx.local.get<number>("runs") ?? 1) + 1 : 1
  if (runs > limit) {
    const text = `workflow: max loop iterations exceeded (step: ${path}, limit: ${limit})`
    throw new SuperstepError("MAX_LOOP_ITERATIONS", text, { fatal: true, retryable: false })
  }
  ctx.local.set("runs", runs)
}

function senderOf(message: unknown): string | undefined {
  if (isFailure(message)) return message.node
  return isToken(message) ? message.after : undefined
}

/** Replaces `*` by the index of the map's current item. */
function pathOf(pattern: string, items: readonly MapItem[]): string {
  if (!pattern.includes("*")) return pattern
  let depth = 0
  return pattern
    .split("/")
    .map((name) => (name === "*" ? String(items[depth++]?.index ?? 0) : name))
    .join("/")
}

function isToken(message: unknown): message is StepToken {
  return has(message, "after") && typeof message.after === "string"
}

function isCarried(message: unknown): message is Carried {
  return has(message, "records") && Array.isArray(message.records)
}

function isFailure(message: unknown): message is { readonly node: string; readonly input: unknown } {
  return (
    has(message, "error") && has(message, "input") && has(message, "node") && typeof message.node === "string"
  )
}

function has<Key extends string>(value: unknown, key: Key): value is { readonly [key in Key]: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
}

// The scope of a step's templates and conditions.

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
        return inputAt(view.prompt, path)
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

/** A reference that leads into the input reads it as JSON. */
function inputAt(input: string, path: readonly (string | number)[] = []): Json {
  return path.length === 0 ? input : parseIfJson(input)
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
    return read.render((root, path) =>
      root === "input" && typeof input === "string" ? inputAt(input, path) : undefined,
    )
  }
}
