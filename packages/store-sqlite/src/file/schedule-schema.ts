/** Schedules in the file: what the engine keeps of one is `body`, as JSON, and `next_at` when something is to be done for it. */
export const SCHEDULE_MIGRATION = `
  CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    workflow TEXT NOT NULL,
    next_at INTEGER,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
  );
  CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
`
