import { BEGUN, STATE_COLUMNS } from "./tables.ts"

/**
 * The function that writes all appends of one turn of the event loop, to any number of runs, in one statement: one round
 * trip, one commit, and no process can be stopped while it holds a lock.
 *
 * Arguments that begin with "i_" have one element for each append ("item", from 1), those with "r_" one for each record,
 * those with "b_" one for each large value; "changes" has what changes beside the journal, by kind: as jsonb, which is parsed
 * once, and has no character that jsonb refuses, because names and bodies are escaped text in it. At most one append of a
 * call is to the same run.
 *
 * A refused append changes nothing, and is returned with the reason and the conflicting values. Every check precedes the
 * first change of an item, with one exception: a run is inserted to find out whether it can be, and deleted again if it
 * may not begin. Appends come in the order of their runs' ids, as other functions lock rows.
 */

/**
 * So few runs are changed one by one: a statement about one row is planned once in a session, one about a list each time,
 * which takes longer than executing it.
 */
const FEW = 4

const ENDED = "('completed', 'failed', 'cancelled', 'limit')"

/** What every append changes in the row of a run; `i` is the append. */
const MOVED = `updated_at = coalesce(i.at, live.updated_at),
      takeovers = CASE WHEN i.intent THEN live.takeovers ELSE 0 END,
      blamed = live.blamed AND i.intent,
      trials = CASE WHEN i.intent THEN live.trials ELSE 0 END,
      died_with = CASE WHEN i.intent THEN live.died_with END`

const PLAIN_COLUMNS = {
  name: "text",
  token: "bigint",
  head: "int",
  bytes: "bigint",
  at: "float8",
  intent: "boolean",
  events: "bigint",
  frame: "text",
  body: "text",
}

/**
 * Appends of one record each, with nothing else to change. `value` makes a column of a parameter. Arrays are unnested
 * where rows are selected, which reads them as they are: in FROM, each of them is copied first.
 */
export function plainAppend(value: (parameter: string, type: string) => string): string {
  const columns = Object.entries(PLAIN_COLUMNS).map(
    ([name, type], i) => `${value(`$${i + 1}`, type)} AS ${name}`,
  )
  return `
    WITH moved AS (
      UPDATE $.live SET head = live.head + 1, bytes = live.bytes + i.bytes, ${MOVED}
      FROM (SELECT ${columns.join(", ")}) AS i
      WHERE live.run_id = i.name AND live.token = i.token AND live.head = i.head
      RETURNING i.name, live.run, live.head, i.events, i.frame, i.body
    ), added AS (
      INSERT INTO $.journal (run, seq, events, frame, body) SELECT run, head, events, frame, body FROM moved
    )`
}

/** Rows are found by an index, also where the plan was made for a table that was almost empty. */
const BY_INDEX = "LANGUAGE plpgsql SET enable_seqscan = off SET jit = off"

/** The state of a run that ends, which is the row `g`. */
const ended = (executing: string) =>
  STATE_COLUMNS.replace(/\w+/g, (name) =>
    name === "executing" ? `coalesce(${executing}, g.executing)` : `g.${name}`,
  )

const types = Object.values(PLAIN_COLUMNS).map((type) => `${type}[]`)

