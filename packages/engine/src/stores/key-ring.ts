/**
 * Encryption at rest: AES-256-GCM, with a ring of keys. Stores seal what holds the content of runs, and open it when it is
 * read; ids, names, status, labels and times stay readable, so that lists and filters work as before.
 *
 * A sealed value is text: `~1.<id of the key>.<base64 of nonce, ciphertext and tag>`. No JSON begins with a tilde, so values
 * that were written before stay readable. Each has a random nonce of 96 bits. What it is, and where it belongs, is
 * authenticated with it: a value that was changed, cut or moved to another place is reported as damaged.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomFillSync,
} from "node:crypto"
import { readFileSync } from "node:fs"
import { SuperstepError } from "../core/index.ts"
import type { NewEvent } from "../runtime/index.ts"

export interface EncryptionKey {
  /** Stored with every value: letters, digits, `-` and `_`, at most 64. */
  readonly id: string
  /** 32 bytes, or their base64. */
  readonly key: Uint8Array | string
}

/** Where keys come from, such as a key management service. */
export interface KeyProvider {
  /** The first key writes, all of them read. Called once, when a store is opened. */
  load(): readonly EncryptionKey[] | Promise<readonly EncryptionKey[]>
}

/** `what` ends a sentence about the value. */
type Damaged = (what: string, cause?: unknown) => Error

/** How a store writes values, and reads them. `kind`, `owner` and `part` are where a value belongs. */
export interface ValueCodec {
  seal(text: string, kind: string, owner: string, part?: string | number): string
  /** Returns a value that is not sealed as it is. Throws STORE_KEY_MISSING, or what `damaged` returns. */
  open(text: string, damaged: Damaged, kind: string, owner: string, part?: string | number): string
  /** The address of a large value, by its content. */
  address(text: string | Uint8Array): string
}

const SEALED = "~1."
const TILDE = 126
const NONCE = 12
const TAG = 16
const KEY = 32
const ID = /^[\w-]{1,64}$/
/** What the stored check of a key contains. */
const CHECK = "superstep"

export function isSealed(text: string | Uint8Array): boolean {
  return (typeof text === "string" ? text.charCodeAt(0) : text[0]) === TILDE
}

/** For stores without encryption. */
export const plainCodec: ValueCodec = {
  seal: (text) => text,
  open(text) {
    if (isSealed(text)) throw keyMissing(keyIdOf(text) ?? "unknown")
    return text
  },
  address: (text) => createHash("sha256").update(text).digest("hex"),
}

/** Nonces are drawn many at a time: each draw costs as much as a short value. */
class Nonces {
  readonly #bytes = Buffer.alloc(NONCE * 256)
  #next = this.#bytes.length

  next(): Buffer {
    if (this.#next === this.#bytes.length) {
      randomFillSync(this.#bytes)
      this.#next = 0
    }
    this.#next += NONCE
    return this.#bytes.subarray(this.#next - NONCE, this.#next)
  }
}

/** The check of a key, as a store keeps it. */
export interface KeyCheck {
  readonly id: string
  readonly check: string
}

/** Loaded keys. It shows none of them. */
export class KeyRing implements ValueCodec {
  readonly #keys: ReadonlyMap<string, Uint8Array>
  readonly #prefix: string
  readonly #addressKey: Uint8Array
  readonly #nonces = new Nonces()
  /** The id of the key that writes. */
  readonly writes: string

