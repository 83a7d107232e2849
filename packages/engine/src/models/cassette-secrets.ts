/**
 * Takes secrets out of what a cassette keeps: values of environment variables, fields whose name says so, and whatever
 * looks like a key. What it leaves must still be good for a replay, so it is exact where an error message's cleaning
 * can be coarse: ids, hashes and files stay.
 */
import type { Json } from "../core/index.ts"
import { MARK, secretValues } from "./secret-env.ts"

export interface CassetteSecrets {
  /** Environment variables whose values are secret, beside those whose name says so, as OPENAI_API_KEY. */
  readonly secretEnv?: readonly string[] | undefined
  /** Fields whose values are secret, beside those whose name says so, as password. */
  readonly secretFields?: readonly string[] | undefined
}

/** Less than this of a value tells nothing. */
const SHORTEST_BEGINNING = 6

const SECRET_FIELD =
  /^(authorization|proxy-authorization|cookie|set-cookie|bearer|token|pin|.*(api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|(access|auth|refresh|id|session|bearer|api)[-_]?token|secret|password|passwd|passphrase|credentials?))$/i
/** Whose values link parts of a conversation, or are data that a pattern must not touch. */
const LINK_FIELD = /^(id|toolCallId|itemId|approvalId|hash)$/

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, MARK],
  // Keys by their well-known beginnings; with a digit or a mask, as words have neither.
  [/\b(?:sk|pk|rk|xai|nvapi|glpat|pplx)-(?=[\w*-]{0,200}[\d*])[\w*-]{12,}/g, MARK],
  [/\b(?:sk_live|sk_test|rk_live|gsk|hf|r8|npm|ghp|gho|ghs|ghu|ghr|github_pat)_[A-Za-z0-9_]{12,}/g, MARK],
  [/\bxox[abeprs]-[\w-]{10,}/g, MARK],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, MARK],
  [/\bAIza[\w-]{30,}/g, MARK],
  [/\bya29\.[\w-]{20,}/g, MARK],
  [/\bSG\.[\w-]{16,}\.[\w-]{16,}/g, MARK],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, MARK],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{8,}/gi, `$1 ${MARK}`],
  [/(:\/\/)[^\s/@:]*:[^\s/@]+@/g, `$1${MARK}@`],
  [
    assignment(
      "api[-_ ]?key|access[-_ ]?key|secret[-_ ]?key|private[-_ ]?key|(?:access|auth|refresh|session)[-_ ]?token|client[-_ ]?secret|password|passwd|passphrase",
      4,
    ),
    `$1${MARK}`,
  ],
  [
    /\b((?:secret|token|signature|sig)["'\\]*\s*[:=]\s*["'\\]*)(?=[^\s"'&,;}]{0,200}\d)[^\s"'&,;}\\]{8,}/gi,
    `$1${MARK}`,
  ],
  // Upper case, lower case and digits in one run, too long for a name and too short for a file.
  [/(?<![\w+/.-])(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{32,100}(?![\w+/=-])/g, MARK],
]

function assignment(names: string, shortest: number): RegExp {
  return new RegExp(`\\b((?:${names})["'\\\\]*\\s*[:=]\\s*["'\\\\]*)[^\\s"'&,;}\\\\]{${shortest},}`, "gi")
}

export class SecretStripper {
  readonly #env: readonly string[]
  readonly #fields: ReadonlySet<string>
  readonly #assignment: RegExp | undefined

  constructor({ secretEnv = [], secretFields = [] }: CassetteSecrets) {
    this.#env = secretEnv
    this.#fields = new Set(secretFields.map((field) => field.toLowerCase()))
    const names = secretFields.map((field) => field.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    this.#assignment = names.length === 0 ? undefined : assignment(names.join("|"), 1)
  }

  data(value: Json): Json {
    return this.#data(value, "", this.#values())
  }

  /** Text that may be JSON, as arguments are. */
  text(text: string): string {
    return this.#text(text, "", this.#values())
  }

  /** Text that broke off, maybe within a secret. */
  beginning(text: string): string {
    const values = this.#values()
    let clean = this.#text(text, "", values)
    for (const value of values) {
      for (let length = value.length - 1; length >= SHORTEST_BEGINNING; length--) {
        if (clean.endsWith(value.slice(0, length))) clean = clean.slice(0, -length) + MARK
      }
    }
    return clean
  }

  #data(value: Json, field: string, values: readonly string[]): Json {
    if (this.#fields.has(field.toLowerCase())) return MARK
    if (typeof value === "string") return SECRET_FIELD.test(field) ? MARK : this.#text(value, field, values)
    if (typeof value === "number") return SECRET_FIELD.test(field) ? MARK : value
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((item: Json) => this.#data(item, field, values))
    const isFile = "mediaType" in value
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) => {
        if (item === undefined) return []
        const within = isFile && key === "data" ? "id" : key
        return [[this.#text(key, "", values), this.#data(item, within, values)]]
      }),
    )
  }

  #text(text: string, field: string, values: readonly string[]): string {
    const parsed = parse(text)
    if (parsed !== undefined) {
      const clean = this.#data(parsed, "", values)
      return JSON.stringify(clean) === JSON.stringify(parsed) ? text : JSON.stringify(clean)
    }
    let clean = text
    for (const value of values) clean = clean.replaceAll(value, MARK)
    if (LINK_FIELD.test(field)) return clean
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
    return this.#assignment === undefined ? clean : clean.replace(this.#assignment, `$1${MARK}`)
  }

  /** As they are, and as they are sent. */
  #values(): string[] {
    const forms = secretValues(this.#env).flatMap((value) => [
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString("base64"),
    ])
    // The longest first: one value may be the beginning of another.
    return [...new Set(forms)].sort((a, b) => b.length - a.length)
  }
}

function parse(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
