/**
 * The audit log: who did what, when, and with which outcome, for every request of an authenticated principal that may change
 * something. Entries are records whose ids sort the newest first. They have the parameters of the route, never the query, the
 * body or a header; a route may add a reason.
 */
import { randomBytes } from "node:crypto"
import { z } from "@hono/zod-openapi"
import type { Json, Store, StoredRecord } from "@superstep/engine"
import type { MiddlewareHandler } from "hono"
import { matchedRoutes } from "hono/route"
import type { Env, Principal } from "./access.ts"

const KIND = "audit"
const DAY = 86_400_000
const PRUNE_EVERY = 3_600_000
const PAGE = 500
/** Later than every time, so that the difference to it sorts the newest first. */
const LAST = 9_999_999_999_999
const MAX_PARAM = 200

export const auditEntrySchema = z
  .object({
    at: z.number().int(),
    who: z.string(),
    tenant: z.string().optional(),
    method: z.string(),
    route: z.string().openapi({ description: "For example `/v1/runs/:run/cancel`." }),
    params: z.record(z.string(), z.string()),
    status: z.number().int(),
    note: z.string().optional().openapi({ description: "The reason that the request gave." }),
  })
  .openapi("AuditEntry")

export type AuditEntry = z.infer<typeof auditEntrySchema>

export interface AuditOptions {
  /** Days for which entries are kept. Default: 90. */
  readonly days?: number | undefined
}

export class AuditLog {
  readonly #store: Pick<Store, "records">
  readonly #maxAge: number
  readonly #report: (error: unknown) => void
  #prunedAt = 0

  constructor(store: Pick<Store, "records">, { days = 90 }: AuditOptions, report: (error: unknown) => void) {
    this.#store = store
    this.#maxAge = days * DAY
    this.#report = report
  }

  /** Writes an entry when the request has been answered. A write that fails is reported, and changes no response. */
  get middleware(): MiddlewareHandler<Env> {
    return async (c, next) => {
      await next()
      const principal = c.get("principal") as Principal | undefined
      if (principal === undefined || ["GET", "HEAD", "OPTIONS"].includes(c.req.method)) return
      const route = matchedRoutes(c).at(-1)?.path ?? "/*"
      const params = Object.entries(c.req.param() as Record<string, string>).map(([name, value]) => [
        name,
        shown(name, value),
      ])
      const { id: who, tenant } = principal
      const note = c.get("note") as string | undefined
      const entry: AuditEntry = {
        at: Date.now(),
        who,
        ...(tenant !== undefined && { tenant }),
        method: c.req.method,
        route,
        params: Object.fromEntries(params),
        status: c.res.status,
        ...(note !== undefined && { note }),
      }
      await this.#add(entry).catch(this.#report)
    }
  }

  async #add(entry: AuditEntry): Promise<void> {
    const id = `${idAt(entry.at)}-${randomBytes(6).toString("hex")}`
    await this.#store.records.put(KIND, id, entry as Json, null)
    if (entry.at - this.#prunedAt < PRUNE_EVERY) return
    this.#prunedAt = entry.at
    await this.prune(entry.at)
  }

  /** Deletes entries that are too old. */
  async prune(now: number): Promise<void> {
    const after = idAt(now - this.#maxAge)
    for (;;) {
      const old = await this.#store.records.list(KIND, { after, limit: PAGE })
      for (const { id } of old) await this.#store.records.remove(KIND, id)
      if (old.length < PAGE) return
    }
  }

  /** The newest first; a tenant sees its own. `count` of them at most. */
  async page(
    { tenant }: Principal,
    cursor: string | undefined,
    count: number,
  ): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = []
    for (let after = cursor; ; ) {
      const page = await this.#store.records.list(KIND, { after, limit: PAGE })
      found.push(
        ...page.filter(({ value }) => tenant === undefined || (value as AuditEntry).tenant === tenant),
      )
      after = page.at(-1)?.id
      if (found.length >= count || page.length < PAGE) return found.slice(0, count)
    }
  }
}

function idAt(at: number): string {
  return String(Math.max(0, LAST - at)).padStart(13, "0")
}

/** A parameter called `token` is a proof, not a name. */
function shown(name: string, value: string): string {
  return name === "token" ? "…" : value.slice(0, MAX_PARAM)
}
