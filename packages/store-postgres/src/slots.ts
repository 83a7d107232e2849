/** Slots for parts of runs, across processes. */
import {
  MAX_BURSTS,
  type PoolSlots,
  type SlotLane,
  type SlotRequest,
  type Slots,
  slotLine,
} from "@superstep/engine"
import type { Database, Statement } from "./database.ts"
import { parseName, toText, toTextOrNull } from "./names.ts"
import type { Promised } from "./registry.ts"
import { hashOf } from "./runs.ts"
import type { Signals } from "./signals.ts"

const TAKE: Statement = {
  name: "take_slot",
  text: "SELECT taken, waiting, retry_in, notified FROM $.take_slot_10($1, $2, $3, $4, $5, $6, $7, $8, $9)",
}
const LEAVE: Statement = { name: "leave_slot", text: "SELECT $.leave_slot_10($1, $2, $3, $4) AS notified" }
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

// Slots for parts of runs: see `Slots` in the engine for who takes one, and in what order. Every change to the slots of a
// pool locks the row of the pool. Times are the server's. Pools, lines and runs are hashes (`hashOf`): names may be longer than an index
// takes.

export const SLOT_TABLES = `
-- "paid" has, by lane, until when its starts are paid for.
CREATE TABLE $.slot_pools (
  pool uuid PRIMARY KEY,
  paid jsonb NOT NULL DEFAULT '{}',
  closed_until float8
) WITH (fillfactor = 50);
-- "seq" is the order in which they were asked for.
CREATE TABLE $.slots (
  id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  pool uuid NOT NULL,
  pool_name text NOT NULL,
  holder text COLLATE "C" NOT NULL,
  line uuid NOT NULL,
  lanes jsonb NOT NULL,
  score float8 NOT NULL,
  taken boolean NOT NULL DEFAULT false,
  run uuid,
  node text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX slots_waiting ON $.slots (pool, line, score, seq) WHERE NOT taken;
CREATE INDEX slots_taken ON $.slots (pool) WHERE taken;
CREATE INDEX slots_holder ON $.slots (holder, pool);
CREATE INDEX slots_run ON $.slots (run) WHERE run IS NOT NULL;
`

const NEXT = "s.line, s.score, s.seq FROM $.slots AS s WHERE s.pool = p_pool AND NOT s.taken"
/** As `paidAt` does in the engine. */
const PAID = `coalesce(CASE WHEN (owed ->> lane.name)::float8 > moment + ${MAX_BURSTS} * lane.burst * lane.every
  THEN moment + (lane.burst - least(lane.cost, lane.burst)) * lane.every ELSE (owed ->> lane.name)::float8 END, 0)`

