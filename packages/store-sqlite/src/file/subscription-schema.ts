/** Events about runs, by position, and how far each consumer is. */
export const SUBSCRIPTION_MIGRATION = `
  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type TEXT NOT NULL,
    run_id TEXT NOT NULL,
    workflow TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
  );
  CREATE INDEX events_at ON events (at);
  CREATE TABLE consumers (
    consumer TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    token INTEGER NOT NULL,
    holder TEXT,
    missed INTEGER NOT NULL,
    failure TEXT,
    sum INTEGER NOT NULL
  ) WITHOUT ROWID;
`
