/** Source text of definitions: data with source ranges, and actionable diagnostics. */
export { nearest } from "../text/index.ts"
export { type Diagnostic, type Path, Report, type SourceRange, textsIn } from "./diagnostic.ts"
export { type Document, documentText, parseDocument } from "./parse-document.ts"
export { type PrintOptions, printDiagnostics } from "./print-diagnostics.ts"
export { jsonSchemaFor, readShape } from "./read-shape.ts"
export { quotedValue } from "./shape-words.ts"
