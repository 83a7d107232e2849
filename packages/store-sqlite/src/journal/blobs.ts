/**
 * Large values, stored once each however often they are sent, written or snapshotted. From a body whose JSON is longer
 * than 64 K UTF-16 units, the smallest parts that are longer than that by themselves are taken out: of an object with a
 * long string and a counter, the string. Each part is a blob, found by the SHA-256 of its JSON; the rest of the body stays
 * in its row. Smaller bodies cost a look at their length.
 *
 * A column beside the body lists where blobs were taken out, so that no value can be mistaken for a blob. A blob that is
 * missing or does not have its hash is STORE_CORRUPT. A blob is deleted with its last use; a use is a run and a place in
 * it: a record's number, or a snapshot's, negated.
 */
import { createHash } from "node:crypto"
import { type JsonBytes, jsonBytes, parseJson } from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { corrupt, type Subject } from "../file/errors.ts"

export const LIMIT = 65_536

type Path = readonly (string | number)[]

interface Blob {
  readonly hash: string
  readonly text: string
}

export interface Body {
  /** The value as JSON, with null where something was taken out. */
  readonly text: string
  /** JSON of `[path, hash]` for each blob; null where there is none. */
  readonly places: string | null
  readonly blobs: readonly Blob[]
  /** Of the whole value, as UTF-8. */
  readonly bytes: number
}

const NONE: readonly Blob[] = []

/** Throws what JSON.stringify throws. */
export function toBody(value: unknown): Body {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  if (text.length <= LIMIT) return { text, places: null, blobs: NONE, bytes }
  const paths: Path[] = []
  measure(value, [], paths)
  if (paths.length === 0) return { text, places: null, blobs: NONE, bytes }
  const blobs = paths
    .map((path) => JSON.stringify(at(value, path)))
    .map((part) => ({ hash: hashOf(part), text: part }))
  const places = JSON.stringify(paths.map((path, i) => [path, blobs[i]?.hash]))
  return { text: JSON.stringify(paths.reduce(without, value)), places, blobs, bytes }
}

/** The length of a value's JSON; adds the paths of the smallest parts above the limit. */
function measure(value: unknown, path: (string | number)[], found: Path[]): number {
  if (typeof value !== "object" || value === null) {
    const length = JSON.stringify(value)?.length ?? 0
    if (length > LIMIT && path.length > 0) found.push([...path])
    return length
  }
  const before = found.length
  let length = 2
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    path.push(key)
    length += measure((value as Record<string | number, unknown>)[key], path, found) + 1
    if (typeof key === "string") length += JSON.stringify(key).length + 1
    path.pop()
  }
  if (length > LIMIT && path.length > 0 && found.length === before) found.push([...path])
  return length
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((part, key) => (part as Record<string | number, unknown> | null)?.[key], value)
}

/** A copy, as far as it has to be one, with null at the path. */
function without(value: unknown, path: Path): unknown {
  const [key, ...rest] = path
  if (key === undefined) return null
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >
  copy[key] = without(copy[key], rest)
  return copy
}

function hashOf(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex")
}

/** Reads bodies; what several of them share is read once. For one read. */
export type BodyReader = (body: JsonBytes, places: string | null, subject: Subject) => unknown

export interface BlobTable {
  /** Keeps the blobs of a body that is written at this place of the run. */
  keep(run: number, place: number, body: Body): void
  /** What was written at this place is gone. */
  release(run: number, place: number): void
  /** Releases at most so many uses of a run that is gone; how many there were. */
  releaseSome(run: number, most: number): number
  reader(): BodyReader
}

export function blobTable(database: Database): BlobTable {
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

  function idOf({ hash, text }: Blob): number {
    const known = find.all(hash)
    const [row] = (known.length > 0 ? known : add.all(hash, text)) as [{ id: number }]
    return row.id
  }

  function drop(uses: readonly unknown[]): number {
    for (const { blob } of uses as { blob: number }[]) dropUnused.run(blob)
    return uses.length
  }

  function blobValue(hash: string, path: Path, subject: Subject): unknown {
    const [row] = findBody.all(hash) as { body: JsonBytes }[]
    const which = `the large value at ${JSON.stringify(path)}`
    if (row === undefined) throw corrupt(subject, `${which} is missing`)
    if (hashOf(new Uint8Array(row.body)) !== hash)
      throw corrupt(subject, `${which} does not match what was written`)
    return parseJson(row.body, subject)
  }

  return {
    keep(run, place, { blobs }) {
      for (const blob of blobs) use.run(idOf(blob), run, place)
    },
    release(run, place) {
      drop(dropUses.all(run, place))
    },
    releaseSome: (run, most) => drop(dropSomeUses.all(run, most)),
    reader() {
      const known = new Map<string, unknown>()
      return (body, places, subject) => {
        const value = parseJson(body, subject)
        if (places === null) return value
        for (const [path, hash] of toPlaces(places, subject)) {
          if (!known.has(hash)) known.set(hash, blobValue(hash, path, subject))
          putBack(value, path, known.get(hash), subject)
        }
        return value
      }
    },
  }
}

function putBack(body: unknown, path: Path, value: unknown, subject: Subject): void {
  const parent = at(body, path.slice(0, -1)) as Record<string | number, unknown> | null | undefined
  const key = path.at(-1) as string | number
  // Null stands there, as a property of its own: so this sets no prototype, whatever the key.
  if (typeof parent !== "object" || parent === null || !Object.hasOwn(parent, key)) {
    throw corrupt(subject, `it has no reference to its large value at ${JSON.stringify(path)}`)
  }
  parent[key] = value
}

function toPlaces(text: string, subject: Subject): readonly (readonly [path: Path, hash: string])[] {
  const isSound = (one: unknown) =>
    Array.isArray(one) && Array.isArray(one[0]) && one[0].length > 0 && typeof one[1] === "string"
  let places: unknown
  try {
    places = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (Array.isArray(places) && places.every(isSound)) return places
  throw corrupt(subject, "it does not record where its large values belong")
}
