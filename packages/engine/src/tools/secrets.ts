/**
 * Secrets: read from the environment at the moment they are sent, and kept out of everything that is recorded or shown.
 */
import type { Json } from "../core/index.ts"
import { terminalError } from "../core/internal.ts"
import { MASK } from "../text/index.ts"

export type Environment = Readonly<Record<string, string | undefined>>

const VARIABLE = /\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names of the variables in a string with `${env.NAME}`. */
export function variablesIn(template: string): readonly string[] {
  return [...template.matchAll(VARIABLE)].map((match) => match[1] ?? "")
}

export function fillTemplate(template: string, env: Environment): string {
  return template.replace(VARIABLE, (_, name: string) => readVariable(name, env))
}

/** The value of a variable, without the line break that a file leaves at its end. */
export function readVariable(name: string, env: Environment): string {
  const value = env[name]?.trim()
  if (value !== undefined && value !== "") return value
  throw terminalError("KEY_MISSING", `Set the environment variable ${name}: a request needs it.`)
}

const PLAIN_HEADERS = /^(accept.*|content-.*|user-agent|cache-control)$/i

/** The values of headers that must be masked in responses: all except those known to be harmless. */
export function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    // A response may repeat "Bearer abc" as "abc".
    PLAIN_HEADERS.test(name) ? [] : [value, value.replace(/^\S+\s+/, "")],
  )
}

/** The arguments with every secret one, at any depth, replaced. */
export function maskArgs(args: Json, secret: readonly string[] | undefined): Json {
  if (secret === undefined || secret.length === 0 || typeof args !== "object" || args === null) return args
  if (Array.isArray(args)) return args.map((item) => maskArgs(item, secret))
  const masked: Record<string, Json> = {}
  for (const [key, value] of Object.entries(args)) {
    if (value !== undefined) masked[key] = secret.includes(key) ? MASK : maskArgs(value, secret)
  }
  return masked
}

/** Shorter strings occur by chance: replacing them would hide nothing and garble the rest. */
const MIN_LENGTH = 4

const NO_TEXTS: readonly string[] = Object.freeze([])

/** Replaces secrets wherever a result or an error repeats them. */
export class Masking {
  /** Everything that is replaced, the longest first: one secret may be part of another. */
  readonly texts: readonly string[]

  /** `secret` names the secret arguments, at any depth. */
  constructor(args: unknown, secret: readonly string[] | undefined) {
    if (secret === undefined || secret.length === 0) {
      this.texts = NO_TEXTS
      return
    }
    const found = new Set<string>()
    collect(args, secret, false, found)
    const written = [...found].flatMap((text) => [text, inAddress(text), inJson(text), base64(text)])
    this.texts = [...new Set(written)].sort((a, b) => b.length - a.length)
  }

  static of(texts: readonly string[]): Masking {
    return new Masking({ texts }, ["texts"])
  }

  text(text: string): string {
    let masked = text
    for (const secret of this.texts) masked = masked.replaceAll(secret, MASK)
    return masked
  }

  /** For a string that was cut at its end, possibly within a secret. */
  beginning(text: string): string {
    const masked = this.text(text)
    const length = this.#cutLength((secret, length) => masked.endsWith(secret.slice(0, length)))
    return length === 0 ? masked : `${masked.slice(0, -length)}${MASK}`
  }

  /** For a string that was cut at its start. */
  ending(text: string): string {
    const masked = this.text(text)
    const length = this.#cutLength((secret, length) => masked.startsWith(secret.slice(-length)))
    return length === 0 ? masked : `${MASK}${masked.slice(length)}`
  }

  /** The length of the longest part of a secret that is left at the cut; 0 if it is too short to recognize. */
  #cutLength(isLeft: (secret: string, length: number) => boolean): number {
    let longest = 0
    for (const secret of this.texts) {
      let length = secret.length - 1
      while (length >= MIN_LENGTH && !isLeft(secret, length)) length--
      if (length >= MIN_LENGTH) longest = Math.max(longest, length)
    }
    return longest
  }

  json(value: Json): Json {
    if (this.texts.length === 0) return value
    if (typeof value === "string") return this.text(value)
    if (typeof value === "number") return this.text(String(value)) === String(value) ? value : MASK
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((item) => this.json(item))
    const masked: Record<string, Json> = {}
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) masked[this.text(key)] = this.json(item)
    }
    return masked
  }
}

function collect(value: unknown, secret: readonly string[], isSecret: boolean, found: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value)
    if (isSecret && text.length >= MIN_LENGTH) found.add(text)
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      collect(item, secret, isSecret || secret.includes(key), found)
    }
  }
}

function inAddress(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    // An address cannot contain a lone surrogate.
    return text
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function base64(text: string): string {
  // Without the padding, so that it is found in either form.
  return Buffer.from(text)
    .toString("base64")
    .replace(/(?<!=)=+$/, "")
}
