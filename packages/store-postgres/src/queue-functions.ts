/**
 * Functions for queued runs: see `RunQueue` in the engine for what is claimed, and in what order.
 *
 * A claim locks the limits of its candidates, in order, and counts held runs in a later statement: only a later statement
 * sees what was claimed while this one waited for the locks. Held rows are the only count; no counter is kept beside them.
 * A claim never waits for the row of a run, so claims cannot deadlock.
 *
 * Rates count by the server's clock, read under the locks: the processes may be on hosts whose clocks differ, and a claim may
 * have waited for the locks. All other times are those of the processes.
 */
import { MAX_BURSTS, SUSPECT } from "@superstep/engine"
import { RUN_COLUMNS, RUN_TABLES } from "./runs.ts"
import { CLAIMED, IS_READY } from "./tables.ts"

/** Maximum number of runs that become ready in one claim: the next claim continues. */
const READY_AT_ONCE = 1_000

const MAY_EXECUTE = "live.status IN ('queued', 'running', 'waiting')"
const IS_CURRENT = "(live.status <> 'queued' OR live.expires_at IS NULL OR live.expires_at > p_now)"
const HEAD_COLUMNS = "live.run, live.score, live.status = 'queued' AS is_first"

/** Runs of a line that may be claimed. */
const inLine = (line: string) =>
  `${IS_READY} AND live.line = ${line} AND live.takeovers < ${SUSPECT} AND ${MAY_EXECUTE} AND ${IS_CURRENT}
        AND (p_without IS NULL OR NOT EXISTS (
          SELECT 1 FROM $.runs AS other WHERE other.id = live.run AND other.graph = ANY (p_without)
        ))`

/** The run that was asked for, if it may be claimed. */
const NAMED = `live.run_id = p_run AND live.holder IS NULL AND ${MAY_EXECUTE} AND ${IS_CURRENT}
        AND (live.status <> 'queued' OR live.wake_at IS NULL OR live.wake_at <= p_now)`

