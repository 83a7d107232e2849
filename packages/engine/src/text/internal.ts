/** What other layers of the engine use besides the public entry. */
export { clipped } from "./cut.ts"
export { isHeading, sentencesIn } from "./sentences.ts"
export { scoresOf, spaced, tellingWords } from "./words.ts"