export const APPEND_FUNCTION = `
-- Returns the runs of the appends that were made, unless all were.
CREATE FUNCTION $.append_plain_9(${types.join(", ")}) RETURNS text[]
${BY_INDEX} AS $function$
DECLARE
  made text[];
BEGIN
  ${plainAppend((parameter) => `unnest(${parameter})`)}
  SELECT CASE WHEN count(*) < cardinality($1) THEN coalesce(array_agg(moved.name), '{}') END INTO made FROM moved;
  RETURN made;
END
$function$;

CREATE FUNCTION $.append_2(
  i_run text[], i_token bigint[], i_head int[], i_count int[], i_bytes bigint[], i_blob_bytes bigint[],
  i_at float8[], i_intent boolean[],
  r_item int[], r_seq int[], r_events bigint[], r_frame text[], r_body text[], r_places text[],
  b_item int[], b_place int[], b_hash text[], b_body text[],
  changes jsonb, is_revival boolean
) RETURNS TABLE (item int, reason text, other text, thread text, seq int, token bigint, holder text)
${BY_INDEX} AS $function$
#variable_conflict use_column
DECLARE
  created jsonb := changes->'created';
  -- The row of each item's run; 0 where the item is refused.
  ids bigint[] := array_fill(0::bigint, ARRAY[cardinality(i_run)]);
  done_items int[];
  done_runs bigint[];
  one bigint;
  made bigint[];
  made_items int[];
  refused bigint[];
  -- Of a revival, which has one item: the run is in flight again.
  continues boolean := changes->'rows'->0->>'status' IS NOT NULL;
  k int;
BEGIN
  IF created IS NOT NULL THEN
    -- Keeps graphs from being removed until this run names its own.
    LOCK TABLE $.graphs IN ROW EXCLUSIVE MODE;
    PERFORM 1 FROM $.runs AS past
      WHERE past.run_id IN (SELECT c->>'fork_of' FROM jsonb_array_elements(created) AS c)
      ORDER BY past.id FOR KEY SHARE;
    WITH c AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(created) AS c(
        item int, run text, workflow text, graph text, key text, thread text, labels text, fork_of text, fork_seq int,
        created_at float8, holder text, token bigint,
        queued boolean, flow text, queue text, line uuid, tenant uuid, lanes uuid[], limits text[], score float8,
        flow_group text, expires_at float8)
    ), added AS (
      INSERT INTO $.runs (run_id, workflow, graph, key, thread, labels, fork_run, fork_seq, created_at,
        flow, queue, line, tenant, lanes, limits, score)
      SELECT c.run, c.workflow, c.graph, c.key, c.thread, c.labels, past.id, i_head[c.item], c.created_at,
        c.flow, c.queue, c.line, c.tenant, c.lanes, c.limits, c.score
      FROM c LEFT JOIN $.runs AS past ON past.run_id = c.fork_of
      LEFT JOIN $.live ON live.run = past.id LEFT JOIN $.ended ON ended.run = past.id
      WHERE i_head[c.item] = coalesce(c.fork_seq, 0) AND i_head[c.item] <= coalesce(live.head, ended.head, 0)
      -- Sorted by what may conflict: two processes that insert the same keys cannot deadlock.
      ORDER BY c.key, c.run
      ON CONFLICT DO NOTHING
      RETURNING id, run_id, workflow, thread, fork_seq, created_at
    ), entered AS (
      -- A thread has one run in flight, and a group one that is queued.
      INSERT INTO $.live (run, run_id, workflow, thread, status, head, token, holder, updated_at, rested_at, executing,
        line, lanes, score, flow_group, expires_at)
      SELECT a.id, a.run_id, a.workflow, a.thread, CASE WHEN c.queued THEN 'queued' ELSE 'running' END, a.fork_seq, c.token,
        c.holder, a.created_at, a.created_at, c.queued IS NULL,
        c.line, c.lanes, CASE WHEN c.queued THEN c.score ELSE c.score - ${BEGUN} END, c.flow_group, c.expires_at
      FROM added AS a JOIN c ON c.run = a.run_id ORDER BY a.thread, c.flow_group
      ON CONFLICT DO NOTHING
      RETURNING run
    )
    SELECT array_agg(a.id) FILTER (WHERE e.run IS NOT NULL), array_agg(c.item) FILTER (WHERE e.run IS NOT NULL),
      array_agg(a.id) FILTER (WHERE e.run IS NULL)
    INTO made, made_items, refused
    FROM added AS a JOIN c ON c.run = a.run_id LEFT JOIN entered AS e ON e.run = a.id;
    IF refused IS NOT NULL THEN DELETE FROM $.runs WHERE id = ANY (refused); END IF;

    -- Once the run has its thread, nobody else writes to it.
    SELECT array_agg(made.id) INTO refused
    FROM unnest(made, made_items) AS made(id, item)
    JOIN jsonb_to_recordset(created) AS c(item int, thread text, version int) ON c.item = made.item
    WHERE c.version IS NOT NULL
      AND c.version <> coalesce((SELECT version FROM $.threads AS t WHERE t.thread = c.thread), 0);
    IF refused IS NOT NULL THEN
      DELETE FROM $.live WHERE run = ANY (refused);
      DELETE FROM $.runs WHERE id = ANY (refused);
      SELECT array_agg(one.id), array_agg(one.item) INTO made, made_items
      FROM unnest(made, made_items) AS one(id, item) WHERE one.id <> ALL (refused);
    END IF;

    INSERT INTO $.run_labels (label, run)
    SELECT label::uuid, made.id
    FROM unnest(made, made_items) AS made(id, item)
    JOIN jsonb_to_recordset(created) AS c(item int, hashes jsonb) ON c.item = made.item
    CROSS JOIN jsonb_array_elements_text(c.hashes) AS label;

    -- An append that was to create its run never writes to an existing one.
    FOR k IN SELECT c.item FROM jsonb_to_recordset(created) AS c(item int)
      WHERE c.item <> ALL (coalesce(made_items, '{}'))
    LOOP
      i_token[k] := -1;
    END LOOP;
  END IF;

  IF is_revival THEN
    -- If its thread has another run in flight, the run stays where it is.
    WITH gone AS (
      DELETE FROM $.ended USING $.runs AS r
      WHERE r.run_id = ANY (i_run) AND ended.run = r.id
        AND NOT (continues AND EXISTS (SELECT 1 FROM $.live AS busy WHERE busy.thread = r.thread))
      RETURNING ended.*, r.run_id, CASE WHEN continues THEN r.thread END AS thread, r.line, r.lanes, r.score
    )
    INSERT INTO $.live (run, run_id, workflow, thread, status, rested_at, error, line, lanes, score, ${STATE_COLUMNS})
    SELECT g.run, g.run_id, g.workflow, g.thread, g.status, g.updated_at, g.error, g.line, g.lanes, g.score - ${BEGUN},
      ${STATE_COLUMNS.replace(/\w+/g, "g.$&")}
    FROM gone AS g;
  END IF;

  IF cardinality(i_run) <= ${FEW} THEN
    FOR k IN 1 .. cardinality(i_run) LOOP
      UPDATE $.live SET head = i.head + i.n, bytes = live.bytes + i.bytes, blob_bytes = live.blob_bytes + i.blob_bytes,
        ${MOVED}
      FROM (SELECT i_head[k] AS head, i_count[k] AS n, i_bytes[k] AS bytes, i_blob_bytes[k] AS blob_bytes,
        i_at[k] AS at, i_intent[k] AS intent) AS i
      WHERE live.run_id = i_run[k] AND live.token = i_token[k] AND live.head = i.head
      RETURNING live.run INTO one;
      CONTINUE WHEN NOT FOUND;
      ids[k] := one;
      done_items := done_items || k;
    END LOOP;
  ELSE
    WITH moved AS (
      UPDATE $.live SET head = i.head + i.n, bytes = live.bytes + i.bytes, blob_bytes = live.blob_bytes + i.blob_bytes,
        ${MOVED}
      FROM unnest(i_run, i_token, i_head, i_count, i_bytes, i_blob_bytes, i_at, i_intent)
        WITH ORDINALITY AS i(name, token, head, n, bytes, blob_bytes, at, intent, item)
      WHERE live.run_id = i.name AND live.token = i.token AND live.head = i.head
      RETURNING i.item, live.run
    )
    SELECT array_agg(moved.item::int), array_agg(moved.run) INTO done_items, done_runs FROM moved;
    FOR k IN 1 .. coalesce(cardinality(done_items), 0) LOOP
      ids[done_items[k]] := done_runs[k];
    END LOOP;
  END IF;

  IF cardinality(r_item) > 0 THEN
    INSERT INTO $.journal (run, seq, events, frame, body, places)
    SELECT ids[r.item], r.seq, r.events, r.frame, r.body, r.places
    FROM unnest(r_item, r_seq, r_events, r_frame, r_body, r_places) AS r(item, seq, events, frame, body, places)
    WHERE ids[r.item] <> 0;
  END IF;

  IF cardinality(b_item) > 0 THEN
    PERFORM $.keep_blobs_1(ids, b_item, b_place, b_hash, b_body);
  END IF;

  IF changes IS NOT NULL THEN
    PERFORM $.change_2(ids, changes);
  END IF;
  IF is_revival THEN
    PERFORM $.end_1(array_agg(run), array_agg(status), array_agg(error), array_agg(executing)) FROM $.live
    WHERE run_id = ANY (i_run) AND status IN ${ENDED};
  END IF;

  IF coalesce(cardinality(done_items), 0) < cardinality(i_run) THEN
    RETURN QUERY
    SELECT i.item::int,
      CASE
        WHEN c.item IS NULL THEN CASE
          WHEN r.id IS NULL THEN 'unknown'
          WHEN coalesce(live.token, ended.token) <> i.token THEN 'taken'
          WHEN coalesce(live.head, ended.head) <> i.head THEN 'conflict'
          WHEN live.run IS NOT NULL THEN 'again'
          WHEN is_revival AND busy.run IS NOT NULL THEN 'thread'
          ELSE 'over'
        END
        WHEN r.id IS NOT NULL THEN 'exists'
        WHEN keyed.id IS NOT NULL THEN 'key'
        WHEN grouped.run IS NOT NULL THEN 'group'
        WHEN busy.run IS NOT NULL THEN 'thread'
        WHEN c.version <> coalesce(t.version, 0) THEN 'moved'
        WHEN i.head <> coalesce(c.fork_seq, 0) OR i.head > coalesce(past_live.head, past_ended.head, 0) THEN 'conflict'
        ELSE 'again'
      END,
      coalesce(keyed.run_id, grouped.run_id, busy.run_id),
      coalesce(c.thread, r.thread),
      CASE WHEN c.item IS NULL OR r.id IS NOT NULL THEN coalesce(live.head, ended.head, 0)
        ELSE least(coalesce(c.fork_seq, 0), coalesce(past_live.head, past_ended.head, 0)) END,
      coalesce(live.token, ended.token),
      live.holder
    FROM unnest(i_run, i_token, i_head, i_count) WITH ORDINALITY AS i(name, token, head, n, item)
    LEFT JOIN jsonb_to_recordset(created)
      AS c(item int, key text, thread text, flow_group text, version int, fork_of text, fork_seq int) ON c.item = i.item
    LEFT JOIN $.runs AS r ON r.run_id = i.name
    LEFT JOIN $.live ON live.run = r.id
    LEFT JOIN $.ended ON ended.run = r.id
    LEFT JOIN $.runs AS keyed ON keyed.key = c.key AND r.id IS NULL
    LEFT JOIN $.live AS grouped ON grouped.flow_group = c.flow_group AND keyed.id IS NULL
    LEFT JOIN $.live AS busy ON busy.thread = coalesce(c.thread, r.thread) AND keyed.id IS NULL
      AND busy.run IS DISTINCT FROM r.id
    LEFT JOIN $.threads AS t ON t.thread = c.thread
    LEFT JOIN $.runs AS past ON past.run_id = c.fork_of
    LEFT JOIN $.live AS past_live ON past_live.run = past.id
    LEFT JOIN $.ended AS past_ended ON past_ended.run = past.id
    WHERE ids[i.item] = 0;
  END IF;
END
$function$;

-- What changes beside the journal, in the order in which a reader of the change expects it.
CREATE FUNCTION $.change_2(ids bigint[], changes jsonb) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  part jsonb;
BEGIN
  part := changes->'graphs';
  IF part IS NOT NULL THEN
    INSERT INTO $.graphs (hash, body)
    SELECT g.hash, g.body FROM jsonb_to_recordset(part) AS g(hash text, body text, items int[])
    WHERE EXISTS (SELECT 1 FROM unnest(g.items) AS item WHERE ids[item] <> 0)
    ORDER BY g.hash ON CONFLICT DO NOTHING;
    INSERT INTO $.graph_uses (run, hash)
    SELECT r.id, g.hash FROM jsonb_to_recordset(part) AS g(hash text, items int[])
    CROSS JOIN unnest(g.items) AS item JOIN $.runs AS r ON r.id = ids[item]
    WHERE r.graph <> g.hash ON CONFLICT DO NOTHING;
  END IF;

  part := changes->'rows';
  IF part IS NOT NULL THEN
    IF changes->'regraphed' IS NOT NULL THEN
      INSERT INTO $.graph_uses (run, hash)
      SELECT r.id, r.graph FROM jsonb_to_recordset(part) AS c(item int, graph text)
      JOIN $.runs AS r ON r.id = ids[c.item] WHERE c.graph <> r.graph ON CONFLICT DO NOTHING;
      UPDATE $.runs AS r SET graph = c.graph
      FROM jsonb_to_recordset(part) AS c(item int, graph text)
      WHERE r.id = ids[c.item] AND c.graph <> r.graph;
    END IF;
    UPDATE $.live SET
      executing = coalesce(c.executing, live.executing),
      wake_at = CASE WHEN c.executing IS NULL THEN live.wake_at ELSE c.wake_at END,
      ready = live.ready AND c.executing IS NULL,
      status = coalesce(c.status, live.status),
      error = CASE WHEN c.status IS NULL THEN live.error END
    FROM jsonb_to_recordset(part) AS c(item int, status text, executing boolean, wake_at float8)
    WHERE live.run = ids[c.item] AND (c.executing IS NOT NULL OR c.status NOT IN ${ENDED});
  END IF;

  IF changes->'mail' IS NOT NULL THEN
    UPDATE $.mail SET outcome = '{"ok":true}'
    FROM jsonb_to_recordset(changes->'mail') AS m(item int, id text)
    WHERE mail.mail_id = m.id AND mail.outcome IS NULL AND ids[m.item] <> 0;
  END IF;

  IF changes->'opened' IS NOT NULL THEN
    INSERT INTO $.requests (run, request_id, workflow, recipient, outcome, body)
    SELECT r.id, o.id, r.workflow, o.recipient, 'open', o.body
    FROM jsonb_to_recordset(changes->'opened') AS o(n int, item int, id text, recipient text, body text)
    JOIN $.runs AS r ON r.id = ids[o.item]
    ORDER BY o.n
    ON CONFLICT (run, request_id) DO UPDATE SET recipient = excluded.recipient, outcome = 'open',
      closed_at = NULL, closed_by = NULL, body = excluded.body;
  END IF;

  IF changes->'closed' IS NOT NULL THEN
    UPDATE $.requests AS r SET outcome = c.outcome, closed_at = c.at, closed_by = c.closed_by
    FROM jsonb_to_recordset(changes->'closed') AS c(item int, id text, outcome text, at float8, closed_by text)
    WHERE r.run = ids[c.item] AND r.request_id = c.id;
  END IF;

  IF changes->'thread' IS NOT NULL THEN
    WITH written AS MATERIALIZED (
      SELECT r.thread, w.n, w.key, w.kind, w.value,
        row_number() OVER (PARTITION BY r.thread ORDER BY w.n) AS place,
        count(*) OVER (PARTITION BY r.thread) AS count
      FROM jsonb_to_recordset(changes->'thread') AS w(n int, item int, key text, kind text, value text)
      JOIN $.runs AS r ON r.id = ids[w.item]
      WHERE r.thread IS NOT NULL
    ), grown AS (
      INSERT INTO $.threads AS t (thread, version, bytes)
      SELECT thread, count(*), sum(octet_length(key) + octet_length(value)) FROM written
      GROUP BY thread ORDER BY thread
      ON CONFLICT (thread) DO UPDATE SET version = t.version + excluded.version, bytes = t.bytes + excluded.bytes
      RETURNING t.id, t.thread, t.version
    )
    INSERT INTO $.thread_writes (thread, version, key, kind, value)
    SELECT grown.id, grown.version - w.count + w.place, w.key, w.kind, w.value
    FROM written AS w JOIN grown ON grown.thread = w.thread;
  END IF;

  IF changes->'events' IS NOT NULL THEN
    INSERT INTO $.new_events (type, run_id, workflow, at, body)
    SELECT e.type, r.run_id, r.workflow, e.at, e.body
    FROM jsonb_to_recordset(changes->'events') AS e(n int, item int, type text, at float8, body text)
    JOIN $.runs AS r ON r.id = ids[e.item]
    ORDER BY e.n;
  END IF;

  IF changes->'ended' IS NOT NULL THEN
    PERFORM $.end_1(array_agg(ids[c.item]), array_agg(c.status), array_agg(c.error), array_agg(c.executing))
    FROM jsonb_to_recordset(changes->'ended') AS c(item int, status text, error text, executing boolean)
    WHERE ids[c.item] <> 0;
  END IF;
END
$function$;

-- Moves ended runs out of "live".
CREATE FUNCTION $.end_1(over bigint[], statuses text[], errors text[], executings boolean[]) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  IF over IS NULL THEN RETURN; END IF;
  IF cardinality(over) <= ${FEW} THEN
    FOR k IN 1 .. cardinality(over) LOOP
      UPDATE $.requests AS r SET outcome = 'withdrawn',
        closed_at = (SELECT live.updated_at FROM $.live WHERE live.run = over[k])
      WHERE r.run = over[k] AND r.outcome IN ('open', 'delivering');
      WITH gone AS (DELETE FROM $.live WHERE run = over[k] RETURNING *)
      INSERT INTO $.ended (run, workflow, status, error, ${STATE_COLUMNS})
      SELECT g.run, g.workflow, statuses[k], errors[k], ${ended("executings[k]")} FROM gone AS g;
    END LOOP;
    RETURN;
  END IF;
  UPDATE $.requests AS r SET outcome = 'withdrawn', closed_at = live.updated_at
  FROM $.live WHERE live.run = ANY (over) AND r.run = live.run AND r.outcome IN ('open', 'delivering');
  WITH gone AS (DELETE FROM $.live WHERE run = ANY (over) RETURNING *)
  INSERT INTO $.ended (run, workflow, status, error, ${STATE_COLUMNS})
  SELECT g.run, g.workflow, e.status, e.error,
    ${ended("e.executing")}
  FROM gone AS g
  JOIN unnest(over, statuses, errors, executings) AS e(id, status, error, executing) ON e.id = g.run;
END
$function$;

-- Keeps large values, each once, and notes who uses them.
CREATE FUNCTION $.keep_blobs_1(ids bigint[], b_item int[], b_place int[], b_hash text[], b_body text[]) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  INSERT INTO $.blobs (hash, body)
  SELECT DISTINCT ON (b.hash) b.hash, b.body FROM unnest(b_item, b_hash, b_body) AS b(item, hash, body)
  WHERE ids[b.item] <> 0 ORDER BY b.hash
  ON CONFLICT (hash) DO NOTHING;
  -- A process that removes unused values locks them first.
  PERFORM 1 FROM $.blobs WHERE hash = ANY (b_hash) ORDER BY id FOR KEY SHARE;
  INSERT INTO $.blob_uses (run, place, blob)
  SELECT DISTINCT ids[b.item], b.place, blobs.id FROM unnest(b_item, b_place, b_hash) AS b(item, place, hash)
  JOIN $.blobs ON blobs.hash = b.hash WHERE ids[b.item] <> 0
  ON CONFLICT DO NOTHING;
  IF EXISTS (
    SELECT 1 FROM unnest(b_item, b_hash) AS b(item, hash)
    WHERE ids[b.item] <> 0 AND NOT EXISTS (SELECT 1 FROM $.blobs WHERE blobs.hash = b.hash)
  ) THEN
    RAISE EXCEPTION 'a large value was removed meanwhile' USING ERRCODE = 'serialization_failure';
  END IF;
END
$function$;
`
