/**
 * Links that answer one question without a login. A link is `<id>.<expiry>.<signature>`; its record says which question it
 * answers, for whom and with what.
 *
 * 1. The signature is checked before anything is read. Its key is in the records of the store: a link works on every server of
 *    the store, also after a restart, and with encryption at rest the key is sealed.
 * 2. A link answers at most once, and a question is answered at most once, however many requests arrive at the same time: the
 *    run decides.
 * 3. Reading a link changes nothing, so that programs that look at links in messages answer nothing.
 */
import { createHmac, randomBytes } from "node:crypto"
import {
  type Json,
  type RequestId,
  type Runtime,
  type StoredRequest,
  SuperstepError,
} from "@superstep/engine"
import { z } from "zod"
import { Documents, type Identified } from "../documents.ts"
import { isSame } from "../hooks/verify.ts"

const linkSchema = z.object({
  run: z.string(),
  request: z.string(),
  expiresAt: z.number(),
  /** Who answers, for the journal. */
  by: z.string().optional(),
  /** The answers that it offers; absent: all that the question allows. */
  values: z.array(z.json()).optional(),
  createdAt: z.number(),
  createdBy: z.string(),
  usedAt: z.number().optional(),
  revokedAt: z.number().optional(),
})

export type Link = Identified<z.infer<typeof linkSchema>>
export type LinkOptions = Pick<Link, "run" | "request" | "expiresAt" | "by" | "values" | "createdBy">

const SECRETS = "secret"
const SECRET_ID = "links"
const secretSchema = z.object({ key: z.string() })
const TOKEN = /^([0-9a-f]{16})\.([0-9a-z]{1,12})\.([\w-]{43})$/
/** Milliseconds that a link is listed after it expired. */
const KEPT = 30 * 86_400_000
const PRUNE_EVERY = 3_600_000
const OUTCOMES = ["open", "delivering", "answered", "expired", "withdrawn"] as const

/** What a link leads to. */
export type Found =
  | { readonly state: "open"; readonly link: Link; readonly request: StoredRequest }
  | { readonly state: "invalid" | "expired" | "used" | "closed" }

export class Links {
  readonly documents: Documents<typeof linkSchema>
  readonly #runtime: Runtime
  #key: string | undefined
  #prunedAt = 0

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.documents = new Documents(runtime.store, "link", linkSchema)
  }

  /** Forgets links that expired long ago. */
  async #prune(now: number): Promise<void> {
    if (now - this.#prunedAt < PRUNE_EVERY) return
    this.#prunedAt = now
    const { found } = await this.documents.page(({ expiresAt }) => expiresAt < now - KEPT)
    for (const { id } of found) await this.documents.remove(id)
  }

  async create(options: LinkOptions): Promise<{ readonly link: Link; readonly token: string }> {
    const now = Date.now()
    await this.#prune(now)
    const link = await this.documents.create({ ...options, createdAt: now })
    return { link, token: await this.#tokenOf(link.id, link.expiresAt.toString(36)) }
  }

  async revoke(id: string): Promise<void> {
    await this.documents.change(id, (link) => ({ ...link, revokedAt: link.revokedAt ?? Date.now() }))
  }

  async find(token: string): Promise<Found> {
    const [, id, expiry] = TOKEN.exec(token) ?? []
    const expected = id && expiry && (await this.#tokenOf(id, expiry))
    const link = expected && isSame(token, expected) ? await this.documents.find(id as string) : undefined
    if (link === undefined || link.revokedAt !== undefined) return { state: "invalid" }
    if (link.usedAt !== undefined) return { state: "used" }
    if (link.expiresAt <= Date.now()) return { state: "expired" }
    const request = await this.requestOf(link.run, link.request)
    if (request?.outcome !== "open") return { state: "closed" }
    return { state: "open", link, request }
  }

  async requestOf(run: string, id: string): Promise<StoredRequest | undefined> {
    const requests = await this.#runtime.requests({ runId: run, outcome: OUTCOMES })
    return requests.find((one) => one.id === id)
  }

  /** Throws as `runtime.respond` does. */
  async answer({ id, run, request, by }: Link, value: Json): Promise<void> {
    await this.#runtime.respond(run, request as RequestId, value, { by: by ?? `link:${id}` })
    await this.documents.change(id, (link) => ({ ...link, usedAt: link.usedAt ?? Date.now() }))
  }

  async #tokenOf(id: string, expiry: string): Promise<string> {
    this.#key ??= await this.#secret()
    const key = Buffer.from(this.#key, "base64")
    return `${id}.${expiry}.${createHmac("sha256", key).update(`link:${id}.${expiry}`).digest("base64url")}`
  }

  /** The first server of a store creates it. */
  async #secret(): Promise<string> {
    const { records } = this.#runtime.store
    for (;;) {
      const record = await records.get(SECRETS, SECRET_ID)
      if (record !== undefined) return secretSchema.parse(record.value).key
      await records.put(SECRETS, SECRET_ID, { key: randomBytes(32).toString("base64") }, null)
    }
  }
}

export function linkUnknown(id: string): SuperstepError {
  return new SuperstepError("LINK_UNKNOWN", `There is no link "${id}".`)
}
