/** Regular expressions that take linear time: for patterns from definitions, schemas and models. */
export { compilePattern, isFound, type Pattern } from "./pattern-program.ts"
export { PatternError } from "./pattern-reader.ts"
export { patternSamples } from "./pattern-sample.ts"
