/** Events about runs, and their consumers. */
import type {
  ClaimedConsumer,
  ConsumerFailure,
  ConsumerProgress,
  StoredConsumer,
  StoredEvent,
  Subscriptions,
} from "@superstep/engine"
import { fromEventText, type ValueCodec } from "@superstep/engine/stores"
import type { Database, Statement } from "./database.ts"
import { parseJson, parseName, parseSealed, toText } from "./names.ts"
import type { Promised } from "./registry.ts"

/** What one statement removes at most. */
const EVENTS_AT_ONCE = 1_000

const ADD: Statement = { text: "SELECT $.add_consumer_2($1, $2)" }
const LIST: Statement = {
  text: `SELECT c.consumer, c.position, c.missed, c.failure, h.id AS holder,
      (SELECT count(*) FROM $.events AS e WHERE e.position > c.position) + (SELECT count(*) FROM $.new_events) AS lag
    FROM $.consumers AS c LEFT JOIN $.holders AS h ON h.id = c.holder ORDER BY c.consumer`,
}
const REMOVE: Statement = { text: "DELETE FROM $.consumers WHERE consumer = $1 RETURNING 1 AS one" }
const CLAIM: Statement = {
  text: `UPDATE $.consumers AS c SET holder = $2, token = c.token + 1
    WHERE c.consumer = $1
      AND (c.holder IS NULL OR c.holder = $2 OR NOT EXISTS (SELECT 1 FROM $.holders AS h WHERE h.id = c.holder))
    RETURNING c.token, c.position, c.failure`,
}
const READ: Statement = { name: "events", text: "SELECT * FROM $.read_events_2($1, $2)" }
// One that is repeated finds the position that it has set.
const ADVANCE: Statement = {
  name: "advance",
  text: `UPDATE $.consumers SET position = $3, failure = $4,
      missed = missed + CASE WHEN position < $3 THEN $5::bigint ELSE 0 END
    WHERE consumer = $1 AND token = $2 RETURNING 1 AS one`,
}
const RELEASE: Statement = { text: "UPDATE $.consumers SET holder = NULL WHERE consumer = $1 AND token = $2" }
const TRIM: Statement = { text: `SELECT $.trim_events_2($1, ${EVENTS_AT_ONCE}) AS is_more` }

interface EventRow {
  readonly position: number
  readonly type: string
  readonly run_id: string
  readonly workflow: string
  readonly at: number
  readonly body: string
}

interface ProgressRow {
  readonly position: number
  readonly failure: string | null
}

interface ConsumerRow extends ProgressRow {
  readonly consumer: string
  readonly missed: number
  readonly lag: number
  readonly holder: string | null
}

export function subscriptionsOn(database: Database): Promised<Subscriptions> {
  const subject = (consumer: string) => `Consumer "${consumer}"`
  return {
    async add(consumer, from) {
      await database.write(subject(consumer), ADD, [toText(consumer), from === "now"])
    },
    async consumers() {
      return (await database.read<ConsumerRow>("The list of consumers", LIST)).map((row) =>
        toStoredConsumer(row, database.codec),
      )
    },
    async remove(consumer) {
      const rows = await database.write(`The removal of consumer "${consumer}"`, REMOVE, [toText(consumer)])
      return rows.length > 0
    },
    async claim(consumer, holder): Promise<ClaimedConsumer | undefined> {
      const values = [toText(consumer), toText(holder)]
      const [row] = await database.write<ProgressRow & { token: number }>(subject(consumer), CLAIM, values)
      return (
        row && { lease: { consumer, holder, token: row.token }, ...toProgress(row, consumer, database.codec) }
      )
    },
    async events(after, limit) {
      return (await database.read<EventRow>("The list of events", READ, [after, limit])).map(toStoredEvent)
    },
    async advance({ consumer, token }, { position, failure }, missed = 0) {
      const text =
        failure === undefined
          ? null
          : database.codec.seal(JSON.stringify(failure), "failure", toText(consumer))
      const values = [toText(consumer), token, position, text, missed]
      return (await database.write(subject(consumer), ADVANCE, values)).length > 0
    },
    async release({ consumer, token }) {
      await database.write(subject(consumer), RELEASE, [toText(consumer), token])
    },
    async trim(before) {
      for (;;) {
        const [row] = await database.write<{ is_more: boolean }>("The removal of events", TRIM, [before])
        if (row?.is_more !== true) return
      }
    },
  }
}

function toStoredEvent({ position, type, run_id, workflow, at, body }: EventRow): StoredEvent {
  const damaged = () => `Event ${position} is damaged`
  return {
    ...fromEventText(type, at, parseJson(body, damaged)),
    position,
    runId: parseName(run_id, damaged),
    workflow: parseName(workflow, damaged),
  }
}

