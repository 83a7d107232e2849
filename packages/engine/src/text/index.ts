/** Text as a terminal shows it. For pictures, diagnostics and the command; nothing is imported here. */
export { cellsOf, cellWidth } from "./cells.ts"
export { graphemes } from "./graphemes.ts"
export { printable } from "./printable.ts"
