/**
 * An index of the names of runs (id, workflow, key), for searches by a part of one. It is asked for what distinguishes the
 * names: for each trigram it reads the numbers of all runs that have it. Searches keep the index, so that runs which
 * nobody searches for cost nothing: those that are newer than the index are looked through one after another, and a search
 * that meets many of them has them indexed afterwards, in short transactions, and the parts of the index joined.
 */
import { EACH_RUN, type JsonBytes, jsonBytes, type RunNumbers, toRunNumbers } from "../file/columns.ts"
import { type Database, preparedOnce } from "../file/driver.ts"
import { shortWrites } from "../file/short-writes.ts"
import type { Transactions } from "../file/transactions.ts"

export interface NameIndex {
  /** The last run that is in it. */
  upTo(): number
  /** Finds the runs that have the text in a name, and a few others; undefined if the text is too short for the index. */
  query(text: string): string | undefined
  /** Begins to add the runs that are not in it, if there are many; resolves when the event loop has turned. */
  catchUp(): Promise<void>
  removeAll(runs: RunNumbers): void
  /** Many runs are about to be deleted: their names are only marked until `mergeSome`. */
  delayMerges(): void
  /** Joins parts of the index, without the names that are marked; false when that is done. */
  mergeSome(): boolean
}

const SUBJECT = "The index of names"
/** Fewer are looked through faster than they are indexed. */
export const FEW_NAMES = 1_000
const NAMES_AT_ONCE = 200
/** Milliseconds after which a transaction adds no more. */
const MAX_ADDING = 4
const TRIGRAM = 3
const PAGES_AT_ONCE = 64
/** FTS5's own: the percentage of deleted names from which a part of the index is rewritten, with every commit. */
const MERGED_FROM = 10
/** Parts of about the same size from which `mergeSome` makes one. FTS5's own is 4, and a search looks into every part. */
const MERGED_PARTS = 2

const NAME = "runs.run_id || char(10) || runs.workflow || char(10) || coalesce(runs.key, '')"
const FIND_SAMPLE = `SELECT ${jsonBytes(NAME)} AS name FROM json_each(?) AS wanted
  CROSS JOIN runs ON runs.id = (SELECT min(id) FROM runs WHERE id >= wanted.value)`

/** Names from all parts of the index: what all of them have does not distinguish runs. */
const SAMPLED = 20

/** The text without trigrams at its ends that all these names have, as a prefix of all ids; all of it if they have each of them. */
export function distinctivePart(text: string, names: readonly string[]): string {
  const characters = [...text]
  const isCommon = (at: number) => {
    const trigram = characters.slice(at, at + TRIGRAM).join("")
    return names.every((name) => name.includes(trigram))
  }
  let first = 0
  let last = characters.length - TRIGRAM
  while (first <= last && isCommon(first)) first++
  if (first > last) return text
  while (isCommon(last)) last--
  return characters.slice(first, last + TRIGRAM).join("")
}

/** A damaged name is no reason not to search. */
const lossyDecoder = new TextDecoder()

/** Held from the start, so that a test framework's fake timers do not stop it. */
const afterTurn = setImmediate

export function nameIndex(database: Database, transactions: Transactions): NameIndex {
  const findEnd = database.prepare("SELECT up_to FROM name_index")
  const countNew = database.prepare(
    "SELECT count(*) AS count FROM (SELECT 1 FROM runs WHERE id > (SELECT up_to FROM name_index) LIMIT ?)",
  )
  const next = "SELECT id FROM runs WHERE id > (SELECT up_to FROM name_index) ORDER BY id LIMIT ?"
  const add = database.prepare(
    `INSERT INTO run_names (rowid, name) SELECT id, ${NAME} FROM runs WHERE id IN (${next})`,
  )
  const moveEnd = database.prepare(
    `UPDATE name_index SET up_to = coalesce((SELECT max(id) FROM (${next})), up_to)`,
  )
  const removeAll = database.prepare(`DELETE FROM run_names WHERE rowid IN ${EACH_RUN}`)
  // The numbers are part of the statements: libsql passes numbers as fractions, which FTS5 refuses.
  const command = (name: string, value: number) =>
    database.prepare(`INSERT INTO run_names (run_names, rank) VALUES ('${name}', ${value})`)
  const delay = command("deletemerge", 0)
  const delayNoLonger = command("deletemerge", MERGED_FROM)
  const mergeEarly = command("usermerge", MERGED_PARTS)
  const merge = command("merge", PAGES_AT_ONCE)
  const findChanges = database.prepare("SELECT total_changes() AS count")
  const { repeat } = shortWrites(transactions)
  const prepare = preparedOnce(database)
  let isBusy = false
  let sample = { upTo: 0, names: [] as readonly string[] }

  function upTo(): number {
    return (findEnd.all() as [{ up_to: number }])[0].up_to
  }

  /** Read again when the index has grown. */
  function sampledNames(): readonly string[] {
    const end = upTo()
    if (sample.upTo !== end) {
      const numbers = Array.from({ length: SAMPLED }, (_, i) => Math.floor((end * i) / SAMPLED))
      const rows = prepare(FIND_SAMPLE).all(toRunNumbers(numbers)) as { name: JsonBytes }[]
      sample = { upTo: end, names: rows.map(({ name }) => lossyDecoder.decode(name)) }
    }
    return sample.names
  }

  function isBehind(): boolean {
    const [found] = countNew.all(FEW_NAMES) as [{ count: number }]
    return found.count >= FEW_NAMES
  }

  function changes(): number {
    return (findChanges.all() as [{ count: number }])[0].count
  }

  /** False when there are no more. */
  function addSome(): boolean {
    const end = performance.now() + MAX_ADDING
    do {
      if (add.run(NAMES_AT_ONCE).changes === 0) return false
      moveEnd.run(NAMES_AT_ONCE)
    } while (performance.now() < end)
    return true
  }

  async function addAll(): Promise<void> {
    if (isBusy) return
    isBusy = true
    try {
      await repeat(SUBJECT, addSome)
      await transactions.write(SUBJECT, () => void mergeEarly.run())
      await repeat(SUBJECT, mergeSome)
    } catch {
      // The store was closed or its file is locked: the next search tries again.
    }
    isBusy = false
  }

  function mergeSome(): boolean {
    // Also if it was another process that delayed them, and died.
    delayNoLonger.run()
    const before = changes()
    merge.run()
    // A command itself counts as one.
    return changes() - before > 1
  }

  return {
    upTo,
    query(text) {
      if ([...text].length < TRIGRAM) return undefined
      return `"${distinctivePart(text, sampledNames()).replaceAll('"', '""')}"`
    },
    async catchUp() {
      const isDue = isBusy || (await transactions.readTogether(SUBJECT, isBehind).catch(() => false))
      if (!isDue) return
      void addAll()
      // Searches that follow each other at once would keep the index from its turn.
      await new Promise((resolve) => afterTurn(resolve))
    },
    removeAll: (runs) => void removeAll.run(runs),
    delayMerges: () => void delay.run(),
    mergeSome,
  }
}
