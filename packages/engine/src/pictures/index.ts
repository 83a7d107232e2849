/** Workflows as pictures: text that Mermaid and Graphviz draw, text for a terminal, and what any other drawing needs. */
export { toDot } from "./dot.ts"
export { labelLines } from "./label-lines.ts"
export { toMermaid } from "./mermaid.ts"
export {
  type Arrow,
  type Drawable,
  type Frame,
  type Look,
  type Picture,
  partsByEnd,
  pictureOf,
  type Shape,
} from "./picture.ts"
export { type TextOptions, toText } from "./text/index.ts"
export { untangle } from "./untangle.ts"
export { wrap } from "./wrap.ts"
