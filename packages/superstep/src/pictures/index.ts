/** Workflows as pictures. Here and not in the main entry, since an SVG needs a layout library. */
export { type Drawable, type TextOptions, toDot, toMermaid, toText } from "@superstep/engine/pictures"
export type { Theme } from "./style.ts"
export { type SvgOptions, toSvg } from "./svg.ts"
