/** Named filters of the list of runs. Those that people save are kept in this browser. */
import { useState } from "react"
import { rangeOf } from "./time-range.ts"

export interface SavedView {
  readonly name: string
  readonly query: string
  readonly isOwn?: boolean
}

const KEY = "superstep.views"
const FIXED: readonly SavedView[] = [
  { name: "All", query: "" },
  { name: "Failed", query: "status=failed,limit" },
  { name: "Waiting", query: "status=waiting" },
]

export function useSavedViews() {
  const [own, setOwn] = useState(read)
  const keep = (views: readonly SavedView[]) => {
    localStorage.setItem(KEY, JSON.stringify(views))
    setOwn(views)
  }
  return {
    views: [...FIXED, ...own],
    save(query: string) {
      keep([...own, { name: nameOf(query), query, isOwn: true }])
    },
    remove(query: string) {
      keep(own.filter((view) => view.query !== query))
    },
  }
}

/** Its values, which say what it shows. */
function nameOf(query: string): string {
  const params = new URLSearchParams(query)
  params.delete("cols")
  const words = [...params].map(([name, value]) =>
    name !== "since" ? value : rangeOf({ since: value }) === "between" ? `since ${value}` : `last ${value}`,
  )
  return words.join(", ").slice(0, 40) || "Columns"
}

function read(): readonly SavedView[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]")
    if (!Array.isArray(kept)) return []
    return kept.filter(
      (one): one is SavedView => typeof one?.name === "string" && typeof one?.query === "string",
    )
  } catch {
    return []
  }
}
