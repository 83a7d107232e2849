/**
 * Large values, stored once each however often they are sent, written or snapshotted. The engine decides what is taken out
 * of a body (`toStoredBody`); here each part is a row, found by its hash. A blob is deleted with its last use; a use is a
 * run and a place in it: a record's number, or a snapshot's, negated.
 */
import {
  type BodyPlace,
  fromStoredBody,
  type LargeValue,
  plainCodec,
  type StoredBody,
  type ValueCodec,
} from "@superstep/engine/stores"
import { type JsonBytes, jsonBytes } from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { corrupt, type Subject } from "../file/errors.ts"

/** Reads the bodies of one read; blobs that several of them share are read once. */
export type BodyReader = (
  body: JsonBytes,
  places: string | null,
  place: Omit<BodyPlace, "codec">,
  subject: Subject,
) => unknown

export interface BlobTable {
  /** Keeps the blobs of a body that is written at this place of the run. */
  keep(run: number, place: number, body: StoredBody): void
  /** What was written at this place was deleted. */
  release(run: number, place: number): void
  /** Releases at most `most` uses of a removed run; returns how many it released. */
  releaseSome(run: number, most: number): number
  reader(): BodyReader
}

export function blobTable(database: Database, codec: ValueCodec = plainCodec): BlobTable {
  const find = database.prepare("SELECT id FROM blobs WHERE hash = ?")
  const add = database.prepare("INSERT INTO blobs (hash, body) VALUES (?, ?) RETURNING id")
  const use = database.prepare("INSERT INTO blob_uses (blob, run, place) VALUES (?, ?, ?)")
  const findBody = database.prepare(`SELECT ${jsonBytes("body")} AS body FROM blobs WHERE hash = ?`)
  const dropUses = database.prepare("DELETE FROM blob_uses WHERE run = ? AND place = ? RETURNING blob")
  const dropSomeUses = database.prepare(
    "DELETE FROM blob_uses WHERE rowid IN (SELECT rowid FROM blob_uses WHERE run = ? LIMIT ?) RETURNING blob",
  )
  const dropUnused = database.prepare(
    "DELETE FROM blobs WHERE id = ? AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob = blobs.id)",
  )

  function idOf({ hash, text }: LargeValue): number {
    const known = find.all(hash)
    const [row] = (known.length > 0 ? known : add.all(hash, text)) as [{ id: number }]
    return row.id
  }

  function drop(uses: readonly unknown[]): number {
    for (const { blob } of uses as { blob: number }[]) dropUnused.run(blob)
    return uses.length
  }

  function bodyOf(hash: string): Uint8Array | undefined {
    const [row] = findBody.all(hash) as { body: JsonBytes }[]
    return row && bytesOf(row.body)
  }

  return {
    keep(run, place, { values }) {
      for (const value of values) use.run(idOf(value), run, place)
    },
    release(run, place) {
      drop(dropUses.all(run, place))
    },
    releaseSome: (run, most) => drop(dropSomeUses.all(run, most)),
    reader() {
      const known = new Map<string, unknown>()
      return (body, places, { kind, owner, seq }, subject) =>
        fromStoredBody(
          bytesOf(body),
          places,
          { codec, kind, owner, seq },
          {
            find: bodyOf,
            known,
            damaged: (what, cause) => corrupt(subject, what, cause),
          },
        )
    },
  }
}

function bytesOf(body: JsonBytes): Uint8Array {
  return body instanceof ArrayBuffer ? new Uint8Array(body) : body
}
