/**
 * Functions that delete in batches. What a row depends on is checked after the row is locked, in a later statement: only a
 * later statement sees what was written while this one waited for the lock.
 */
export const RETENTION_FUNCTIONS = `
-- Removes the runs that have ended, are no other run's past and, if "p_unpinned", are not pinned. Records are removed later.
CREATE FUNCTION $.remove_runs_1(p_ids bigint[], p_unpinned boolean)
RETURNS TABLE (id bigint, bytes bigint)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  gone bigint[];
BEGIN
  PERFORM 1 FROM $.runs AS r WHERE r.id = ANY (p_ids) ORDER BY r.id FOR UPDATE;
  SELECT array_agg(r.id) INTO gone FROM $.runs AS r
  JOIN $.ended ON ended.run = r.id
  WHERE r.id = ANY (p_ids) AND NOT (p_unpinned AND r.pinned)
    AND NOT EXISTS (SELECT 1 FROM $.runs AS fork WHERE fork.fork_run = r.id AND fork.id <> ALL (p_ids));
  -- A fork that goes with its past goes first; one that stays keeps it.
  LOOP
    EXIT WHEN gone IS NULL;
    EXIT WHEN NOT EXISTS (
      SELECT 1 FROM $.runs AS fork WHERE fork.fork_run = ANY (gone) AND fork.id <> ALL (gone)
    );
    SELECT array_agg(one) INTO gone FROM unnest(gone) AS one
    WHERE NOT EXISTS (SELECT 1 FROM $.runs AS fork WHERE fork.fork_run = one AND fork.id <> ALL (gone));
  END LOOP;
  IF gone IS NULL THEN RETURN; END IF;
  RETURN QUERY SELECT e.run, e.bytes + coalesce(s.bytes, 0)
    FROM $.ended AS e LEFT JOIN $.snapshots AS s ON s.run = e.run WHERE e.run = ANY (gone);
  DELETE FROM $.mail USING $.runs AS r
    WHERE r.id = ANY (gone) AND mail.run_id = r.run_id AND mail.outcome IS NULL;
  DELETE FROM $.requests WHERE run = ANY (gone);
  DELETE FROM $.snapshots WHERE run = ANY (gone);
  DELETE FROM $.run_labels WHERE run = ANY (gone);
  DELETE FROM $.graph_uses WHERE run = ANY (gone);
  DELETE FROM $.ended WHERE run = ANY (gone);
  DELETE FROM $.runs AS r WHERE r.id = ANY (gone);
  INSERT INTO $.removed_runs (run) SELECT unnest(gone);
END
$function$;

-- Removes some records and large values of runs that are gone; false when there are no more, or another process removes them.
CREATE FUNCTION $.sweep_1(p_runs int, p_records int, p_blobs int) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  gone bigint[];
  used bigint[];
  records int;
  uses int;
BEGIN
  SELECT array_agg(one.run) INTO gone
  FROM (SELECT run FROM $.removed_runs ORDER BY run LIMIT p_runs FOR UPDATE SKIP LOCKED) AS one;
  IF gone IS NULL THEN RETURN false; END IF;
  DELETE FROM $.journal WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM $.journal WHERE run = ANY (gone) LIMIT p_records
  ));
  GET DIAGNOSTICS records = ROW_COUNT;
  WITH dropped AS (
    DELETE FROM $.blob_uses WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM $.blob_uses WHERE run = ANY (gone) LIMIT p_blobs
    )) RETURNING blob
  )
  SELECT array_agg(DISTINCT blob), count(*) INTO used, uses FROM dropped;
  PERFORM $.drop_blobs_1(used);
  IF records = p_records OR uses = p_blobs THEN RETURN true; END IF;
  DELETE FROM $.removed_runs WHERE run = ANY (gone);
  RETURN cardinality(gone) = p_runs;
END
$function$;

-- Removes those of the large values that nothing uses.
CREATE FUNCTION $.drop_blobs_1(p_blobs bigint[]) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  IF p_blobs IS NULL THEN RETURN; END IF;
  PERFORM 1 FROM $.blobs WHERE id = ANY (p_blobs) ORDER BY id FOR UPDATE;
  DELETE FROM $.blobs WHERE id = ANY (p_blobs)
    AND NOT EXISTS (SELECT 1 FROM $.blob_uses WHERE blob_uses.blob = blobs.id);
END
$function$;

-- Removes graphs that no run brought or names.
CREATE FUNCTION $.drop_graphs_1() RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  unused text[];
BEGIN
  SELECT array_agg(hash) INTO unused FROM $.graphs
  WHERE NOT EXISTS (SELECT 1 FROM $.graph_uses AS u WHERE u.hash = graphs.hash)
    AND NOT EXISTS (SELECT 1 FROM $.runs AS r WHERE r.graph = graphs.hash);
  IF unused IS NULL THEN RETURN; END IF;
  -- Waits for runs that are being created, and blocks new ones meanwhile.
  LOCK TABLE $.graphs IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM $.graphs WHERE hash = ANY (unused)
    AND NOT EXISTS (SELECT 1 FROM $.graph_uses AS u WHERE u.hash = graphs.hash)
    AND NOT EXISTS (SELECT 1 FROM $.runs AS r WHERE r.graph = graphs.hash);
END
$function$;

-- Replaces the snapshot of a run by a later one. No row: the token is no longer the run's.
CREATE FUNCTION $.save_snapshot_1(
  p_run text, p_token bigint, p_seq int, p_bytes bigint, p_body text, p_places text, b_hash text[], b_body text[]
) RETURNS TABLE (bytes bigint, journal bigint)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  id bigint;
  size bigint;
  before record;
  used bigint[];
BEGIN
  SELECT r.id, coalesce(live.bytes, ended.bytes) INTO id, size
  FROM $.runs AS r LEFT JOIN $.live ON live.run = r.id LEFT JOIN $.ended ON ended.run = r.id
  WHERE r.run_id = p_run AND coalesce(live.token, ended.token) = p_token FOR KEY SHARE OF r;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT s.seq, s.bytes INTO before FROM $.snapshots AS s WHERE s.run = id FOR UPDATE;
  IF FOUND AND before.seq >= p_seq THEN
    RETURN QUERY SELECT before.bytes, size;
    RETURN;
  END IF;
  INSERT INTO $.snapshots (run, seq, bytes, body, places) VALUES (id, p_seq, p_bytes, p_body, p_places)
  ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, bytes = excluded.bytes, body = excluded.body, places = excluded.places;
  IF cardinality(b_hash) > 0 THEN
    PERFORM $.keep_blobs_1(ARRAY[id], array_fill(1, ARRAY[cardinality(b_hash)]),
      array_fill(-p_seq, ARRAY[cardinality(b_hash)]), b_hash, b_body);
  END IF;
  WITH dropped AS (DELETE FROM $.blob_uses WHERE run = id AND place < 0 AND place <> -p_seq RETURNING blob)
  SELECT array_agg(DISTINCT blob) INTO used FROM dropped;
  PERFORM $.drop_blobs_1(used);
  RETURN QUERY SELECT p_bytes, size;
END
$function$;
`
