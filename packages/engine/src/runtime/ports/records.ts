/**
 * Small JSON documents beside the runs, such as API keys and webhooks: `store.records`. A store decides nothing about them: it
 * finds them by kind and id, and replaces one if nobody else has meanwhile.
 *
 * Invariants, which every store keeps:
 * D1 A document is written only if its version is still the expected one, however many processes write.
 * D2 A list is in the order of the ids, byte by byte as `toStoredName` writes them, so that it can be continued after any.
 */
import type { Json } from "../../core/index.ts"
import type { MaybePromise } from "./maybe-promise.ts"

export interface StoredRecord {
  readonly kind: string
  /** Unique within its kind. */
  readonly id: string
  readonly value: Json
  /** 1 for a new record; each write adds 1. */
  readonly version: number
}

export interface RecordQuery {
  /** Only ids that begin with it. */
  readonly prefix?: string | undefined
  /** The last id of the page before. */
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

export interface RecordStore {
  get(kind: string, id: string): MaybePromise<StoredRecord | undefined>
  /** By id, in ascending order (D2). */
  list(kind: string, query?: RecordQuery): MaybePromise<readonly StoredRecord[]>
  /** Replaces the version `expected`; null: creates the record. False, and nothing is changed, if there is another, or none (D1). */
  put(kind: string, id: string, value: Json, expected: number | null): MaybePromise<boolean>
  /** False, and nothing is changed, if there is none, or not in the version `expected`. */
  remove(kind: string, id: string, expected?: number): MaybePromise<boolean>
}
