/**
 * What counts as a secret: the only list of names and patterns in the code base. Names decide for variables, headers,
 * parameters and fields; patterns find keys in running text.
 */

/** Replaces a secret in everything that is recorded or shown. */
export const MASK = "[secret]"

/** A word of a name that makes its value secret. */
const SECRET_WORD =
  /^(?:.*(?:password|passwd|passphrase|apikey|credentials?)|pass|pin|secrets?|auth|authorization|cookies?|bearer|jwt|(?:access|auth|refresh|session|bearer|api|id)?token|(?:access|secret|private)key)$/
/** Last words of names that describe a secret without containing it: `token_url`, `secret_name`. */
const DESCRIPTION = /^(?:count|limit|budget|usage|size|type|url|uri|endpoint|name|names|policy|ttl)$/
/** Keys that are not secret: `primary_key`, `cache_key`. */
const PLAIN_KEY =
  /^(?:primary|foreign|sort|partition|public|cache|index|row|object|idempotency|routing|group|map|event|node|sub)$/

/** Whether a variable, header, parameter or field is named like something secret: `apiKey`, `DB_PASSWORD`, `token`. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name)
  const last = words.at(-1)
  if (last === undefined || DESCRIPTION.test(last)) return false
  if (words.some((word) => SECRET_WORD.test(word))) return true
  // PWD alone is the working directory.
  if (last === "pwd") return words.length > 1
  const key = last === "id" ? words.length - 2 : words.length - 1
  return key > 0 && words[key] === "key" && !PLAIN_KEY.test(words[key - 1] as string)
}

function wordsOf(name: string): string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2")
  return spaced.toLowerCase().match(/[a-z0-9]+/g) ?? []
}

export type SecretPattern = readonly [pattern: RegExp, replacement: string]

/** Keys by their shape. They leave ids, hashes and files alone, so that a recording can still be replayed. */
export const KEY_PATTERNS: readonly SecretPattern[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
  // Well-known prefixes, followed by a digit or a mask, which words do not have.
  [/\b(?:sk|pk|rk|xai|nvapi|glpat|pplx)-(?=[\w*-]{0,200}[\d*])[\w*-]{12,}/g, MASK],
  [/\b(?:sk_live|sk_test|rk_live|gsk|hf|r8|npm|ghp|gho|ghs|ghu|ghr|github_pat)_[A-Za-z0-9_]{12,}/g, MASK],
  [/\bxox[abeprs]-[\w-]{10,}/g, MASK],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, MASK],
  [/\bAIza[\w-]{30,}/g, MASK],
  [/\bya29\.[\w-]{20,}/g, MASK],
  [/\bSG\.[\w-]{16,}\.[\w-]{16,}/g, MASK],
  // JSON Web Tokens.
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, MASK],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{8,}/gi, `$1 ${MASK}`],
  // User and password in an address.
  [/(:\/\/)[^\s/@:]*:[^\s/@]+@/g, `$1${MASK}@`],
  [
    secretAssignment(
      "api[-_ ]?key|access[-_ ]?key|secret[-_ ]?key|private[-_ ]?key|(?:access|auth|refresh|session)[-_ ]?token|client[-_ ]?secret|password|passwd|passphrase",
      4,
    ),
    `$1${MASK}`,
  ],
  [
    /\b((?:secret|token|signature|sig)["'\\]*\s*[:=]\s*["'\\]*)(?=[^\s"'&,;}]{0,200}\d)[^\s"'&,;}\\]{8,}/gi,
    `$1${MASK}`,
  ],
  // Upper case, lower case and digits in one run, too long for a name and too short for a file.
  [/(?<![\w+/.-])(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{32,100}(?![\w+/=-])/g, MASK],
]

/** Everything that might be a key: for error messages, where masking too much does no harm. */
export const COARSE_KEY_PATTERNS: readonly SecretPattern[] = [
  [/\b(?:sk|pk|rk|gsk|xai|ghp|gho|ghs|github_pat|hf|nvapi|AIza)[-_]?[A-Za-z0-9*][A-Za-z0-9_*.-]{7,}/g, MASK],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{6,}/gi, `$1 ${MASK}`],
  [
    /\b((?:x-)?(?:api[-_ ]?key|apikey|access[-_]?token|auth[-_]?token|token|secret|password|signature)["']?\s*[:=]\s*["']?)[^\s"'&,;}]{4,}/gi,
    `$1${MASK}`,
  ],
  [/\b(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{32,}\b/g, MASK],
]

/** Matches `name = value` and `"name": "value"`; `$1` is everything before the value. */
export function secretAssignment(names: string, shortest: number): RegExp {
  return new RegExp(`\\b((?:${names})["'\\\\]*\\s*[:=]\\s*["'\\\\]*)[^\\s"'&,;}\\\\]{${shortest},}`, "gi")
}
