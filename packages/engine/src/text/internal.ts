/** Internals that other layers of the engine use, besides the public entry. */
export { clipped } from "./printable.ts"
export { isHeading, scoresOf, sentencesIn, spaced, tellingWords } from "./prose.ts"
