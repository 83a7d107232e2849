/**
 * API keys, in the records of the store. A key is `ss_<id>_<secret>`: the id is shown wherever the key is listed, and the
 * secret, 256 random bits, is returned once. The store has its SHA-256, which is enough for a secret that nobody can guess.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { z } from "@hono/zod-openapi"
import { type Json, type Store, type StoredRecord, SuperstepError } from "@superstep/engine"
import { type Principal, ROLES } from "../access.ts"
import { plainMessage } from "../problem.ts"
import { type Auth, bearerOf } from "./authenticate.ts"

export const budgetSchema = z
  .object({
    usd: z.number().positive().optional(),
    tokens: z.number().int().positive().optional(),
    per: z.enum(["day", "total"]).openapi({ description: "A day is one of UTC." }),
  })
  .strict()
  .refine(({ usd, tokens }) => usd !== undefined || tokens !== undefined, "needs usd, tokens or both")
  .openapi("KeyBudget")

export const rateLimitSchema = z
  .object({ requests: z.number().int().min(1).max(1_000_000), seconds: z.number().int().min(1).max(86_400) })
  .strict()
  .openapi("KeyRateLimit")

const runs = z.number().int().min(1).max(1_000_000)

export const quotaSchema = z
  .object({
    runsPerDay: runs.optional().openapi({ description: "Runs that it starts on a day of UTC." }),
    concurrentRuns: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .openapi({ description: "Its runs that are queued or execute at the same time." }),
  })
  .strict()
  .openapi("KeyQuota")

const name = z.string().min(1).max(200)

export const keyOptionsSchema = z
  .object({
    name,
    role: z.enum(ROLES),
    tenant: name.optional().openapi({ description: "It sees only what belongs to this tenant." }),
    workflows: z.array(name).min(1).max(1_000).optional(),
    expiresAt: z.number().int().positive().optional(),
    budget: budgetSchema.optional(),
    rateLimit: rateLimitSchema.optional(),
    quota: quotaSchema.optional(),
  })
  .strict()
  .openapi("KeyOptions")

const storedKeySchema = keyOptionsSchema.extend({
  createdAt: z.number(),
  createdBy: z.string(),
  revokedAt: z.number().optional(),
  /** It starts no runs since then. */
  pausedAt: z.number().optional(),
  /** SHA-256 of the secret, in hexadecimal. */
  hash: z.string(),
  /** The secret before the last rotation, until this time. */
  previous: z.object({ hash: z.string(), until: z.number() }).optional(),
})

export type KeyOptions = z.infer<typeof keyOptionsSchema>
type StoredKey = z.infer<typeof storedKeySchema>

/** A key without what proves its possession. */
export interface ApiKey extends KeyOptions {
  readonly id: string
  /** What the key begins with. */
  readonly prefix: string
  readonly createdAt: number
  readonly createdBy: string
  readonly revokedAt?: number | undefined
  /** It starts no runs since then. */
  readonly pausedAt?: number | undefined
}

/** `secret` is the whole key. It is not stored: show it now. */
export type NewApiKey = ApiKey & { readonly secret: string }

/** The part of a store that keys are in. */
export type KeyStore = Pick<Store, "records">

const KIND = "api-key"
const PREFIX = "ss_"
const KEY = /^ss_([0-9a-f]{16})_([\w-]{43})$/
const SECRET_BYTES = 32
const PAGE = 200

/** Authenticates requests by the keys of the store. A key that is revoked or changed counts from the next request on. */
export function apiKeys(store: KeyStore): Auth {
  return async (request) => {
    const [, id, secret] = KEY.exec(bearerOf(request) ?? "") ?? []
    if (id === undefined || secret === undefined) return undefined
    const stored = (await find(store, id))?.key
    const now = Date.now()
    const hash = hashOf(secret)
    const isKnown = isSame(hash, stored?.hash)
    const { previous } = stored ?? {}
    const wasKnown = isSame(hash, previous?.hash) && (previous?.until ?? 0) > now
    if (stored === undefined || !(isKnown || wasKnown) || !isValid(stored, now)) return undefined
    return principalOfKey(id, stored)
  }
}

/** Throws OPTION_INVALID. `by` is who creates it. */
export async function createKey(store: KeyStore, options: KeyOptions, by: string): Promise<NewApiKey> {
  const parsed = keyOptionsSchema.safeParse(options)
  if (!parsed.success) throw keyInvalid(parsed.error.issues[0])
  const id = randomBytes(8).toString("hex")
  const secret = newSecret()
  const key: StoredKey = { ...parsed.data, createdAt: Date.now(), createdBy: by, hash: hashOf(secret) }
  // Ids are random: one that is taken is an accident that does not happen.
  if (!(await store.records.put(KIND, id, toJson(key), null))) return await createKey(store, options, by)
  return { ...toApiKey(id, key), secret: `${PREFIX}${id}_${secret}` }
}

