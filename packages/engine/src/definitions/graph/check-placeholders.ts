/**
 * Checks the template of a merge: what it does not fill would be a hole in the output, or stand there in braces. Other
 * templates are prompts, where a model reads around either.
 */
import { nearest, type Path } from "../../document/index.ts"
import type { Reference } from "../../expressions/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { edgesFrom, type GraphModel, type ModelNode } from "./graph-model.ts"
import { readPath } from "./nodes/state-paths.ts"

const ALWAYS = ["goal", "latest", "outputs", "results", "state", "steps"]
const OF_CHATS = ["next", "lastCaller", "lastTool"]

interface MergeTemplate {
  readonly node: ModelNode
  readonly at: Path
  readonly text: string
  readonly references: readonly Reference[]
}

export function mergeTemplate({
  data,
  at,
}: ModelNode): { readonly at: Path; readonly text: string } | undefined {
  if ((data.strategy ?? data.params?.strategy) !== "custom_template") return undefined
  if (data.template !== undefined) return { at: [...at, "template"], text: data.template }
  const text = data.params?.template
  return typeof text === "string" ? { at: [...at, "params", "template"], text } : undefined
}

/** `variables` are those that the caller sets. */
export function checkPlaceholders(
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

/** In one pair of braces, as other template languages have it. */
const SINGLE = /(?<!\{)\{ ?([A-Za-z_][\w.]*) ?\}(?!\})/g

/** A parallel node has its own nodes. What ends at a merge began at a fan-out. */
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
