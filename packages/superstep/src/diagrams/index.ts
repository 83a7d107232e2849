/** Workflows as diagrams. A separate entry, because SVG needs a layout library. */
export { type Drawable, type TextOptions, toDot, toMermaid, toText } from "@superstep/engine/diagrams"
export { type SvgOptions, type Theme, toSvg } from "./svg.ts"