  /** Throws OPTION_INVALID. */
  constructor(keys: readonly EncryptionKey[]) {
    const [first] = keys
    if (first === undefined) throw keyInvalid("there must be at least one key")
    this.#keys = new Map(keys.map((key) => [key.id, bytesOf(key)]))
    if (this.#keys.size < keys.length) throw keyInvalid("two keys have the same id")
    this.writes = first.id
    this.#prefix = `${SEALED}${first.id}.`
    // Not the key itself: an address says nothing about it.
    this.#addressKey = new Uint8Array(
      hkdfSync("sha256", this.#keys.get(first.id) as Uint8Array, "", "superstep addresses", KEY),
    )
  }

  seal(text: string, kind: string, owner: string, part: string | number = ""): string {
    const nonce = this.#nonces.next()
    const cipher = createCipheriv("aes-256-gcm", this.#keys.get(this.writes) as Uint8Array, nonce)
    cipher.setAAD(placeOf(kind, owner, part))
    const bytes = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
    return this.#prefix + bytes.toString("base64")
  }

  open(text: string, damaged: Damaged, kind: string, owner: string, part: string | number = ""): string {
    if (!isSealed(text)) return text
    const id = keyIdOf(text)
    if (id === undefined) throw damaged("it is not encrypted in a known form")
    const key = this.#keys.get(id)
    if (key === undefined) throw keyMissing(id)
    const bytes = Buffer.from(text.slice(SEALED.length + id.length + 1), "base64")
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAAD(placeOf(kind, owner, part))
      decipher.setAuthTag(bytes.subarray(-TAG))
      const content = decipher.update(bytes.subarray(NONCE, -TAG))
      return Buffer.concat([content, decipher.final()]).toString("utf8")
    } catch (error) {
      throw damaged("it cannot be decrypted: it was changed, or belongs elsewhere", error)
    }
  }

  /** Without the key, an address does not show whether a store has a value. */
  address(text: string | Uint8Array): string {
    return `~${createHmac("sha256", this.#addressKey).update(text).digest("hex")}`
  }

  /** What a value begins with that was written with the newest key. */
  get prefix(): string {
    return this.#prefix
  }

  /** The value, sealed with the newest key. */
  sealAgain(text: string, damaged: Damaged, kind: string, owner: string, part?: string | number): string {
    return this.seal(this.open(text, damaged, kind, owner, part), kind, owner, part)
  }

  /** What a store keeps to recognise the key that writes. */
  get check(): KeyCheck {
    return { id: this.writes, check: this.seal(CHECK, "key", this.writes) }
  }
}

/**
 * Compares the keys with those that a store was written with. Throws STORE_KEY_MISSING or STORE_KEY_WRONG. Returns the check that the
 * store is to keep, if it does not have it.
 */
export function checkKeys(codec: ValueCodec, stored: readonly KeyCheck[]): KeyCheck | undefined {
  for (const { id, check } of stored) {
    const found = codec.open(check, (_, cause) => keyWrong(id, cause), "key", id)
    if (found !== CHECK) throw keyWrong(id)
  }
  if (!(codec instanceof KeyRing) || stored.some(({ id }) => id === codec.writes)) return undefined
  return codec.check
}

/** For stores that write their values again with the newest key. Throws OPTION_INVALID for a store that has none. */
export function ringOf(codec: ValueCodec): KeyRing {
  if (codec instanceof KeyRing) return codec
  throw keyInvalid(`the store was opened without keys: pass the option keys, or set ${KEYS_VARIABLE}`)
}

/** The option `keys` of a store. */
export function codecOf(keys: KeyRing | readonly EncryptionKey[] | undefined): ValueCodec {
  if (keys === undefined) return plainCodec
  if (keys instanceof KeyRing) return keys
  if (!Array.isArray(keys)) throw keyInvalid("keys is a list such as [{ id, key }], or what loadKeys returns")
  return new KeyRing(keys as readonly EncryptionKey[])
}

/** Loads keys once, so that a store needs none of its provider afterwards. */
export async function loadKeys(provider: KeyProvider): Promise<KeyRing> {
  return new KeyRing(await provider.load())
}

export const KEYS_VARIABLE = "SUPERSTEP_KEYS"

/**
 * Keys from the environment variable SUPERSTEP_KEYS, or from the file that SUPERSTEP_KEYS_FILE names: `id:base64`, separated
 * by commas or line breaks. No keys where neither is set.
 */
export function environmentKeys(
  environment: { readonly [name: string]: string | undefined } = process.env,
): KeyProvider {
  return {
    load() {
      const file = environment[`${KEYS_VARIABLE}_FILE`]
      const text = environment[KEYS_VARIABLE] ?? (file === undefined ? "" : readKeys(file))
      return text
        .split(/[\s,]+/)
        .filter((part) => part !== "")
        .map(parseKey)
    },
  }
}

function readKeys(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw keyInvalid(`the file that ${KEYS_VARIABLE}_FILE names cannot be read: ${(error as Error).message}`)
  }
}

function parseKey(text: string): EncryptionKey {
  const at = text.indexOf(":")
  if (at <= 0) throw keyInvalid(`each key in ${KEYS_VARIABLE} is written as id:base64`)
  return { id: text.slice(0, at), key: text.slice(at + 1) }
}

function bytesOf({ id, key }: EncryptionKey): Uint8Array {
  if (typeof id !== "string" || !ID.test(id)) {
    throw keyInvalid("the id of a key has letters, digits, - and _, at most 64 of them")
  }
  const bytes = typeof key === "string" ? Buffer.from(key, "base64") : key
  if (bytes instanceof Uint8Array && bytes.length === KEY) return Uint8Array.from(bytes)
  throw keyInvalid(`key "${id}" must have 32 bytes, or be their base64: openssl rand -base64 32`)
}

function keyIdOf(text: string): string | undefined {
  const end = text.startsWith(SEALED) ? text.indexOf(".", SEALED.length) : -1
  const id = end < 0 ? "" : text.slice(SEALED.length, end)
  return ID.test(id) ? id : undefined
}

/** Parts have no line breaks: names are escaped. */
function placeOf(kind: string, owner: string, part: string | number): Buffer {
  return Buffer.from(`${kind}\n${owner}\n${part}`)
}

function keyInvalid(what: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad encryption keys: ${what}.`)
}

function keyMissing(id: string): SuperstepError {
  const text = `The store is encrypted with key "${id}", which is not among the keys that it was opened with. Pass it with the option keys, or in ${KEYS_VARIABLE}.`
  return new SuperstepError("STORE_KEY_MISSING", text, { retryable: false })
}

function keyWrong(id: string, cause?: unknown): SuperstepError {
  const text = `Key "${id}" is not the key that the store was encrypted with. Pass the right one under this id.`
  return new SuperstepError("STORE_KEY_WRONG", text, { cause, retryable: false })
}

export interface EventText {
  readonly type: string
  readonly at: number
  readonly body: string
}

export function toEventText({ type, at, ...more }: NewEvent): EventText {
  return { type, at, body: JSON.stringify(more) }
}

/** `body` is parsed. */
export function fromEventText(type: string, at: number, body: unknown): NewEvent {
  return { ...(body as object), type, at } as NewEvent
}
