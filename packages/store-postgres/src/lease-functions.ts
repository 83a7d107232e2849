/** Functions for who holds which run. A store decides nothing: its callers say that a holder is dead. */
import { SUSPECT } from "@superstep/engine"

/** What is reset when a run is released, or its holder turns out to be alive. */
export const UNSUSPECTED = "takeovers = 0, blamed = false, died_with = NULL"
export const RELEASED = "status = status_before, status_before = NULL, wake_at = 0"

export const LEASE_FUNCTIONS = `
-- True when runs may have been taken from the holder since its last heartbeat.
CREATE FUNCTION $.beat_1(p_id text, p_machine text, p_pid bigint, p_born text) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  was_taken boolean;
BEGIN
  SELECT taken INTO was_taken FROM $.holders WHERE id = p_id FOR UPDATE;
  IF FOUND THEN
    UPDATE $.holders SET beat = beat + 1, taken = false WHERE id = p_id;
    RETURN was_taken;
  END IF;
  INSERT INTO $.holders (id, machine, pid, born, beat, taken) VALUES (p_id, p_machine, p_pid, p_born, 1, false)
  ON CONFLICT (id) DO UPDATE SET beat = holders.beat + 1;
  -- The holder is alive, so none of its runs has killed it.
  UPDATE $.live SET takeovers = greatest(takeovers - 1, 0), blamed = false, died_with = NULL,
    wake_at = CASE status WHEN 'quarantined' THEN 0 ELSE wake_at END,
    status = CASE status WHEN 'quarantined' THEN status_before ELSE status END,
    status_before = NULL
  WHERE died_with = p_id;
  RETURN true;
END
$function$;

-- Releases everything that the holder holds. "p_why" is closed, died or hung; "p_run" is the run that a hung one is stuck in.
CREATE FUNCTION $.dismiss_1(p_holder text, p_why text, p_run text) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  stuck bigint[];
  suspects bigint[];
BEGIN
  DELETE FROM $.holders WHERE id = p_holder;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM 1 FROM $.live WHERE holder = p_holder ORDER BY run_id FOR NO KEY UPDATE;
  IF p_why <> 'closed' THEN
    SELECT array_agg(live.run), array_agg(live.run) FILTER (WHERE live.takeovers >= ${SUSPECT})
    INTO stuck, suspects
    FROM $.live WHERE live.holder = p_holder AND live.executing AND (p_why = 'died' OR live.run_id = p_run);
    suspects := coalesce(suspects, stuck);
    UPDATE $.live SET takeovers = takeovers + 1, died_with = p_holder,
      blamed = cardinality(suspects) = 1 AND run = suspects[1]
    WHERE run = ANY (stuck);
  END IF;
  UPDATE $.live SET token = token + 1, holder = NULL, rested_at = updated_at,
    wake_at = CASE WHEN executing THEN 0 ELSE wake_at END
  WHERE holder = p_holder;
END
$function$;
`
