/** Documents of the server in the records of a store: validated when they are read, written by compare and swap. */
import { randomBytes } from "node:crypto"
import type { Json, Store } from "@superstep/engine"
import type { z } from "zod"

export type Identified<T> = T & { readonly id: string }

/** Records per query. */
const PAGE = 200

export class Documents<Schema extends z.ZodType<object>> {
  readonly #store: Pick<Store, "records">
  readonly #kind: string
  readonly #schema: Schema

  constructor(store: Pick<Store, "records">, kind: string, schema: Schema) {
    this.#store = store
    this.#kind = kind
    this.#schema = schema
  }

  /** Under a random id. */
  async create(value: z.output<Schema>): Promise<Identified<z.output<Schema>>> {
    for (;;) {
      const id = randomBytes(8).toString("hex")
      if (await this.#store.records.put(this.#kind, id, toJson(value), null)) return { ...value, id }
    }
  }

  async find(id: string): Promise<Identified<z.output<Schema>> | undefined> {
    const record = await this.#store.records.get(this.#kind, id)
    return record && { ...(this.#schema.parse(record.value) as z.output<Schema>), id }
  }

  /** Undefined if there is none, or `to` leaves it as it is. */
  async change(
    id: string,
    to: (value: z.output<Schema>) => z.output<Schema> | undefined,
  ): Promise<Identified<z.output<Schema>> | undefined> {
    for (;;) {
      const record = await this.#store.records.get(this.#kind, id)
      const changed = record && to(this.#schema.parse(record.value) as z.output<Schema>)
      if (record === undefined || changed === undefined) return undefined
      if (await this.#store.records.put(this.#kind, id, toJson(changed), record.version))
        return { ...changed, id }
    }
  }

  async remove(id: string): Promise<boolean> {
    return await this.#store.records.remove(this.#kind, id)
  }

  /** By id, of those that `isIncluded` chooses. `next` is the cursor of the next page. */
  async page(
    isIncluded: (value: z.output<Schema>) => boolean,
    cursor?: string,
    limit = Number.POSITIVE_INFINITY,
  ): Promise<{
    readonly found: readonly Identified<z.output<Schema>>[]
    readonly next?: string | undefined
  }> {
    const found: Identified<z.output<Schema>>[] = []
    for (let after = cursor; ; ) {
      const page = await this.#store.records.list(this.#kind, { after, limit: PAGE })
      for (const { id, value } of page) {
        const parsed = this.#schema.parse(value) as z.output<Schema>
        if (isIncluded(parsed)) found.push({ ...parsed, id })
      }
      after = page.at(-1)?.id
      if (found.length <= limit && page.length === PAGE) continue
      const shown = found.slice(0, Math.min(limit, found.length))
      return { found: shown, next: found.length > limit ? shown.at(-1)?.id : undefined }
    }
  }
}

function toJson(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
