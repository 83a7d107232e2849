/** The texts of a graph that have expressions in them, read. */
import type { Json, NodeId } from "../../core/index.ts"
import { type Document, nearest, type Path, type Report, textsIn } from "../document/index.ts"
import { condition, ExpressionError, expression, type Reference, template } from "../expressions/index.ts"
import { secretNotShown } from "../secret-variables.ts"
import { type GraphModel, isChosenByName, type ModelNode } from "./graph-model.ts"
import { textIn } from "./read-graph.ts"
import { readPath } from "./state-paths.ts"

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
    throw new ExpressionError(`"${text}" is no path: write names with dots between them.`, { start: 0, end })
  const [root, ...rest] = path
  return [{ root: String(root), path: rest, start: 0, end }]
}

/** What they name; what is wrong with them is reported. */
export function checkTexts(
  model: GraphModel,
  document: Document,
  report: Report,
  secrets: readonly string[],
): readonly Reference[] {
  const ids = new Set(model.nodes.map(({ id }) => id))
  return [...textsOf(model)].flatMap(({ at, text, read }) => {
    try {
      const references = read(text)
      for (const reference of references) {
        checkReference(reference, at, ids, document, report)
        const { root, start, end } = reference
        if (!secrets.includes(root) || at.includes("args")) continue
        const place = document.place(at, { from: start, to: end })
        report.warning("SECRET_NOT_SHOWN", secretNotShown(root, root), place)
      }
      return references
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      report.error(
        "EXPRESSION_INVALID",
        error.message,
        document.place(at, { from: error.start, to: error.end }),
      )
      return []
    }
  })
}

function checkReference(
  { root, path, start, end }: Reference,
  at: Path,
  ids: ReadonlySet<NodeId>,
  document: Document,
  report: Report,
): void {
  const [name] = path
  if (root !== "outputs" || name === undefined || ids.has(String(name))) return
  const text = `There is no node "${name}" whose output this could be`
  report.error("UNKNOWN_NODE", text, document.place(at, { from: start, to: end }), nearest(String(name), ids))
}

function* textsOf(model: GraphModel): Generator<GraphText> {
  const types = new Map(model.nodes.map(({ id, type }) => [id, type]))
  for (const node of model.nodes) yield* nodeTexts(node)
  for (const { from, when, at } of model.edges) {
    const type = types.get(from)
    if (when === undefined || type === undefined || isChosenByName(model, type) || type === "loop") continue
    yield { at: conditionAt(at, model.isChat), text: when, read: asCondition }
  }
}

function conditionAt(at: Path, isRows: boolean): Path {
  return [...at, isRows ? "conditionValue" : "condition"]
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

/** Instructions may show braces for other ends: those that name nothing of a graph are text. */
export function isTemplate(text: string, vars: Readonly<Record<string, unknown>>): boolean {
  if (!text.includes("{{")) return false
  try {
    const references = asTemplate(text)
    return (
      references.length > 0 &&
      references.every(({ root }) => ROOTS.includes(root) || Object.hasOwn(vars, root))
    )
  } catch (error) {
    if (error instanceof ExpressionError) return false
    throw error
  }
}