export const SLOT_FUNCTIONS = `
CREATE FUNCTION $.lock_pool_1(p_pool uuid) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM 1 FROM $.slot_pools WHERE pool = p_pool FOR NO KEY UPDATE;
  IF FOUND THEN RETURN; END IF;
  INSERT INTO $.slot_pools (pool) VALUES (p_pool) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM $.slot_pools WHERE pool = p_pool FOR NO KEY UPDATE;
END
$function$;

-- Takes what may be taken, after a slot with the lanes "p_left" was left that cost "p_costs". The caller has locked the pool.
CREATE FUNCTION $.admit_slots_10(
  p_pool uuid, p_left jsonb, p_costs jsonb, p_close float8, OUT retry_in float8, OUT notified text[]
) LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $function$
#variable_conflict use_column
DECLARE
  moment float8 := extract(epoch FROM clock_timestamp()) * 1000;
  before $.slot_pools;
  owed jsonb;
  closed float8;
  held jsonb;
  -- Lanes in which somebody waits: those that come later wait too.
  busy text[] := '{}';
  -- The lines that wait; the score is that of the slot that is next in it, null when it is not admitted.
  l_line uuid[];
  l_score float8[];
  l_seq bigint[];
  best int;
  slot $.slots;
  lane record;
  next record;
  admitted_at float8;
  retry_at float8;
  is_refused boolean;
BEGIN
  notified := '{}';
  SELECT * INTO before FROM $.slot_pools AS p WHERE p.pool = p_pool;
  owed := before.paid;
  closed := before.closed_until;
  DELETE FROM $.slots AS s WHERE s.pool = p_pool AND s.holder NOT IN (SELECT id FROM $.holders);

  FOR lane IN
    SELECT l.name, l.every, l.burst, coalesce(l.cost, 1) AS cost, (c.used #>> '{}')::float8 AS used
    FROM ROWS FROM (jsonb_array_elements(p_left), jsonb_array_elements(p_costs)) WITH ORDINALITY AS c(lane, used, place)
    CROSS JOIN LATERAL jsonb_to_record(c.lane) AS l(name text, every float8, burst float8, cost float8)
    WHERE l.every IS NOT NULL AND jsonb_typeof(c.used) = 'number' ORDER BY c.place
  LOOP
    admitted_at := ${PAID};
    IF lane.used > lane.cost THEN admitted_at := greatest(admitted_at, moment); END IF;
    admitted_at := admitted_at + (lane.used - lane.cost) * lane.every;
    owed := owed
      || jsonb_build_object(lane.name, least(admitted_at, moment + ${MAX_BURSTS} * lane.burst * lane.every));
  END LOOP;
  IF p_close > 0 THEN closed := greatest(closed, moment + p_close); END IF;

  -- From line to line: what one has, however much, is passed over.
  WITH RECURSIVE walk AS (
    (SELECT ${NEXT} ORDER BY s.line, s.score, s.seq LIMIT 1)
    UNION ALL
    SELECT n.line, n.score, n.seq FROM walk CROSS JOIN LATERAL (
      SELECT ${NEXT} AND s.line > walk.line ORDER BY s.line, s.score, s.seq LIMIT 1
    ) AS n
  )
  SELECT array_agg(w.line), array_agg(w.score), array_agg(w.seq) INTO l_line, l_score, l_seq FROM walk AS w;
  IF l_line IS NOT NULL AND closed > moment THEN
    retry_at := closed;
  ELSIF l_line IS NOT NULL THEN
    SELECT coalesce(jsonb_object_agg(h.name, h.count), '{}') INTO held FROM (
      SELECT e.lane ->> 'name' AS name, count(*) AS count
      FROM $.slots AS s CROSS JOIN LATERAL jsonb_array_elements(s.lanes) AS e(lane)
      WHERE s.pool = p_pool AND s.taken GROUP BY 1
    ) AS h;
    LOOP
      best := NULL;
      FOR i IN 1 .. cardinality(l_line) LOOP
        CONTINUE WHEN l_score[i] IS NULL;
        IF best IS NULL OR (l_score[i], l_seq[i]) < (l_score[best], l_seq[best]) THEN best := i; END IF;
      END LOOP;
      EXIT WHEN best IS NULL;
      SELECT * INTO slot FROM $.slots AS s
      WHERE s.pool = p_pool AND NOT s.taken AND s.line = l_line[best] AND s.score = l_score[best] AND s.seq = l_seq[best];

      is_refused := false;
      FOR lane IN
        SELECT l.name, l.max, l.every, l.burst, coalesce(l.cost, 1) AS cost, e.place
        FROM jsonb_array_elements(slot.lanes) WITH ORDINALITY AS e(lane, place)
        CROSS JOIN LATERAL
          jsonb_to_record(e.lane) AS l(name text, max float8, every float8, burst float8, cost float8)
        ORDER BY e.place
      LOOP
        is_refused := lane.name = ANY (busy) OR coalesce((held ->> lane.name)::float8 >= lane.max, false);
        IF NOT is_refused AND lane.every IS NOT NULL THEN
          admitted_at := (${PAID}) + (least(lane.cost, lane.burst) - lane.burst) * lane.every;
          is_refused := admitted_at > moment;
          IF is_refused THEN retry_at := least(retry_at, admitted_at); END IF;
        END IF;
        IF is_refused THEN
          -- It keeps its turn in the lanes up to this one.
          busy := busy || ARRAY(
            SELECT e.lane ->> 'name' FROM jsonb_array_elements(slot.lanes) WITH ORDINALITY AS e(lane, place)
            WHERE e.place <= lane.place
          );
          EXIT;
        END IF;
      END LOOP;
      IF is_refused THEN
        -- Those behind it in its line wait for the same lanes.
        l_score[best] := NULL;
        CONTINUE;
      END IF;

      UPDATE $.slots SET taken = true WHERE slots.id = slot.id;
      notified := notified || slot.holder;
      FOR lane IN
        SELECT l.name, l.every, l.burst, coalesce(l.cost, 1) AS cost
        FROM jsonb_array_elements(slot.lanes) AS e(lane)
        CROSS JOIN LATERAL jsonb_to_record(e.lane) AS l(name text, every float8, burst float8, cost float8)
      LOOP
        held := held || jsonb_build_object(lane.name, coalesce((held ->> lane.name)::float8, 0) + 1);
        CONTINUE WHEN lane.every IS NULL;
        admitted_at := greatest(${PAID}, moment) + lane.cost * lane.every;
        owed := owed || jsonb_build_object(lane.name, least(admitted_at, moment + lane.burst * lane.every));
      END LOOP;
      SELECT ${NEXT} AND s.line = l_line[best] AND (s.score, s.seq) > (l_score[best], l_seq[best])
      ORDER BY s.score, s.seq LIMIT 1 INTO next;
      l_score[best] := next.score;
      l_seq[best] := next.seq;
    END LOOP;
  END IF;

  SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') INTO owed
  FROM jsonb_each(owed) AS e WHERE (e.value #>> '{}')::float8 > moment;
  IF closed <= moment THEN closed := NULL; END IF;
  IF (owed, closed) IS DISTINCT FROM (before.paid, before.closed_until) THEN
    UPDATE $.slot_pools SET paid = owed, closed_until = closed WHERE slot_pools.pool = p_pool;
  END IF;
  retry_in := retry_at - moment;
END
$function$;

-- Asks for a slot; without an id, for none. The holder's slots in the pool, and the holders of those that were taken now.
CREATE FUNCTION $.take_slot_10(
  p_holder text, p_pool uuid, p_id text, p_pool_name text, p_line uuid, p_lanes jsonb, p_score float8, p_run uuid, p_node text
) RETURNS TABLE (taken text[], waiting text[], retry_in float8, notified text[])
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  admitted record;
BEGIN
  PERFORM $.lock_pool_1(p_pool);
  IF p_id IS NOT NULL THEN
    INSERT INTO $.slots (id, pool, pool_name, holder, line, lanes, score, run, node)
    VALUES (p_id, p_pool, p_pool_name, p_holder, p_line, p_lanes, p_score, p_run, p_node) ON CONFLICT DO NOTHING;
  END IF;
  SELECT * INTO admitted FROM $.admit_slots_10(p_pool, '[]', '[]', 0);
  RETURN QUERY
  SELECT coalesce(array_agg(s.id) FILTER (WHERE s.taken), '{}'), coalesce(array_agg(s.id) FILTER (WHERE NOT s.taken), '{}'),
    admitted.retry_in, admitted.notified
  FROM $.slots AS s WHERE s.holder = p_holder AND s.pool = p_pool;
END
$function$;

CREATE FUNCTION $.leave_slot_10(p_pool uuid, p_id text, p_costs jsonb, p_close float8) RETURNS text[]
LANGUAGE plpgsql AS $function$
DECLARE
  slot $.slots;
BEGIN
  PERFORM $.lock_pool_1(p_pool);
  DELETE FROM $.slots WHERE id = p_id RETURNING * INTO slot;
  RETURN (
    SELECT a.notified FROM $.admit_slots_10(p_pool, CASE WHEN slot.taken THEN slot.lanes ELSE '[]' END, p_costs, p_close) AS a
  );
END
$function$;
`