export const QUEUE_FUNCTIONS = `
CREATE FUNCTION $.set_limits_1(p_workflow text, p_limits jsonb) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM jsonb_to_recordset(p_limits) AS n(name text, max float8, every float8, burst float8)
    FULL JOIN (SELECT * FROM $.lane_limits WHERE workflow = p_workflow) AS l ON l.name = n.name
    WHERE (n.name, n.max, n.every, n.burst) IS DISTINCT FROM (l.name, l.max, l.every, l.burst)
  ) THEN RETURN; END IF;
  -- Waits for claims in progress, and blocks new ones meanwhile.
  LOCK TABLE $.lane_limits IN EXCLUSIVE MODE;
  DELETE FROM $.lane_limits WHERE workflow = p_workflow;
  INSERT INTO $.lane_limits (name, workflow, max, every, burst)
  SELECT n.name, p_workflow, n.max, n.every, n.burst
  FROM jsonb_to_recordset(p_limits) AS n(name text, max float8, every float8, burst float8)
  ON CONFLICT (name) DO UPDATE SET workflow = excluded.workflow, max = excluded.max, every = excluded.every,
    burst = excluded.burst;
END
$function$;

-- Frees runs that no live process holds and, if asked to, marks those that are due or have mail.
CREATE FUNCTION $.make_ready_1(p_now float8, p_marks boolean) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  WITH RECURSIVE holding AS (
    SELECT min(holder) AS holder FROM $.live WHERE holder IS NOT NULL
    UNION ALL
    SELECT (SELECT min(live.holder) FROM $.live WHERE live.holder > holding.holder) FROM holding
    WHERE holding.holder IS NOT NULL
  ), freed AS MATERIALIZED (
    SELECT live.run FROM $.live
    WHERE live.holder = ANY (ARRAY(
      SELECT holder FROM holding WHERE holder IS NOT NULL AND holder NOT IN (SELECT id FROM $.holders)
    ))
    FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE $.live SET token = token + 1, holder = NULL, rested_at = updated_at, ready = true,
    wake_at = CASE WHEN executing THEN 0 ELSE wake_at END
  FROM freed WHERE live.run = freed.run;
  IF NOT p_marks THEN RETURN; END IF;
  UPDATE $.live SET ready = true FROM (
    SELECT live.run FROM $.live
    WHERE live.holder IS NULL AND NOT live.ready AND live.wake_at IS NOT NULL AND live.wake_at <= p_now AND ${MAY_EXECUTE}
    ORDER BY live.wake_at LIMIT ${READY_AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED
  ) AS due WHERE live.run = due.run;
  UPDATE $.live SET ready = true FROM (
    SELECT live.run FROM $.live
    WHERE live.run_id IN (SELECT run_id FROM $.mail WHERE outcome IS NULL)
      AND live.holder IS NULL AND NOT live.ready AND live.status IN ('running', 'waiting')
    LIMIT ${READY_AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED
  ) AS addressed WHERE live.run = addressed.run;
END
$function$;

-- One run of each line that is served and has something to claim; of the named run's line, that run.
CREATE FUNCTION $.served_lines_1(p_workflows text[], p_queues text[], p_run text) RETURNS bigint[]
LANGUAGE plpgsql AS $function$
DECLARE
  found bigint[];
BEGIN
  IF p_run IS NOT NULL THEN
    found := ARRAY(SELECT live.run FROM $.live WHERE live.run_id = p_run);
  ELSE
    -- From line to line: what one has, however much, is passed over.
    WITH RECURSIVE walk AS (
      (SELECT live.line, live.run FROM $.live WHERE ${IS_READY} ORDER BY live.line, live.score, live.run LIMIT 1)
      UNION ALL
      SELECT next.line, next.run FROM walk CROSS JOIN LATERAL (
        SELECT live.line, live.run FROM $.live WHERE ${IS_READY} AND live.line > walk.line
        ORDER BY live.line, live.score, live.run LIMIT 1
      ) AS next
    )
    SELECT array_agg(walk.run) INTO found FROM walk;
  END IF;
  RETURN ARRAY(
    SELECT r.id FROM unnest(found) AS one(id) JOIN $.runs AS r ON r.id = one.id
    WHERE r.workflow = ANY (p_workflows) AND (p_queues IS NULL OR r.queue = ANY (p_queues))
  );
END
$function$;

-- A row for each run that was claimed, in order, and one with the time at which a rate limit admits the next. "p_claim" is
-- what a claim whose answer was lost is recognised by.
CREATE FUNCTION $.claim_next_10(
  p_holder text, p_workflows text[], p_queues text[], p_without text[], p_run text, p_now float8, p_limit int,
  p_claim uuid, p_repeated boolean
) RETURNS TABLE (run json, next_at float8)
-- A claim reads few rows whatever the number of runs, also with outdated statistics.
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $function$
#variable_conflict use_column
DECLARE
  samples bigint[];
  names text[];
  claimed bigint[] := '{}';
  -- By the server's clock.
  moment float8;
  -- Those that begin.
  started bigint[] := '{}';
  -- Of each lane that has a limit.
  n_lane uuid[];
  n_name text[];
  n_max float8[];
  n_every float8[];
  n_burst float8[];
  n_held bigint[];
  n_paid float8[];
  n_is_paid boolean[];
  -- Of each line, tenant after tenant, in turn; the score is that of the run that is next in it, null when there is none.
  l_line uuid[];
  l_tenant uuid[];
  l_score float8[];
  l_run bigint[];
  l_first boolean[];
  l_from int[];
  l_to int[];
  -- The lanes of lines, one after another: which line, and which lane.
  f_line int[];
  f_lane int[];
  -- The lines of each tenant, and when it was served.
  t_from int[] := '{}';
  t_to int[] := '{}';
  t_served bigint[] := '{}';
  -- Tenants that may not have a row yet.
  n_tenant uuid[] := '{}';
  n_served bigint[] := '{}';
  head record;
  one bigint;
  best int;
  lane int;
  admitted_at float8;
  next_start float8;
  before int;
BEGIN
  IF p_repeated THEN
    SELECT array_agg(live.run ORDER BY live.score, live.run) INTO claimed
    FROM $.live WHERE live.holder = p_holder AND live.claim = p_claim;
    claimed := coalesce(claimed, '{}');
  END IF;
  IF cardinality(claimed) = 0 THEN
    -- Changes of limits and claims wait for each other here.
    LOCK TABLE $.lane_limits IN ROW SHARE MODE;
    PERFORM $.make_ready_1(p_now, p_run IS NULL);
    samples := $.served_lines_1(p_workflows, p_queues, p_run);
    IF cardinality(samples) = 0 THEN RETURN; END IF;

    SELECT array_agg(l.name) INTO names FROM (
      SELECT name FROM $.lane_limits
      WHERE name IN (SELECT unnest(r.limits) FROM $.runs AS r WHERE r.id = ANY (samples))
      ORDER BY name FOR NO KEY UPDATE
    ) AS l;
    -- From here on no other process claims runs with these limits, and a new statement sees all earlier claims.
    moment := extract(epoch FROM clock_timestamp()) * 1000;
    IF names IS NOT NULL THEN
      SELECT array_agg(x.lane), array_agg(x.name), array_agg(l.max), array_agg(l.every), array_agg(l.burst),
        array_agg(coalesce(held.count, 0)),
        -- As paidAt does in the engine.
        array_agg(coalesce(CASE WHEN paid.paid_until > moment + ${MAX_BURSTS} * l.burst * l.every
          THEN moment + (l.burst - 1) * l.every ELSE paid.paid_until END, 0)),
        array_agg(false)
      INTO n_lane, n_name, n_max, n_every, n_burst, n_held, n_paid, n_is_paid
      FROM (
        SELECT DISTINCT u.lane, u.name FROM $.runs AS r CROSS JOIN LATERAL unnest(r.lanes, r.limits) AS u(lane, name)
        WHERE r.id = ANY (samples)
      ) AS x
      JOIN $.lane_limits AS l ON l.name = x.name
      LEFT JOIN (
        SELECT u.lane, count(*) AS count FROM $.live CROSS JOIN LATERAL unnest(live.lanes) AS u(lane)
        WHERE live.holder IS NOT NULL AND live.lanes IS NOT NULL GROUP BY u.lane
      ) AS held ON held.lane = x.lane
      LEFT JOIN $.lane_rates AS paid ON paid.lane = x.lane;
    END IF;

    SELECT array_agg(o.line ORDER BY o.place), array_agg(o.tenant ORDER BY o.place), array_agg(o.score ORDER BY o.place),
      array_agg(o.run ORDER BY o.place), array_agg(o.is_first ORDER BY o.place), array_agg(o.sample ORDER BY o.place)
    INTO l_line, l_tenant, l_score, l_run, l_first, samples
    FROM (
      SELECT c.*, row_number() OVER (ORDER BY c.served NULLS FIRST, c.earliest, c.tenant, c.score, c.run) AS place FROM (
        SELECT r.id AS sample, r.line, r.tenant, h.score, h.run, h.is_first, t.served,
          min(h.score) OVER (PARTITION BY r.tenant) AS earliest
        FROM $.runs AS r
        CROSS JOIN LATERAL (
          (SELECT ${HEAD_COLUMNS} FROM $.live WHERE p_run IS NULL AND ${inLine("r.line")}
          ORDER BY live.score, live.run LIMIT 1)
          UNION ALL
          SELECT ${HEAD_COLUMNS} FROM $.live WHERE p_run IS NOT NULL AND ${NAMED}
        ) AS h
        LEFT JOIN $.tenants AS t ON t.tenant = r.tenant
        WHERE r.id = ANY (samples)
      ) AS c
    ) AS o;
    IF l_line IS NULL THEN RETURN; END IF;

    IF names IS NOT NULL THEN
      SELECT array_agg(s.place::int ORDER BY s.place), array_agg(n.place::int ORDER BY s.place) INTO f_line, f_lane
      FROM unnest(samples) WITH ORDINALITY AS s(id, place) JOIN $.runs AS r ON r.id = s.id
      CROSS JOIN LATERAL unnest(r.lanes) AS u(lane)
      JOIN unnest(n_lane) WITH ORDINALITY AS n(lane, place) ON n.lane = u.lane;
    END IF;
    l_from := array_fill(1, ARRAY[cardinality(l_line)]);
    l_to := array_fill(0, ARRAY[cardinality(l_line)]);
    FOR i IN 1 .. coalesce(cardinality(f_line), 0) LOOP
      IF l_to[f_line[i]] = 0 THEN l_from[f_line[i]] := i; END IF;
      l_to[f_line[i]] := i;
    END LOOP;
    FOR i IN 1 .. cardinality(l_line) LOOP
      IF i = 1 OR l_tenant[i] <> l_tenant[i - 1] THEN
        t_from := t_from || i;
        t_to := t_to || i;
        t_served := t_served || NULL::bigint;
      END IF;
      t_to[cardinality(t_to)] := i;
    END LOOP;

    <<rounds>>
    LOOP
      before := cardinality(claimed);
      FOR t IN 1 .. cardinality(t_from) LOOP
        EXIT rounds WHEN cardinality(claimed) >= p_limit;
        LOOP
          -- The line whose next run is the first. Lines that are not admitted are dropped: lanes only fill up in here.
          best := NULL;
          FOR i IN t_from[t] .. t_to[t] LOOP
            CONTINUE WHEN l_score[i] IS NULL OR l_score[i] >= l_score[best];
            admitted_at := moment;
            FOR k IN l_from[i] .. l_to[i] LOOP
              lane := f_lane[k];
              IF n_held[lane] >= n_max[lane] THEN
                admitted_at := NULL;
                EXIT;
              END IF;
              IF l_first[i] AND n_every[lane] IS NOT NULL THEN
                admitted_at := greatest(admitted_at, n_paid[lane] - (n_burst[lane] - 1) * n_every[lane]);
              END IF;
            END LOOP;
            IF admitted_at <= moment THEN
              best := i;
            ELSE
              l_score[i] := NULL;
              next_start := least(next_start, admitted_at);
            END IF;
          END LOOP;
          EXIT WHEN best IS NULL;

          IF p_run IS NULL THEN
            SELECT ${HEAD_COLUMNS} INTO head FROM $.live
            WHERE ${inLine("l_line[best]")} AND (live.score, live.run) >= (l_score[best], l_run[best])
            ORDER BY live.score, live.run LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
          ELSE
            SELECT ${HEAD_COLUMNS} INTO head FROM $.live WHERE ${NAMED} FOR NO KEY UPDATE NOWAIT;
          END IF;
          l_score[best] := head.score;
          l_run[best] := head.run;
          CONTINUE WHEN head.run IS NULL;
          IF head.is_first <> l_first[best] THEN
            l_first[best] := head.is_first;
            CONTINUE;
          END IF;

          UPDATE $.live SET token = token + 1, holder = p_holder, claim = p_claim, ${CLAIMED} WHERE live.run = head.run;
          claimed := claimed || head.run;
          IF head.is_first THEN started := started || head.run; END IF;
          t_served[t] := nextval('$.turns');
          FOR k IN l_from[best] .. l_to[best] LOOP
            lane := f_lane[k];
            n_held[lane] := n_held[lane] + 1;
            IF head.is_first AND n_every[lane] IS NOT NULL THEN
              n_paid[lane] := greatest(n_paid[lane], moment) + n_every[lane];
              n_is_paid[lane] := true;
            END IF;
          END LOOP;
          l_score[best] := NULL;
          IF p_run IS NULL THEN
            SELECT ${HEAD_COLUMNS} INTO head FROM $.live
            WHERE ${inLine("l_line[best]")} AND (live.score, live.run) > (head.score, head.run)
            ORDER BY live.score, live.run LIMIT 1;
            l_score[best] := head.score;
            l_run[best] := head.run;
            l_first[best] := head.is_first;
          END IF;
          EXIT;
        END LOOP;
      END LOOP;
      EXIT WHEN cardinality(claimed) = before;
    END LOOP;

    IF true = ANY (n_is_paid) THEN
      DELETE FROM $.lane_rates WHERE name = ANY (names) AND paid_until < moment;
      INSERT INTO $.lane_rates (lane, name, paid_until)
      SELECT n.lane, n.name, n.paid FROM unnest(n_lane, n_name, n_paid, n_is_paid) AS n(lane, name, paid, is_paid)
      WHERE n.is_paid
      ON CONFLICT (lane) DO UPDATE SET name = excluded.name, paid_until = excluded.paid_until;
    END IF;
    -- One by one: a statement about one row is planned once in a session, one about a list each time.
    FOREACH one IN ARRAY started LOOP
      INSERT INTO $.new_events (type, run_id, workflow, at, body)
      SELECT 'run.started', r.run_id, r.workflow, p_now, '{}' FROM $.runs AS r WHERE r.id = one;
    END LOOP;
    FOR t IN 1 .. cardinality(t_from) LOOP
      CONTINUE WHEN t_served[t] IS NULL;
      -- A tenant whose row is locked is being served by another process.
      PERFORM 1 FROM $.tenants WHERE tenants.tenant = l_tenant[t_from[t]] FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN
        UPDATE $.tenants SET served = t_served[t] WHERE tenants.tenant = l_tenant[t_from[t]];
      ELSE
        n_tenant := n_tenant || l_tenant[t_from[t]];
        n_served := n_served || t_served[t];
      END IF;
    END LOOP;
    IF cardinality(n_tenant) > 0 THEN
      INSERT INTO $.tenants (tenant, served)
      SELECT u.tenant, u.served FROM unnest(n_tenant, n_served) AS u(tenant, served)
      WHERE NOT EXISTS (SELECT 1 FROM $.tenants AS k WHERE k.tenant = u.tenant)
      ORDER BY 1 ON CONFLICT DO NOTHING;
    END IF;
  END IF;

  FOREACH one IN ARRAY claimed LOOP
    RETURN QUERY SELECT to_json(c), NULL::float8 FROM (SELECT ${RUN_COLUMNS} FROM ${RUN_TABLES} WHERE r.id = one) AS c;
  END LOOP;
  IF next_start IS NOT NULL THEN RETURN QUERY SELECT NULL::json, p_now + (next_start - moment); END IF;
END
$function$;

-- Replaces the records of a queued run. "p_amendment" is what one whose answer was lost is recognised by.
CREATE FUNCTION $.amend_1(
  p_run text, p_token bigint, p_amendment uuid, p_wake_at float8, p_closed boolean,
  p_at float8, p_bytes bigint, p_blob_bytes bigint,
  r_seq int[], r_events bigint[], r_frame text[], r_body text[], r_places text[],
  b_place int[], b_hash text[], b_body text[]
) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  id bigint;
  used bigint[];
BEGIN
  SELECT live.run INTO id FROM $.live
  WHERE live.run_id = p_run AND live.token = p_token AND live.status = 'queued' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN EXISTS (SELECT 1 FROM $.live WHERE live.run_id = p_run AND live.amendment = p_amendment);
  END IF;
  DELETE FROM $.journal WHERE run = id;
  WITH dropped AS (DELETE FROM $.blob_uses WHERE run = id RETURNING blob)
  SELECT array_agg(DISTINCT blob) INTO used FROM dropped;
  INSERT INTO $.journal (run, seq, events, frame, body, places)
  SELECT id, r.seq, r.events, r.frame, r.body, r.places
  FROM unnest(r_seq, r_events, r_frame, r_body, r_places) AS r(seq, events, frame, body, places);
  IF cardinality(b_hash) > 0 THEN
    PERFORM $.keep_blobs_1(ARRAY[id], array_fill(1, ARRAY[cardinality(b_hash)]), b_place, b_hash, b_body);
  END IF;
  PERFORM $.drop_blobs_1(used);
  UPDATE $.live SET head = cardinality(r_seq), bytes = p_bytes, blob_bytes = p_blob_bytes,
    updated_at = coalesce(p_at, updated_at), token = token + 1, amendment = p_amendment, executing = false,
    wake_at = p_wake_at, ready = false, flow_group = CASE WHEN p_closed THEN NULL ELSE flow_group END
  WHERE run = id;
  RETURN true;
END
$function$;
`
