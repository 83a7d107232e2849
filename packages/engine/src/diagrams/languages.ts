/** Renders workflows in the languages of other tools: Mermaid, and DOT for Graphviz. */

import type { Arrow } from "./arrow.ts"
import {
  type Diagram,
  type Drawable,
  diagramOf,
  type Frame,
  type Look,
  labelLines,
  type Shape,
} from "./diagram.ts"

interface Language {
  readonly frame: (frame: Frame, inner: readonly string[]) => string[]
  readonly shape: (shape: Shape) => string
  readonly arrow: (arrow: Arrow) => string
}

function linesOf({ parts, arrows }: Diagram, language: Language): string[] {
  const lines = parts.flatMap((part) =>
    part.kind === "frame" ? language.frame(part, linesOf(part.diagram, language)) : [language.shape(part)],
  )
  return [...lines, ...arrows.map(language.arrow)].map((line) => `  ${line}`)
}

/** The text of a Mermaid flowchart: for Markdown files, documentation sites, mermaid.live. */
export function toMermaid(workflow: Drawable): string {
  return ["flowchart TD", ...linesOf(diagramOf(workflow), MERMAID), ""].join("\n")
}

const MERMAID_BRACKETS: Record<Look, readonly [string, string]> = {
  start: ["([", "])"],
  output: ["([", "])"],
  limit: ["([", "])"],
  end: ["([", "])"],
  box: ["[", "]"],
  agent: ["(", ")"],
  tool: ["[/", "/]"],
  human: ["[\\", "/]"],
  handoff: [">", "]"],
  state: ["[(", ")]"],
  workflow: ["[[", "]]"],
  choice: ["{", "}"],
  bar: ["{{", "}}"],
}

const MERMAID: Language = {
  frame: ({ id, label }, inner) => [`subgraph ${id}["${mermaidLabel(label)}"]`, ...inner, "end"],
  shape({ id, label, kind, many }) {
    const [open, close] = MERMAID_BRACKETS[many && kind === "box" ? "workflow" : kind]
    return `${id}${open}"${mermaidLabel(label)}"${close}`
  },
  arrow({ from, to, style, label }) {
    const text = mermaidLabel(label)
    const line = style === "solid" ? "-->" : "-.->"
    return `${from} ${line}${text === "" ? "" : `|"${text}"|`} ${to}`
  },
}

/**
 * Mermaid reads a quoted label as Markdown and HTML, so every ASCII character with a special meaning becomes an entity in
 * Mermaid's spelling (`#35;`). Letters, digits, commas and hyphens inside words stay readable.
 */
function mermaidLabel(label: string): string {
  const entity = (character: string) => `#${character.codePointAt(0)};`
  const escaped = (line: string) =>
    line
      .replace(/(?<![\p{L}\p{N}])-|-(?![\p{L}\p{N}])|[!-+./:-@[-`{-~]/gu, entity)
      // Its lexer parses a line with these words as a statement, even inside quotes.
      .replace(/(?<=direction) (?=TB|BT|RL|LR)/g, entity)
  return labelLines(label).map(escaped).join("<br/>")
}

/** The text of a DOT digraph, for `dot -Tsvg`. */
export function toDot(workflow: Drawable): string {
  const diagram = diagramOf(workflow)
  const head = [`  label=${dotLabel(diagram.name)}`, "  labelloc=t", "  node [shape=box]"]
  return ["digraph {", ...head, ...linesOf(diagram, DOT), "}", ""].join("\n")
}

const DOT_SHAPES: Record<Look, string> = {
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
const DOT_STYLES = { solid: "", dashed: "style=dashed", error: "style=dashed, color=red" }

const DOT: Language = {
  // Graphviz draws a frame around a subgraph only if its name begins like this.
  frame: ({ id, label }, inner) => [`subgraph cluster_${id} {`, `  label=${dotLabel(label)}`, ...inner, "}"],
  shape: ({ id, label, kind, many }) =>
    `${id}${attributes(`label=${dotLabel(label)}`, DOT_SHAPES[kind], many ? "peripheries=2" : "")}`,
  arrow({ from, to, style, label }) {
    const text = dotLabel(label)
    return `${from} -> ${to}${attributes(text === '""' ? "" : `label=${text}`, DOT_STYLES[style])}`
  },
}

function attributes(...list: readonly string[]): string {
  const set = list.filter((one) => one !== "")
  return set.length === 0 ? "" : ` [${set.join(", ")}]`
}

/** In a label a backslash begins an escape and an ampersand an entity; a quote ends it. */
function dotLabel(label: string): string {
  const lines = labelLines(label).map((line) => line.replace(/["\\]/g, "\\$&").replace(/&/g, "&amp;"))
  return `"${lines.join("\\n")}"`
}
