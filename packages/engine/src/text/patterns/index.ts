/** Regular expressions that take linear time: for patterns from definitions, schemas and models. */
export { compilePattern, isFound, type Pattern, patternSamples } from "./pattern.ts"
export { PatternError } from "./pattern-reader.ts"
