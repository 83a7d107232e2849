/** What must not come out of a server's address: header values, credentials in the URL, variables called like a secret. */
import type { Json } from "@superstep/engine"
import { isProgram, type McpServerAddress } from "./server-address.ts"

const HIDDEN = "[secret]"
/** Shorter texts occur everywhere by chance: replacing them would hide nothing and spoil the rest. */
const SHORTEST = 4
const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH/i

export class HiddenValues {
  readonly #values: readonly string[]

  constructor(address: McpServerAddress) {
    const values = isProgram(address)
      ? ofProgram(address.env ?? {})
      : ofUrl(address.url, address.headers ?? {})
    const long = values.filter((value) => value.length >= SHORTEST)
    // The longest first: one secret may be part of another.
    this.#values = [...new Set(long)].sort((a, b) => b.length - a.length)
  }

  text(text: string): string {
    let shown = text
    for (const value of this.#values) shown = shown.replaceAll(value, HIDDEN)
    return shown
  }

  json(value: Json): Json {
    if (this.#values.length === 0) return value
    if (typeof value === "string") return this.text(value)
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((item) => this.json(item))
    const entries = Object.entries(value).flatMap(([key, item]) =>
      item === undefined ? [] : [[this.text(key), this.json(item)] as const],
    )
    return Object.fromEntries(entries)
  }
}

function ofProgram(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => (SECRET_NAME.test(name) ? [value] : []))
}

function ofUrl(address: string | URL, headers: Readonly<Record<string, string>>): string[] {
  const url = new URL(address)
  const parameters = [...url.searchParams].flatMap(([name, value]) => (SECRET_NAME.test(name) ? [value] : []))
  const values = Object.entries(headers).flatMap(([name, value]) =>
    // "Bearer abc" may come back as "abc".
    PLAIN_HEADERS.test(name) ? [] : [value, value.replace(/^\S+\s+/, "")],
  )
  return [decodeURIComponent(url.password), url.password, ...parameters, ...values]
}

const PLAIN_HEADERS = /^(accept.*|content-.*|user-agent|cache-control)$/i
