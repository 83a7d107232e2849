/** Slots for parts of runs, across processes. */
import { type PoolSlots, type SlotLane, type SlotRequest, type Slots, slotLine } from "@superstep/engine"
import type { Database, Statement } from "./database.ts"
import { parseName, toText, toTextOrNull } from "./names.ts"
import type { Promised } from "./registry.ts"
import { hashOf } from "./run-rows.ts"
import type { Signals } from "./signals.ts"

const TAKE: Statement = {
  name: "take_slot",
  text: "SELECT taken, waiting, retry_in, notified FROM $.take_slot_1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
}
const LEAVE: Statement = { name: "leave_slot", text: "SELECT $.leave_slot_1($1, $2, $3, $4) AS notified" }
const OF_RUN: Statement = {
  text: `SELECT s.node, s.pool_name, s.taken, ARRAY(SELECT e.lane ->> 'name' FROM jsonb_array_elements(s.lanes) AS e(lane)) AS lanes,
      CASE WHEN s.taken THEN 0 ELSE (
        SELECT count(*) FROM $.slots AS o WHERE o.pool = s.pool AND NOT o.taken AND (o.score, o.seq) < (s.score, s.seq)
          AND o.holder IN (SELECT id FROM $.holders)
      ) END AS ahead
    FROM $.slots AS s WHERE s.run = $1 AND s.holder IN (SELECT id FROM $.holders) ORDER BY s.seq`,
}

interface TakenRow {
  readonly taken: readonly string[]
  readonly waiting: readonly string[]
  readonly retry_in: number | null
  readonly notified: readonly string[]
}

interface RunSlotRow {
  readonly node: string
  readonly pool_name: string
  readonly taken: boolean
  readonly lanes: readonly string[]
  readonly ahead: number
}

export type PostgresSlots = Promised<Omit<Slots, "watch">> & Required<Pick<Slots, "watch">>

export function slotsOn(database: Database, signals: Signals): PostgresSlots {
  /** Those whose slots were taken by what somebody else did. */
  function notify(holders: readonly string[], asker?: string): void {
    for (const holder of new Set(holders)) if (holder !== asker) signals.send(addressOf(holder), true)
  }

  async function take(
    holder: string,
    pool: string,
    request?: Pick<SlotRequest, "id" | "lanes" | "score" | "by">,
  ): Promise<PoolSlots> {
    const by = toText(holder)
    const asked = request === undefined ? Array(7).fill(null) : askedFor(pool, request)
    const values = [by, hashOf(pool), ...asked]
    const [row] = await database.write<TakenRow>(`A slot of "${pool}"`, TAKE, values)
    const { taken = [], waiting = [], retry_in = null, notified = [] } = row ?? {}
    notify(notified, by)
    const ids = (list: readonly string[]) => new Set(list.map((id) => parseName(id)))
    const state = { taken: ids(taken), waiting: ids(waiting) }
    return retry_in === null ? state : { ...state, retryIn: retry_in }
  }

  return {
    take: (request) => take(request.holder, request.pool, request),
    check: ({ holder, pool }) => take(holder, pool),
    async leave({ id, pool, costs = [], closeFor = 0 }) {
      const used = JSON.stringify(costs.map((cost) => cost ?? null))
      const values = [hashOf(pool), toText(id), used, closeFor]
      const [row] = await database.write<{ notified: readonly string[] }>(
        `A slot of "${pool}"`,
        LEAVE,
        values,
      )
      notify(row?.notified ?? [])
    },
    async ofRun(runId) {
      const rows = await database.read<RunSlotRow>(`The slots of run "${runId}"`, OF_RUN, [hashOf(runId)])
      return rows.map(({ node, pool_name, taken, lanes, ahead }) => ({
        node: parseName(node),
        pool: parseName(pool_name),
        lanes: lanes.map((name) => parseName(name)),
        taken,
        ahead,
      }))
    },
    watch: (holder, onTaken) => ({ close: signals.listen(addressOf(toText(holder)), onTaken) }),
  }
}

function askedFor(
  pool: string,
  { id, lanes, score, by }: Pick<SlotRequest, "id" | "lanes" | "score" | "by">,
) {
  return [
    toText(id),
    toText(pool),
    hashOf(slotLine(lanes)),
    JSON.stringify(lanes.map(toLane)),
    score,
    by === undefined ? null : hashOf(by.runId),
    toTextOrNull(by?.node),
  ]
}

function toLane({ name, max, rate, cost }: SlotLane) {
  return { name: toText(name), max, cost, ...rate }
}

function addressOf(holder: string): string {
  return `slots ${holder}`
}
