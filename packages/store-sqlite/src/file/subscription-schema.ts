/**
 * Events about runs, by position, and how far each consumer is. `event_end` has the position of the newest event that was
 * deleted: a table that is written with every event would cost more.
 */
export const SUBSCRIPTION_MIGRATION = `
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    run_id TEXT NOT NULL,
    workflow TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
  );
  CREATE TABLE event_end (last INTEGER NOT NULL);
  INSERT INTO event_end (last) VALUES (0);
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
