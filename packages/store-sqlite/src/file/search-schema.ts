/**
 * What runs are found by. Each label of a run is a row. The names of runs (id, workflow, key) are in a full-text index of
 * trigrams, up to the run that `name_index` says (run-names.ts).
 */
import { labelTable } from "../runs/run-labels.ts"
import type { Database } from "./driver.ts"

export const SEARCH_TABLES = `
  CREATE TABLE run_labels (run INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (run, label)) WITHOUT ROWID;
  CREATE INDEX run_labels_label ON run_labels (label, run);
  CREATE VIRTUAL TABLE run_names USING fts5 (
    name, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  );
  CREATE TABLE name_index (up_to INTEGER NOT NULL);
  INSERT INTO name_index (up_to) VALUES (0);
`

const AT_ONCE = 1_000

/** The labels of older runs are added here: SQL and JavaScript do not escape them alike. */
export function addSearchTables(database: Database): void {
  database.exec(SEARCH_TABLES)
  const { addStored } = labelTable(database)
  const find = database.prepare(
    "SELECT id, CAST(labels AS BLOB) AS labels FROM runs WHERE labels IS NOT NULL AND id > ? ORDER BY id LIMIT ?",
  )
  type LabelledRow = { readonly id: number; readonly labels: ArrayBuffer | Uint8Array }
  let rows: LabelledRow[] = []
  do {
    rows = find.all(rows.at(-1)?.id ?? 0, AT_ONCE) as LabelledRow[]
    for (const { id, labels } of rows) addStored(id, labels)
  } while (rows.length === AT_ONCE)
}
