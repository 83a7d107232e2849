/** Workflows as diagrams: text that Mermaid and Graphviz draw, text for a terminal, and data for any other renderer. */
export { untangle } from "./columns.ts"
export {
  type Arrow,
  type Diagram,
  type Drawable,
  diagramOf,
  type Frame,
  type Look,
  partsByEnd,
  type Shape,
} from "./diagram.ts"
export { labelLines, wrap } from "./labels.ts"
export { toDot, toMermaid } from "./languages.ts"
export { type TextOptions, toText } from "./text.ts"
