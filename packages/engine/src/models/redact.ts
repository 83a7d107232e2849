/** Takes keys out of a text, those of the environment and whatever looks like one, so that it can be journaled and shown. */
import { COARSE_KEY_PATTERNS, KEY_PATTERNS, MASK } from "../text/index.ts"
import { secretValues } from "./secret-env.ts"

export function withoutSecrets(text: string): string {
  let clean = text
  for (const value of secretValues()) clean = clean.replaceAll(value, MASK)
  for (const [pattern, replacement] of COARSE_KEY_PATTERNS) clean = clean.replace(pattern, replacement)
  for (const [pattern, replacement] of KEY_PATTERNS) clean = clean.replace(pattern, replacement)
  return clean
}
