/** Workflows as diagrams: text that Mermaid and Graphviz draw, text for a terminal, and data for any other renderer. */

export type { Arrow } from "./arrow.ts"
export {
  type Diagram,
  type Drawable,
  diagramOf,
  type Frame,
  type Look,
  labelLines,
  partsByEnd,
  type Shape,
  wrap,
} from "./diagram.ts"
export { toDot, toMermaid } from "./languages.ts"
export { untangle } from "./layers.ts"
export { type TextOptions, toText } from "./text.ts"
