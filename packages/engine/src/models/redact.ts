/**
 * Removes secrets from text and data before they are journaled, shown or recorded: values of environment variables with a
 * secret name, and everything that looks like a key.
 */

import type { Json } from "../core/index.ts"
import { COARSE_KEY_PATTERNS, isSecretName, KEY_PATTERNS, MASK, secretAssignment } from "../text/index.ts"

/** For error messages. Coarse: may also mask an id or a hash. */
export function withoutSecrets(text: string): string {
  return secretMask()(text)
}

export type SecretMask = (text: string) => string

let lastMask: { readonly values: readonly string[]; readonly mask: SecretMask } | undefined

/**
 * The same for several texts of one moment: reading the environment takes longer than most of them. While the environment
 * has the same secrets, it returns the same function.
 */
export function secretMask(): SecretMask {
  const values = secretValues()
  const isSame =
    lastMask?.values.length === values.length && lastMask.values.every((one, i) => one === values[i])
  if (!isSame) lastMask = { values, mask: (text) => masked(text, values) }
  return (lastMask as { readonly mask: SecretMask }).mask
}

/** No shorter text is changed: the shortest secret is a password in an address, as in `://:p@`. */
export const MIN_MASKED = 6

function masked(text: string, values: readonly string[]): string {
  if (text.length < MIN_MASKED) return text
  let clean = text
  for (const value of values) clean = clean.replaceAll(value, MASK)
  for (const [pattern, replacement] of COARSE_KEY_PATTERNS) clean = clean.replace(pattern, replacement)
  for (const [pattern, replacement] of KEY_PATTERNS) clean = clean.replace(pattern, replacement)
  return clean
}

/** A shorter value may be an ordinary word. */
const MIN_VALUE = 8

/** Whether variables have secret names: an environment has the same few names all the time. */
const secretNames = new Map<string, boolean>()

/** Read on every call, because keys may be set at any time. `also` names variables whose values are secret at any length. */
function secretValues(also: readonly string[] = []): string[] {
  const values: string[] = []
  // Unlike Object.keys, this does not ask for the attributes of each variable, which takes as long as reading it.
  for (const name of Object.getOwnPropertyNames(process.env)) {
    let isSecret = secretNames.get(name)
    if (isSecret === undefined) {
      isSecret = isSecretName(name)
      secretNames.set(name, isSecret)
    }
    const isNamed = also.includes(name)
    // Values are read one by one, which takes long: most are not needed.
    const value = isSecret || isNamed ? process.env[name] : undefined
    if (value && (isNamed || value.length >= MIN_VALUE)) values.push(value)
  }
  return values
}

export interface CassetteSecrets {
  /** Environment variables whose values are secret, in addition to those with a secret name, such as OPENAI_API_KEY. */
  readonly secretEnv?: readonly string[] | undefined
  /** Fields whose values are secret, in addition to those with a secret name, such as password. */
  readonly secretFields?: readonly string[] | undefined
}

/** A shorter prefix of a value reveals nothing. */
const MIN_PREFIX = 6

/** Fields whose values link the parts of a conversation: patterns must not change them. */
const LINK_FIELD = /^(id|toolCallId|itemId|approvalId|hash)$/

/** Strips secrets from cassettes. Ids, hashes and files stay unchanged, so that recordings can be replayed. */
export class SecretStripper {
  readonly #env: readonly string[]
  readonly #fields: ReadonlySet<string>
  readonly #assignment: RegExp | undefined

  constructor({ secretEnv = [], secretFields = [] }: CassetteSecrets) {
    this.#env = secretEnv
    this.#fields = new Set(secretFields.map((field) => field.toLowerCase()))
    const names = secretFields.map((field) => field.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    this.#assignment = names.length === 0 ? undefined : secretAssignment(names.join("|"), 1)
  }

  data(value: Json): Json {
    return this.#data(value, "", this.#values())
  }

  /** The value as JSON without secrets; `encode` replaces bytes. */
  json(value: unknown, encode: (bytes: Uint8Array) => Json): Json {
    const text = JSON.stringify(value, function (this: Record<string, unknown>, key, item: unknown) {
      // `toJSON` of a Buffer has changed `item` already.
      const bytes = this[key]
      return bytes instanceof Uint8Array ? encode(bytes) : item
    })
    return text === undefined ? null : this.data(JSON.parse(text))
  }

  /** Text that may be JSON, such as arguments. */
  text(text: string): string {
    return this.#text(text, "", this.#values())
  }

  /** Text that was cut off, possibly within a secret. */
  prefix(text: string): string {
    const values = this.#values()
    let clean = this.#text(text, "", values)
    for (const value of values) {
      for (let length = value.length - 1; length >= MIN_PREFIX; length--) {
        if (clean.endsWith(value.slice(0, length))) clean = clean.slice(0, -length) + MASK
      }
    }
    return clean
  }

  #data(value: Json, field: string, values: readonly string[]): Json {
    if (this.#fields.has(field.toLowerCase())) return MASK
    if (typeof value === "string") return isSecretName(field) ? MASK : this.#text(value, field, values)
    if (typeof value === "number") return isSecretName(field) ? MASK : value
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
    const parsed = parseIfJson(text)
    if (parsed !== undefined) {
      const clean = this.#data(parsed, "", values)
      return JSON.stringify(clean) === JSON.stringify(parsed) ? text : JSON.stringify(clean)
    }
    let clean = text
    for (const value of values) clean = clean.replaceAll(value, MASK)
    if (LINK_FIELD.test(field)) return clean
    for (const [pattern, replacement] of KEY_PATTERNS) clean = clean.replace(pattern, replacement)
    return this.#assignment === undefined ? clean : clean.replace(this.#assignment, `$1${MASK}`)
  }

  /** The values, and their encoded forms. */
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

/** The parsed value of a string that is a JSON object or list. */
export function parseIfJson(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