/** By id. `isIncluded` chooses among them. */
export async function listKeys(
  store: KeyStore,
  { after, limit = 50 }: { readonly after?: string | undefined; readonly limit?: number | undefined } = {},
  isIncluded: (key: ApiKey) => boolean = () => true,
): Promise<readonly ApiKey[]> {
  const keys: ApiKey[] = []
  for (let last = after; ; ) {
    const page = await store.records.list(KIND, { after: last, limit: PAGE })
    keys.push(...page.map(toKey).filter(isIncluded))
    last = page.at(-1)?.id
    if (keys.length >= limit || page.length < PAGE) return keys.slice(0, limit)
  }
}

export async function findKey(store: KeyStore, id: string): Promise<ApiKey | undefined> {
  const found = await find(store, id)
  return found && toApiKey(id, found.key)
}

/** The key no longer works. It stays in the list. Undefined if there is none. */
export function revokeKey(store: KeyStore, id: string): Promise<ApiKey | undefined> {
  return change(store, id, (key) => ({ ...key, revokedAt: key.revokedAt ?? Date.now(), previous: undefined }))
}

export const keyChangeSchema = z
  .object({
    budget: budgetSchema.nullable().optional().openapi({ description: "null: without one." }),
    paused: z.boolean().optional().openapi({ description: "A paused key starts no runs." }),
  })
  .strict()
  .openapi("KeyChange")

/** Changes what the key may spend. Undefined if there is none, or it is revoked. */
export function changeKey(
  store: KeyStore,
  id: string,
  { budget, paused }: z.infer<typeof keyChangeSchema>,
): Promise<ApiKey | undefined> {
  return change(store, id, (key) => {
    if (key.revokedAt !== undefined) return undefined
    const pausedAt =
      paused === false ? undefined : paused === true ? (key.pausedAt ?? Date.now()) : key.pausedAt
    return { ...key, pausedAt, ...(budget !== undefined && { budget: budget ?? undefined }) }
  })
}

/** Replaces the secret. The old one works for `overlap` more milliseconds. Undefined if there is none, or it is revoked. */
export async function rotateKey(store: KeyStore, id: string, overlap = 0): Promise<NewApiKey | undefined> {
  const secret = newSecret()
  const rotated = await change(store, id, (key) => {
    if (key.revokedAt !== undefined) return undefined
    const previous = overlap > 0 ? { hash: key.hash, until: Date.now() + overlap } : undefined
    return { ...key, hash: hashOf(secret), previous }
  })
  return rotated && { ...rotated, secret: `${PREFIX}${id}_${secret}` }
}

async function change(
  store: KeyStore,
  id: string,
  to: (key: StoredKey) => StoredKey | undefined,
): Promise<ApiKey | undefined> {
  for (;;) {
    const found = await find(store, id)
    const changed = found && to(found.key)
    if (found === undefined || changed === undefined) return undefined
    if (await store.records.put(KIND, id, toJson(changed), found.version)) return toApiKey(id, changed)
  }
}

async function find(
  store: KeyStore,
  id: string,
): Promise<{ readonly key: StoredKey; readonly version: number } | undefined> {
  const record = await store.records.get(KIND, id)
  return record && { key: storedKeySchema.parse(record.value), version: record.version }
}

function toKey({ id, value }: StoredRecord): ApiKey {
  return toApiKey(id, storedKeySchema.parse(value))
}

function toApiKey(id: string, { hash: _, previous: __, ...key }: StoredKey): ApiKey {
  return { id, prefix: `${PREFIX}${id}`, ...key }
}

function principalOfKey(id: string, key: StoredKey): Principal {
  const { role, tenant, workflows, budget, rateLimit, quota, pausedAt } = key
  const isPaused = pausedAt !== undefined
  return { id: `key:${id}`, role, tenant, workflows, key: { id, budget, rateLimit, quota, isPaused } }
}

function isValid({ expiresAt, revokedAt }: StoredKey, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url")
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex")
}

/** Compares in constant time, also with nothing. */
function isSame(hash: string, stored = ""): boolean {
  const [one, other] = [hash, stored].map((text) => createHash("sha256").update(text).digest()) as [
    Buffer,
    Buffer,
  ]
  return timingSafeEqual(one, other) && stored !== ""
}

function toJson(key: StoredKey): Json {
  return JSON.parse(JSON.stringify(key)) as Json
}

function keyInvalid(issue: { readonly path: PropertyKey[]; readonly message: string } | undefined) {
  const text = `The key's ${issue?.path.join(".") || "options"}: ${plainMessage(issue?.message ?? "not valid")}.`
  return new SuperstepError("OPTION_INVALID", text)
}
