/** Strings: terminal width, safe printing and storing, cutting, suggestions, ranking, secrets. Imports nothing. */
export { cellsOf, cellWidth, graphemes, wrapText } from "./cells.ts"
export { calendarDate } from "./dates.ts"
export { mergeByRank } from "./merge-by-rank.ts"
export { nearest } from "./nearest.ts"
export { clipped, cutText, isInPair, isPlainText, plainText, printable } from "./printable.ts"
export {
  COARSE_KEY_PATTERNS,
  isSecretName,
  KEY_PATTERNS,
  MASK,
  type SecretPattern,
  secretAssignment,
} from "./secrets.ts"
