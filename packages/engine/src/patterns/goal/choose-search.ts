/** Where the pipeline looks a goal up, and who answers it: both follow from triage and configuration. */
import type { GoalConfig } from "./goal-config.ts"
import type { Triage } from "./triage.ts"

export interface SearchChoice {
  readonly by: "sql" | "graph" | "vector"
  /** Absent: the SQL agent finds out itself. */
  readonly database?: string | undefined
}

export function chooseSearch(triage: Triage, config: GoalConfig): SearchChoice {
  const { preferred_agent: preferred, database_id: database } = triage
  const { sql, graph, useGraphSearch = true } = config
  if (sql !== undefined && (preferred === "sql" || preferred === "csv")) {
    return { by: "sql", ...(database !== undefined && { database }) }
  }
  // The graph does not have what is in the files.
  if (preferred === "csv") return { by: "vector" }
  return { by: graph !== undefined && useGraphSearch ? "graph" : "vector" }
}

/** The ids of those who answer. */
export function chooseTargets({ intents }: Triage, config: GoalConfig): string[] {
  const ids = config.assistants.map(({ name }) => name)
  return intents.includes("multi") || config.multiRouteAlways === true ? ids : ids.slice(0, 1)
}
