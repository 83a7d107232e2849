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
