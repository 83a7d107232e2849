/** Strings: terminal width, safe printing and storing, cutting, suggestions, ranking, secrets. Imports nothing. */
export {
  cellsOf,
  cellWidth,
  clipped,
  cutText,
  graphemes,
  isInPair,
  isPlainText,
  plainText,
  printable,
  wrapText,
} from "./cells.ts"
export { calendarDate } from "./dates.ts"
export { mergeByRank, nearest } from "./nearest.ts"
export {
  COARSE_KEY_PATTERNS,
  isSecretName,
  KEY_PATTERNS,
  MASK,
  type SecretPattern,
  secretAssignment,
} from "./secrets.ts"