function toStoredConsumer(row: ConsumerRow, codec: ValueCodec): StoredConsumer {
  const consumer = parseName(row.consumer)
  return {
    consumer,
    ...toProgress(row, consumer, codec),
    lag: row.lag,
    missed: row.missed,
    ...(row.holder !== null && { holder: parseName(row.holder) }),
  }
}

function toProgress(
  { position, failure }: ProgressRow,
  consumer: string,
  codec: ValueCodec,
): ConsumerProgress {
  if (failure === null) return { position }
  const damaged = () => `Consumer "${consumer}" is damaged`
  return {
    position,
    failure: parseSealed(codec, failure, damaged, "failure", toText(consumer)) as ConsumerFailure,
  }
}

/**
 * Events about runs, and their consumers.
 *
 * Appends of many processes commit in any order, so that no number which they could give to an event would do as a position: a
 * reader would pass one that is not committed yet. Appends add to `new_events`; a reader moves what is committed to
 * `events`, under a lock, and gives positions with that (E2). Events of one run keep their order: an append adds its events
 * after it has locked the row of its run.
 */
export const SUBSCRIPTION_TABLES = `
CREATE TABLE $.new_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  at float8 NOT NULL,
  body text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE SEQUENCE $.event_positions;
CREATE TABLE $.events (
  position bigint PRIMARY KEY,
  type text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  at float8 NOT NULL,
  body text NOT NULL
);
CREATE INDEX events_at ON $.events (at);
CREATE TABLE $.consumers (
  consumer text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  holder text COLLATE "C",
  missed bigint NOT NULL DEFAULT 0,
  failure text
) WITH (fillfactor = 50);
`

/** Maximum number of events that one reader puts in order; the next continues. */
const ORDERED_AT_ONCE = 10_000

/** Held until the end of the transaction by the process that gives or removes positions. "0x73757073" is "sups". */
const LOCK = `PERFORM pg_advisory_xact_lock((x'73757073'::bigint << 32) + '$.events'::regclass::oid::bigint)`

export const SUBSCRIPTION_FUNCTIONS = `
-- Gives positions to events that are committed: to so many, or to all.
CREATE FUNCTION $.order_events_2(p_limit int) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM $.new_events) THEN RETURN; END IF;
  ${LOCK};
  WITH moved AS (
    DELETE FROM $.new_events WHERE id IN (SELECT id FROM $.new_events ORDER BY id LIMIT p_limit) RETURNING *
  )
  INSERT INTO $.events (position, type, run_id, workflow, at, body)
  SELECT nextval('$.event_positions'), m.type, m.run_id, m.workflow, m.at, m.body
  FROM (SELECT * FROM moved ORDER BY id) AS m;
END
$function$;

CREATE FUNCTION $.read_events_2(p_after bigint, p_limit int) RETURNS SETOF $.events
LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM $.order_events_2(${ORDERED_AT_ONCE});
  RETURN QUERY SELECT * FROM $.events WHERE position > p_after ORDER BY position LIMIT p_limit;
END
$function$;

CREATE FUNCTION $.add_consumer_2(p_consumer text, p_from_now boolean) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM $.order_events_2(NULL);
  ${LOCK};
  INSERT INTO $.consumers (consumer, position)
  SELECT p_consumer, CASE WHEN p_from_now AND is_called THEN last_value ELSE 0 END FROM $.event_positions
  ON CONFLICT DO NOTHING;
END
$function$;

-- Removes some events that every consumer has handled, or that are older; true when there may be more.
CREATE FUNCTION $.trim_events_2(p_before float8, p_limit int) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  gone bigint[];
BEGIN
  PERFORM $.order_events_2(NULL);
  ${LOCK};
  SELECT array_agg(position) INTO gone FROM (
    (SELECT position FROM $.events WHERE position <= (SELECT min(c.position) FROM $.consumers AS c)
      ORDER BY position LIMIT p_limit)
    UNION
    (SELECT position FROM $.events WHERE at < p_before ORDER BY at LIMIT p_limit)
  ) AS removable;
  IF gone IS NULL THEN RETURN false; END IF;
  UPDATE $.consumers AS c SET missed = c.missed + m.count
  FROM (
    SELECT one.consumer, count(*) AS count FROM $.consumers AS one
    JOIN unnest(gone) AS g(position) ON g.position > one.position GROUP BY one.consumer
  ) AS m WHERE m.consumer = c.consumer;
  DELETE FROM $.events WHERE position = ANY (gone);
  RETURN cardinality(gone) >= p_limit;
END
$function$;
`
