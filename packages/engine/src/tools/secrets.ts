/**
 * Keeps secrets out of everything that is recorded or shown: arguments that a tool declares secret, keys in variables and
 * headers.
 */
import type { Json } from "../core/index.ts"
import { MASK } from "../text/index.ts"

/** Shorter texts occur everywhere by chance: replacing them would hide nothing and spoil the rest. */
const SHORTEST = 4

const PLAIN_HEADERS = /^(accept.*|content-.*|user-agent|cache-control)$/i

/** What must not come back of headers that were sent: all but those that tell nothing. */
export function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    // "Bearer abc" may come back as "abc".
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

/** Replaces what is secret wherever a result or an error repeats it. */
export class Masking {
  /** Everything that is replaced, the longest first: one secret may be part of another. */
  readonly texts: readonly string[]

  /** Of the arguments that `secret` names, at any depth. */
  constructor(args: unknown, secret: readonly string[] | undefined) {
    const found = new Set<string>()
    if (secret !== undefined && secret.length > 0) collect(args, secret, false, found)
    const written = [...found].flatMap((text) => [text, inAddress(text), inJson(text), base64(text)])
    this.texts = [...new Set(written)].sort((a, b) => b.length - a.length)
  }

  /** Of these very texts. */
  static of(texts: readonly string[]): Masking {
    return new Masking({ texts }, ["texts"])
  }

  text(text: string): string {
    let masked = text
    for (const secret of this.texts) masked = masked.replaceAll(secret, MASK)
    return masked
  }

  /** For a text that was cut off at its end, maybe in the middle of a secret. */
  beginning(text: string): string {
    const masked = this.text(text)
    const part = Math.max(0, ...this.texts.map((secret) => shared(secret, (start) => masked.endsWith(start))))
    return part === 0 ? masked : `${masked.slice(0, -part)}${MASK}`
  }

  /** For a text that was cut off at its start. */
  ending(text: string): string {
    const masked = this.text(text)
    const lengths = this.texts.map((secret) =>
      shared(secret, (_, length) => masked.startsWith(secret.slice(-length))),
    )
    const part = Math.max(0, ...lengths)
    return part === 0 ? masked : `${MASK}${masked.slice(part)}`
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

/** The most characters of a secret, but not all, that are found; 0 where they are too few to tell. */
function shared(secret: string, isFound: (start: string, length: number) => boolean): number {
  for (let length = secret.length - 1; length >= SHORTEST; length--) {
    if (isFound(secret.slice(0, length), length)) return length
  }
  return 0
}

function collect(value: unknown, secret: readonly string[], isSecret: boolean, found: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value)
    if (isSecret && text.length >= SHORTEST) found.add(text)
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
    // Half a character cannot be part of an address.
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
