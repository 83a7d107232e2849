/** Takes keys out of a text, those of the environment and whatever looks like one, so that it can be journaled and shown. */
import { MARK, secretValues } from "./secret-env.ts"

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Keys by their well-known beginnings: sk-…, sk-ant-…, gsk_…, xai-…, ghp_…, AIza….
  [/\b(?:sk|pk|rk|gsk|xai|ghp|gho|ghs|github_pat|hf|nvapi|AIza)[-_]?[A-Za-z0-9*][A-Za-z0-9_*.-]{7,}/g, MARK],
  // JSON Web Tokens.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*/g, MARK],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{6,}/gi, `$1 ${MARK}`],
  [
    /\b((?:x-)?(?:api[-_ ]?key|apikey|access[-_]?token|auth[-_]?token|token|secret|password|signature)["']?\s*[:=]\s*["']?)[^\s"'&,;}]{4,}/gi,
    `$1${MARK}`,
  ],
  // User and password in an address.
  [/(\/\/)[^\s/@:]+:[^\s/@]+@/g, `$1${MARK}@`],
]

/** Long runs of letters and digits in one: keys without a well-known beginning. */
const OPAQUE = /\b(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{32,}\b/g

export function withoutSecrets(text: string): string {
  let clean = text
  for (const value of secretValues()) clean = clean.replaceAll(value, MARK)
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
  return clean.replace(OPAQUE, MARK)
}
