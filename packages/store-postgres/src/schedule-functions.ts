/**
 * Schedules in the schema: what the engine keeps of one is `body`, as JSON, and `next_at` when something is to be done for it.
 * `write_schedule_5` replaces the version that was read, and creates a run in the same statement; its other arguments are
 * those of `append_2`, with one item or none.
 */
const APPENDED = [
  "i_run text[]",
  "i_token bigint[]",
  "i_head int[]",
  "i_count int[]",
  "i_bytes bigint[]",
  "i_blob_bytes bigint[]",
  "i_at float8[]",
  "i_intent boolean[]",
  "r_item int[]",
  "r_seq int[]",
  "r_events bigint[]",
  "r_frame text[]",
  "r_body text[]",
  "r_places text[]",
  "b_item int[]",
  "b_place int[]",
  "b_hash text[]",
  "b_body text[]",
  "changes jsonb",
  "is_revival boolean",
]

export const SCHEDULE_TABLES = `
CREATE TABLE $.schedules (
  id text COLLATE "C" PRIMARY KEY,
  workflow text COLLATE "C" NOT NULL,
  next_at float8,
  version text COLLATE "C" NOT NULL,
  body text NOT NULL
);
CREATE INDEX schedules_due ON $.schedules (next_at) WHERE next_at IS NOT NULL;
`

export const SCHEDULE_FUNCTIONS = `
-- Returns "written", "changed" where another version is there, or why the run was refused, as append_2 does.
CREATE FUNCTION $.write_schedule_5(
  s_id text, s_workflow text, s_next_at float8, s_version text, s_body text, s_before text,
  ${APPENDED.join(", ")}
) RETURNS TABLE (item int, reason text, other text, thread text, seq int, token bigint, holder text)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
  IF s_before IS NULL THEN
    INSERT INTO $.schedules (id, workflow, next_at, version, body)
    VALUES (s_id, s_workflow, s_next_at, s_version, s_body) ON CONFLICT DO NOTHING;
  ELSE
    PERFORM 1 FROM $.schedules AS s WHERE s.id = s_id AND s.version = s_before FOR UPDATE;
  END IF;
  IF NOT FOUND THEN
    -- The answer of the same statement may have been lost.
    RETURN QUERY SELECT 0, CASE WHEN EXISTS (
        SELECT 1 FROM $.schedules AS s WHERE s.id = s_id AND s.version = s_version
      ) THEN 'written' ELSE 'changed' END, NULL::text, NULL::text, NULL::int, NULL::bigint, NULL::text;
    RETURN;
  END IF;
  IF cardinality(i_run) > 0 THEN
    RETURN QUERY SELECT * FROM $.append_2(${APPENDED.map((argument) => argument.split(" ")[0]).join(", ")});
    IF FOUND THEN RETURN; END IF;
  END IF;
  UPDATE $.schedules AS s SET workflow = s_workflow, next_at = s_next_at, version = s_version, body = s_body
  WHERE s.id = s_id;
  RETURN QUERY SELECT 0, 'written', NULL::text, NULL::text, NULL::int, NULL::bigint, NULL::text;
END
$function$;
`

/** How many arguments it has. */
export const WRITE_SCHEDULE_ARGUMENTS = 6 + APPENDED.length
