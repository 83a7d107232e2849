/** Regular expressions that take linear time: for patterns of definitions, of schemas and of strangers. */
export { compilePattern, type Pattern } from "./pattern-program.ts"
export { PatternError } from "./pattern-reader.ts"
export { isFound } from "./pattern-search.ts"
