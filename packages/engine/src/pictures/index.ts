/** Workflows as pictures: text that Mermaid and Graphviz draw. */
export { toDot } from "./dot.ts"
export { toMermaid } from "./mermaid.ts"
export type { Drawable } from "./picture.ts"
