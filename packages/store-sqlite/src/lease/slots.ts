/** Slots for parts of runs: see `Slots` in the engine for who takes one, and in what order. */
import {
  type PoolSlots,
  type PoolState,
  SlotAdmission,
  type SlotEnd,
  type SlotLane,
  type SlotLine,
  type SlotRequest,
  type Slots,
  type StoredSlot,
  slotLine,
  takeInOrder,
  type WaitingSlot,
} from "@superstep/engine"
import {
  decodeName,
  decodeText,
  type JsonBytes,
  jsonBytes,
  parseJson,
  toText,
  toTextOrNull,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"

export interface SlotTable {
  take(request: SlotRequest): PoolSlots
  /** Undefined when some that wait are to be taken, which is a write. */
  look(query: SlotQuery): PoolSlots | undefined
  check(query: SlotQuery): PoolSlots
  leave(end: SlotEnd): void
  ofRun(runId: string): readonly StoredSlot[]
}

type SlotQuery = Parameters<Slots["check"]>[0]

interface SlotRow {
  readonly seq: number
  readonly id: JsonBytes
  readonly holder: JsonBytes
  readonly lanes: JsonBytes
  readonly score: number
}

interface Line extends SlotLine {
  readonly name: string
}

/** What is to be written. */
interface Plan {
  readonly taken: readonly number[]
  readonly state: PoolState
  readonly retryIn: number | undefined
}

const IS_KNOWN = "holder IN (SELECT id FROM holders)"
const COLUMNS = `seq, ${jsonBytes("id")} AS id, ${jsonBytes("holder")} AS holder, ${jsonBytes("lanes")} AS lanes,
  CAST(score AS REAL) AS score`

const subject = () => "A slot is damaged"

export function slotTable(database: Database): SlotTable {
  const add = database.prepare(
    `INSERT OR IGNORE INTO slots (id, pool, holder, line, lanes, score, run_id, node) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const dropGone = database.prepare(`DELETE FROM slots WHERE pool = ? AND NOT ${IS_KNOWN}`)
  const drop = database.prepare("DELETE FROM slots WHERE id = ?")
  const find = database.prepare(
    `SELECT ${jsonBytes("lanes")} AS lanes FROM slots WHERE id = ? AND taken = 1 AND ${IS_KNOWN}`,
  )
  const findHeld = database.prepare(
    `SELECT ${jsonBytes("min(lanes)")} AS lanes, count(*) AS count FROM slots
     WHERE pool = ? AND taken = 1 AND ${IS_KNOWN} GROUP BY line`,
  )
  // From line to line: what one has, however much, is passed over.
  const findLines = database.prepare(
    `WITH RECURSIVE lines (name) AS (
       SELECT min(line) FROM slots WHERE pool = ?1 AND taken = 0
       UNION ALL
       SELECT (SELECT min(line) FROM slots WHERE pool = ?1 AND taken = 0 AND line > lines.name) FROM lines
       WHERE lines.name IS NOT NULL
     )
     SELECT ${jsonBytes("name")} AS name FROM lines WHERE name IS NOT NULL`,
  )
  const findNext = database.prepare(
    `SELECT ${COLUMNS} FROM slots WHERE pool = ?1 AND line = ?2 AND taken = 0 AND (score, seq) > (?3, ?4) AND ${IS_KNOWN}
     ORDER BY score, seq LIMIT 1`,
  )
  const take = database.prepare("UPDATE slots SET taken = 1 WHERE seq = ?")
  const findPool = database.prepare(`SELECT ${jsonBytes("body")} AS body FROM slot_pools WHERE pool = ?`)
  const setPool = database.prepare("INSERT OR REPLACE INTO slot_pools (pool, body) VALUES (?, ?)")
  const dropPool = database.prepare("DELETE FROM slot_pools WHERE pool = ?")
  const findOwn = database.prepare(
    `SELECT ${jsonBytes("id")} AS id, taken FROM slots WHERE holder = ? AND pool = ? AND ${IS_KNOWN}`,
  )
  const findOfRun = database.prepare(
    `SELECT ${jsonBytes("node")} AS node, ${jsonBytes("pool")} AS pool, ${jsonBytes("lanes")} AS lanes, taken,
       CASE taken WHEN 1 THEN 0 ELSE (
         SELECT count(*) FROM slots AS other WHERE other.pool = slots.pool AND other.taken = 0
           AND (other.score, other.seq) < (slots.score, slots.seq) AND other.${IS_KNOWN}
       ) END AS ahead
     FROM slots WHERE run_id = ? AND ${IS_KNOWN} ORDER BY seq`,
  )

  function stateOf(pool: string): PoolState {
    const [row] = findPool.all(toText(pool)) as { body: JsonBytes }[]
    if (row === undefined) return { paid: new Map() }
    const { paid, closed } = parseJson(row.body, () => `Slot pool "${pool}" is damaged`) as StoredPool
    return { paid: new Map(paid), ...(closed && { closed }) }
  }

  function nextOf(pool: string, line: string, after?: WaitingSlot): WaitingSlot | undefined {
    const { score = -Number.MAX_VALUE, seq = 0 } = after ?? {}
    const [row] = findNext.all(toText(pool), line, score, seq) as SlotRow[]
    return (
      row && {
        seq: row.seq,
        score: row.score,
        id: decodeName(row.id, subject),
        holder: decodeName(row.holder, subject),
        lanes: toLanes(row.lanes),
      }
    )
  }

  function plan(pool: string, admission: SlotAdmission): Plan {
    for (const { lanes, count } of findHeld.all(toText(pool)) as { lanes: JsonBytes; count: number }[])
      admission.hold(toLanes(lanes), count)
    const lines = (findLines.all(toText(pool)) as { name: JsonBytes }[]).map((row): Line => {
      const name = decodeText(row.name, subject)
      return { name, head: nextOf(pool, name) }
    })
    const taken: number[] = []
    takeInOrder(lines, admission, (line, slot) => {
      taken.push(slot.seq)
      line.head = nextOf(pool, line.name, slot)
    })
    return { taken, state: admission.state, retryIn: admission.retryIn }
  }

  /** Takes what may be taken. Milliseconds until there may be more. */
  function admit(pool: string, admission: SlotAdmission): number | undefined {
    const { taken, state, retryIn } = plan(pool, admission)
    for (const seq of taken) take.run(seq)
    const { paid, closed } = state
    if (paid.size === 0 && closed === undefined) dropPool.run(toText(pool))
    else setPool.run(toText(pool), JSON.stringify({ paid: [...paid], closed } satisfies StoredPool))
    return retryIn
  }

  function own(holder: string, pool: string, retryIn: number | undefined): PoolSlots {
    const taken = new Set<string>()
    const waiting = new Set<string>()
    for (const row of findOwn.all(toText(holder), toText(pool)) as { id: JsonBytes; taken: number }[])
      (row.taken === 1 ? taken : waiting).add(decodeName(row.id, subject))
    return retryIn === undefined ? { taken, waiting } : { taken, waiting, retryIn }
  }

  function check({ holder, pool, now }: SlotQuery): PoolSlots {
    dropGone.run(toText(pool))
    return own(holder, pool, admit(pool, new SlotAdmission(now(), stateOf(pool))))
  }

  return {
    take({ id, holder, pool, lanes, score, now, by }) {
      const [run, node] = [toTextOrNull(by?.runId), toTextOrNull(by?.node)]
      const line = slotLine(lanes)
      add.run(toText(id), toText(pool), toText(holder), line, JSON.stringify(lanes), score, run, node)
      return check({ holder, pool, now })
    },
    look({ holder, pool, now }) {
      const { taken, retryIn } = plan(pool, new SlotAdmission(now(), stateOf(pool)))
      return taken.length > 0 ? undefined : own(holder, pool, retryIn)
    },
    check,
    leave(end) {
      const { id, pool, now } = end
      const [row] = find.all(toText(id)) as { lanes: JsonBytes }[]
      const admission = new SlotAdmission(now(), stateOf(pool))
      admission.leave(row === undefined ? [] : toLanes(row.lanes), end)
      drop.run(toText(id))
      dropGone.run(toText(pool))
      admit(pool, admission)
    },
    ofRun: (runId) =>
      (findOfRun.all(toText(runId)) as RunSlotRow[]).map(({ node, pool, lanes, taken, ahead }) => ({
        node: decodeName(node, subject),
        pool: decodeName(pool, subject),
        lanes: toLanes(lanes).map(({ name }) => name),
        taken: taken === 1,
        ahead,
      })),
  }
}

interface StoredPool {
  readonly paid: readonly (readonly [string, number])[]
  readonly closed?: PoolState["closed"]
}

interface RunSlotRow {
  readonly node: JsonBytes
  readonly pool: JsonBytes
  readonly lanes: JsonBytes
  readonly taken: number
  readonly ahead: number
}

function toLanes(bytes: JsonBytes): readonly SlotLane[] {
  return parseJson(bytes, () => "A slot is damaged at its lanes") as readonly SlotLane[]
}
