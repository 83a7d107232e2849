/** A workflow in DOT, the language of Graphviz. */
import { labelLines } from "./label-lines.ts"
import {
  type Arrow,
  type Drawable,
  type Frame,
  type Look,
  type Picture,
  pictureOf,
  type Shape,
} from "./picture.ts"

/** The text of a DOT digraph: `dot -Tsvg` draws it. */
export function toDot(workflow: Drawable): string {
  const picture = pictureOf(workflow)
  const head = [`label=${quote(picture.name)}`, "labelloc=t", "node [shape=box]"]
  return ["digraph {", ...indent(head), ...inner(picture), "}", ""].join("\n")
}

function inner({ parts, arrows }: Picture): string[] {
  return indent([...parts.flatMap(partText), ...arrows.map(arrowText)])
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

const LOOKS: Record<Look, string> = {
  start: "shape=oval",
  output: "shape=oval",
  limit: "shape=oval",
  end: "shape=oval",
  box: "",
  agent: "style=rounded",
  tool: "shape=component",
  human: "shape=invtrapezium",
  handoff: "shape=cds",
  state: "shape=cylinder",
  workflow: "shape=tab",
  choice: "shape=diamond",
  bar: "shape=hexagon",
}

function partText(part: Shape | Frame): string[] {
  if (part.kind === "frame") {
    // Graphviz draws a frame around a subgraph only if its name begins like this.
    const head = indent([`label=${quote(part.label)}`])
    return [`subgraph cluster_${part.id} {`, ...head, ...inner(part.picture), "}"]
  }
  return [
    `${part.id}${attributes(`label=${quote(part.label)}`, LOOKS[part.kind], part.many ? "peripheries=2" : "")}`,
  ]
}

const STYLES: Record<Arrow["style"], string> = {
  solid: "",
  dashed: "style=dashed",
  error: "style=dashed, color=red",
}

function arrowText({ from, to, style, label }: Arrow): string {
  const text = quote(label)
  return `${from} -> ${to}${attributes(text === '""' ? "" : `label=${text}`, STYLES[style])}`
}

function attributes(...list: readonly string[]): string {
  const set = list.filter((one) => one !== "")
  return set.length === 0 ? "" : ` [${set.join(", ")}]`
}

/** In a label a backslash begins an escape and an ampersand an entity; a quote ends it. */
function quote(label: string): string {
  const lines = labelLines(label).map((line) => line.replace(/["\\]/g, "\\$&").replace(/&/g, "&amp;"))
  return `"${lines.join("\\n")}"`
}
