/** Keeps the arguments that a tool declares secret out of everything that is recorded or shown. */
import type { Json } from "../core/index.ts"

export const MASK = "[secret]"

/** Shorter texts occur everywhere by chance: replacing them would hide nothing and spoil the rest. */
const SHORTEST = 4

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

/** Replaces what the secret arguments say, wherever a result or an error repeats it. */
export class Masking {
  readonly #texts: readonly string[]

  constructor(args: unknown, secret: readonly string[] | undefined) {
    const found = new Set<string>()
    if (secret !== undefined && secret.length > 0) collect(args, secret, false, found)
    const written = [...found].flatMap((text) => [text, inAddress(text), base64(text)])
    // The longest first: one secret may be part of another.
    this.#texts = [...new Set(written)].sort((a, b) => b.length - a.length)
  }

  text(text: string): string {
    let masked = text
    for (const secret of this.#texts) masked = masked.replaceAll(secret, MASK)
    return masked
  }

  json(value: Json): Json {
    if (this.#texts.length === 0) return value
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

function base64(text: string): string {
  // Without the padding, so that it is found in either form.
  return Buffer.from(text).toString("base64").replace(/=+$/, "")
}
