/** State that persists from run to run, as numbered writes: it can be read as it was after each of them. */
import type { Json, ThreadWrite } from "@superstep/engine"
import { foldThread } from "@superstep/engine/stores"
import type { Database, Statement } from "./database.ts"
import { corrupt } from "./errors.ts"
import { parseName, parseSealed, toText } from "./names.ts"

// One statement, so that the end and the writes are of the same moment.
const FIND: Statement = {
  text: `
    SELECT t.version AS last, w.version, w.key, w.kind, w.value
    FROM $.threads AS t LEFT JOIN $.thread_writes AS w ON w.thread = t.id AND w.version <= $2
    WHERE t.thread = $1 ORDER BY w.version`,
}
const REMOVE: Statement = {
  text: `
    WITH gone AS (DELETE FROM $.threads WHERE thread = $1 RETURNING id)
    DELETE FROM $.thread_writes USING gone WHERE thread_writes.thread = gone.id`,
}

interface WriteRow {
  readonly last: number
  readonly version: number | null
  readonly key: string
  readonly kind: ThreadWrite["kind"]
  readonly value: string
}

export interface ThreadState {
  readonly version: number
  readonly state: { readonly [key: string]: Json }
}

/** More writes than any thread has. */
const ALL = 2_147_483_647

export async function threadState(database: Database, id: string, version = ALL): Promise<ThreadState> {
  const rows = await database.read<WriteRow>(`Thread "${id}"`, FIND, [toText(id), Math.min(version, ALL)])
  const { codec } = database
  const damaged = (at: number) => () => `Thread "${id}" is damaged at ${at}`
  const writes = rows.flatMap(({ version: at, key, kind, value }) =>
    at === null
      ? []
      : [
          {
            version: at,
            key,
            kind,
            value: () => parseSealed(codec, value, damaged(at), "thread", key) as Json,
          },
        ],
  )
  const end = Math.min(version, rows[0]?.last ?? 0)
  const { state, next } = foldThread(writes)
  if (next !== end + 1) throw corrupt(damaged(next), "the write is missing")
  const named = [...state].map(([key, value]) => [parseName(key, damaged(end)), value])
  return { version: end, state: Object.fromEntries(named) }
}

export async function removeThread(database: Database, id: string): Promise<void> {
  await database.write(`The removal of thread "${id}"`, REMOVE, [toText(id)])
}
