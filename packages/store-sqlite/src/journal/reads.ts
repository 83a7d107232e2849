/**
 * Reads journals. Those that are asked for at once, as by a process that recovers many runs, are read with few statements:
 * the drivers take more time for a call than SQLite takes for a row.
 */

import type { JournalRecord } from "@superstep/engine"
import { toText } from "../file/columns.ts"
import type { Transactions } from "../file/transactions.ts"
import type { JournalTable } from "./journals.ts"

type Records = readonly JournalRecord[]
type Found = Map<string, Records>

/** Journals to read at the end of the microtasks that have asked for them. */
interface Gathered {
  readonly names: string[]
  readonly found: Promise<Found>
}

export function journalReader(
  transactions: Transactions,
  journals: JournalTable,
): (runId: string, afterSeq: number, limit?: number) => Promise<Records> {
  let gathered: Gathered | undefined

  function readOne(runId: string, afterSeq: number, limit?: number): Promise<Records> {
    const subject = `The journal of run "${runId}"`
    return transactions.readTogether(subject, () => journals.read(runId, afterSeq, limit))
  }

  /** Without what has to be read by itself; after an error, that is all of it: each read reports its own. */
  async function readMany(names: readonly string[]): Promise<Found> {
    if (names.length < 2) return new Map()
    try {
      return await transactions.readTogether("The journals of runs", () => journals.readShort(names))
    } catch {
      return new Map()
    }
  }

  function gather(): Gathered {
    const names: string[] = []
    const found = Promise.resolve().then(() => {
      gathered = undefined
      return readMany(names)
    })
    return { names, found }
  }

  return async (runId, afterSeq, limit) => {
    if (afterSeq > 0 || limit !== undefined) return readOne(runId, afterSeq, limit)
    const name = toText(runId)
    gathered ??= gather()
    gathered.names.push(name)
    const found = await gathered.found
    const records = found.get(name)
    // Nobody else gets the same objects.
    found.delete(name)
    return records ?? readOne(runId, 0)
  }
}
