/** Checks the expressions, templates and paths in a graph. */
import type { Json } from "../../core/index.ts"
import { nearest, type Path, textsIn } from "../../document/index.ts"
import { condition, ExpressionError, expression, type Reference, template } from "../../expressions/index.ts"
import { type DocumentReport, tryRead } from "../dialect-input.ts"
import { edgesFrom, type GraphModel, isChosenByName, type ModelNode, textIn } from "./graph-model.ts"
import { readPath } from "./nodes/visit.ts"

interface GraphText {
  readonly at: Path
  readonly text: string
  readonly read: (text: string) => readonly Reference[]
}

const asCondition = (text: string) => condition(text, "graph").references
const asExpression = (text: string) => expression(text, "graph").references
const asTemplate = (text: string) => template(text, "graph").references

function asPath(text: string): readonly Reference[] {
  const path = readPath(text)
  const end = text.length
  if (path === undefined)
    throw new ExpressionError(`"${text}" is not a path: write names separated by dots.`, { start: 0, end })
  const [root, ...rest] = path
  return [{ root: String(root), path: rest, start: 0, end }]
}

/** Returns the references in them. Errors in them are reported. */
export function checkTexts(
  model: GraphModel,
  report: DocumentReport,
  { secrets, variables }: { readonly secrets: readonly string[]; readonly variables: readonly string[] },
): readonly Reference[] {
  for (const node of model.nodes) {
    const merge = mergeTemplate(node)
    const references = merge === undefined ? [] : tryRead(merge.text, asTemplate)
    if (merge === undefined || references instanceof ExpressionError) continue
    checkPlaceholders(model, { node, references, ...merge }, report, [...variables, ...secrets])
  }
  const ids = new Set(model.nodes.map(({ id }) => id))
  return [...textsOf(model)].flatMap(({ at, text, read }) => {
    const references = tryRead(text, read)
    if (references instanceof ExpressionError) {
      report.invalidExpression(references, at)
      return []
    }
    for (const reference of references) {
      const { root, path, start, end } = reference
      const name = root === "outputs" && path[0] !== undefined ? String(path[0]) : undefined
      if (name !== undefined && !ids.has(name)) {
        const part = { from: start, to: end }
        report.error("UNKNOWN_NODE", `There is no node "${name}"`, at, nearest(name, ids), part)
      }
      if (secrets.includes(root)) report.secretShown(root, root, at, reference)
    }
    return references
  })
}

function* textsOf(model: GraphModel): Generator<GraphText> {
  const types = new Map(model.nodes.map(({ id, type }) => [id, type]))
  for (const node of model.nodes) yield* nodeTexts(node)
  for (const { from, when, at } of model.edges) {
    const type = types.get(from)
    if (when === undefined || type === undefined || isChosenByName(model, type) || type === "loop") continue
    yield { at: [...at, model.isChat ? "conditionValue" : "condition"], text: when, read: asCondition }
  }
}

function* nodeTexts({ data, at }: ModelNode): Generator<GraphText> {
  const text = (value: string | boolean | null | undefined, read: GraphText["read"], ...path: Path) => {
    const found = textIn(value)
    return found === undefined ? [] : [{ at: [...at, ...path], text: found, read }]
  }
  for (const [name, path] of Object.entries(data.inputs ?? {})) yield* text(path, asPath, "inputs", name)
  for (const [name, path] of Object.entries(data.outputs ?? {})) yield* text(path, asPath, "outputs", name)
  for (const [path, value] of Object.entries(data.update ?? {})) {
    yield* text(path, asPath, "update", path)
    if (typeof value === "string") yield* text(value, asExpression, "update", path)
  }
  yield* text(data.read, asPath, "read")
  yield* text(data.condition, asCondition, "condition")
  yield* text(data.loop_condition, asCondition, "loop_condition")
  yield* text(data.decide, asExpression, "decide")
  yield* text(data.result, asExpression, "result")
  yield* text(data.prompt, asTemplate, "prompt")
  yield* text(data.params?.prompt, asTemplate, "params", "prompt")
  yield* text(data.template, asTemplate, "template")
  yield* text(data.params?.template, asTemplate, "params", "template")
  for (const [path, value] of textsIn(data.args as Json | undefined, ["args"]))
    yield* text(value, asTemplate, ...path)
}

