/** A workflow as a Mermaid flowchart. */
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

/** The text of a Mermaid flowchart: for Markdown files, documentation sites, mermaid.live. */
export function toMermaid(workflow: Drawable): string {
  return ["flowchart TD", ...inner(pictureOf(workflow)), ""].join("\n")
}

function inner({ parts, arrows }: Picture): string[] {
  return [...parts.flatMap(partText), ...arrows.map(arrowText)].map((line) => `  ${line}`)
}

const BRACKETS: Record<Look, readonly [string, string]> = {
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

function partText(part: Shape | Frame): string[] {
  if (part.kind === "frame") {
    return [`subgraph ${part.id}["${labelText(part.label)}"]`, ...inner(part.picture), "end"]
  }
  const [open, close] = BRACKETS[part.many && part.kind === "box" ? "workflow" : part.kind]
  return [`${part.id}${open}"${labelText(part.label)}"${close}`]
}

function arrowText({ from, to, style, label }: Arrow): string {
  const text = labelText(label)
  const line = style === "solid" ? "-->" : "-.->"
  return `${from} ${line}${text === "" ? "" : `|"${text}"|`} ${to}`
}

/**
 * Mermaid reads a quoted label as Markdown and HTML, so every ASCII sign that may mean something there becomes
 * an entity in Mermaid's spelling (`#35;`). Letters, digits, commas and hyphens inside words stay readable.
 */
function labelText(label: string): string {
  return labelLines(label).map(escapeLine).join("<br/>")
}

function escapeLine(line: string): string {
  return (
    line
      .replace(/(?<![\p{L}\p{N}])-|-(?![\p{L}\p{N}])|[!-+./:-@[-`{-~]/gu, entity)
      // Its lexer takes a whole line with these words for a statement, even inside quotes.
      .replace(/(?<=direction) (?=TB|BT|RL|LR)/g, entity)
  )
}

function entity(sign: string): string {
  return `#${sign.codePointAt(0)};`
}
