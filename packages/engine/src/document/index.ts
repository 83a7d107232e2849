/** Source text of definitions: data with source ranges, and actionable diagnostics. */
export { nearest } from "../text/index.ts"
export { type Diagnostic, type Path, Report, type SourceRange, textsIn } from "./diagnostic.ts"
export { jsonSchemaFor } from "./json-schema-for.ts"
export { chosen, has, ifThen, isOneOf, type JsonSchema, type Kind, kindSchema } from "./kind-schemas.ts"
export { type Document, documentText, parseDocument } from "./parse-document.ts"
export { type PrintOptions, printDiagnostics } from "./print-diagnostics.ts"
export { type FieldsBy, readShape, type UnknownField } from "./read-shape.ts"
export { quotedValue } from "./shape-words.ts"
