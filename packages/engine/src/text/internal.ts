/** Internals that other layers of the engine use, besides the public entry. */
export { clipped } from "./cells.ts"
export { isHeading, scoresOf, sentencesIn, spaced, tellingWords } from "./prose.ts"