const ROOTS = ["goal", "latest", "outputs", "state"]

/** Whether every reference names something of a graph. Instructions may contain braces for other purposes. */
export function isTemplate(text: string, vars: Readonly<Record<string, unknown>>): boolean {
  const references = text.includes("{{") ? tryRead(text, asTemplate) : []
  if (references instanceof ExpressionError || references.length === 0) return false
  return references.every(({ root }) => ROOTS.includes(root) || Object.hasOwn(vars, root))
}

// Checks the template of a merge: an unfilled placeholder would appear in the output. Other templates are prompts, where
// a model tolerates it.

const ALWAYS = ["goal", "latest", "outputs", "results", "state", "steps"]
const OF_CHATS = ["next", "lastCaller", "lastTool"]

interface MergeTemplate {
  readonly node: ModelNode
  readonly at: Path
  readonly text: string
  readonly references: readonly Reference[]
}

function mergeTemplate({ data, at }: ModelNode): { readonly at: Path; readonly text: string } | undefined {
  if ((data.strategy ?? data.params?.strategy) !== "custom_template") return undefined
  if (data.template !== undefined) return { at: [...at, "template"], text: data.template }
  const text = data.params?.template
  return typeof text === "string" ? { at: [...at, "params", "template"], text } : undefined
}

/** `variables` are those that the caller sets. */
function checkPlaceholders(
  model: GraphModel,
  { node, at, text, references }: MergeTemplate,
  report: DocumentReport,
  variables: readonly string[],
): void {
  const branches = branchesOf(model, node)
  const names = new Set([
    ...ALWAYS,
    ...(model.isChat ? OF_CHATS : []),
    ...branches,
    ...valuesOf(model),
    ...variables,
  ])
  const fills = ["results", "goal", ...branches].map((name) => `{{ ${name} }}`).join(", ")
  for (const { root, start, end } of references) {
    if (names.has(root)) continue
    const message = `Nothing fills {{ ${root} }}: the template of a merge has ${fills}, values of the state, and variables`
    report.error("PLACEHOLDER_UNFILLED", message, at, nearest(root, names), { from: start, to: end })
  }
  for (const { 0: written, 1: name = "", index } of text.matchAll(SINGLE)) {
    const message = `${written} is not filled: write {{ ${name} }}`
    report.error("PLACEHOLDER_UNFILLED", message, at, undefined, { from: index, to: index + written.length })
  }
}

/** Placeholders in single braces, which other template languages use. */
const SINGLE = /(?<!\{)\{ ?([A-Za-z_][\w.]*) ?\}(?!\})/g

/** The branches that end at a merge began at a fan-out. A parallel node lists its own nodes. */
function branchesOf(model: GraphModel, { type, data }: ModelNode): readonly string[] {
  if (type === "parallel") return data.nodes ?? []
  const fanOuts = model.nodes.filter((one) => one.type === "fanout")
  return [
    ...new Set(
      fanOuts.flatMap((one) => [
        ...(one.data.branches ?? []),
        ...edgesFrom(model, one.id).flatMap(({ to }) => to ?? []),
      ]),
    ),
  ]
}

/** The names at the top of the state that the graph's nodes write. */
function valuesOf({ nodes }: GraphModel): string[] {
  return nodes
    .flatMap(({ data }) => [...Object.values(data.outputs ?? {}), ...Object.keys(data.update ?? {})])
    .flatMap((path) => readPath(String(path))?.slice(0, 1) ?? [])
    .map(String)
}
