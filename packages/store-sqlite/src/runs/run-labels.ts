/** The labels of runs, a row for each: an index of what the rows of the runs have. Runs without labels are not in it. */
import type { RunCreated } from "@superstep/engine"
import {
  decodeText,
  EACH_RUN,
  type JsonBytes,
  jsonBytes,
  parseJson,
  type RunNumbers,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"

type Labels = NonNullable<RunCreated["labels"]>

export interface LabelTable {
  add(run: number, labels: Labels): void
  /** The same from a row's JSON. A damaged row is skipped, and reported when it is read. */
  addStored(run: number, labels: JsonBytes): void
  /** As `labelTexts` gives them. */
  of(run: number): readonly string[]
  removeAll(runs: RunNumbers): void
}

/** As the file has them, and as they stand in the JSON of a row, between its braces. */
export function labelTexts(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
}

export function labelTable(database: Database): LabelTable {
  const add = database.prepare("INSERT INTO run_labels (run, label) SELECT ?, value FROM json_each(?)")
  const find = database.prepare(`SELECT ${jsonBytes("label")} AS label FROM run_labels WHERE run = ?`)
  const removeAll = database.prepare(`DELETE FROM run_labels WHERE run IN ${EACH_RUN}`)

  function addAll(run: number, labels: Labels): void {
    const texts = labelTexts(labels)
    if (texts.length > 0) add.run(run, JSON.stringify(texts))
  }

  return {
    add: addAll,
    addStored(run, stored) {
      let labels: Labels
      try {
        labels = parseJson(stored, () => "") as Labels
      } catch {
        return
      }
      addAll(run, labels)
    },
    of: (run) =>
      (find.all(run) as { label: JsonBytes }[]).map(({ label }) =>
        decodeText(label, () => "A label is damaged"),
      ),
    removeAll: (runs) => void removeAll.run(runs),
  }
}
