// What a soak found, and what it is held to.
import { costText, textTable } from "../table.mjs"
import { storeNames } from "./stores.mjs"

export function soakTable({ marks }) {
  const rows = marks.map(({ runs, heap, external, rss, microseconds }) => [
    runs.toLocaleString("en-US"),
    costText(heap, "B"),
    costText(external, "B"),
    costText(rss, "B"),
    costText(microseconds, "µs"),
  ])
  return textTable(["runs so far", "heap", "outside it", "process", "per run"], rows)
}

/** The last mark against the first. */
function ratio(section, what) {
  const [first, last] = [section?.marks[0], section?.marks.at(-1)]
  return first && last[what] / first[what]
}

export const soakTargets = storeNames.flatMap((store) => [
  {
    name: `heap after all runs against a tenth of them, ${store}`,
    atMost: 1.05,
    measure: (sections) => ratio(sections[store], "heap"),
  },
  {
    name: `memory of the process after all runs, MB, ${store}`,
    atMost: 150,
    measure: (sections) => sections[store] && sections[store].marks.at(-1).rss / 1e6,
  },
  {
    name: `time per run, the last half against the first tenth, ${store}`,
    atMost: 1.25,
    measure: (sections) => ratio(sections[store], "microseconds"),
  },
])
