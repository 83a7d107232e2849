/** Text: how wide a terminal shows it, what is safe to print and to keep, where it may be cut. Nothing is imported here. */
export { cellsOf, cellWidth } from "./cells.ts"
export { clipped, cutText, isInPair } from "./cut.ts"
export { graphemes } from "./graphemes.ts"
export { isPlainText, plainText } from "./plain.ts"
export { printable } from "./printable.ts"
export {
  COARSE_KEY_PATTERNS,
  isSecretName,
  KEY_PATTERNS,
  MASK,
  type SecretPattern,
  secretAssignment,
} from "./secrets.ts"
