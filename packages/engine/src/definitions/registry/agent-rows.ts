/** Agents as documents write them, and as rows: a list of agents with ids, or a record of them by id. */
import type { Json } from "../../core/index.ts"
import { isRecord } from "../../core/reducers.ts"
import { type AgentRow, checkRegistryChange, definitionInvalid } from "../../runtime/index.ts"
import {
  type Column,
  isText,
  isTextOrNull,
  type JsonRecord,
  putTogether,
  type Row,
  takeApart,
} from "./record-parts.ts"

const COLUMNS: readonly Column[] = [
  { name: "id", fits: isText },
  { name: "name", fits: isText },
  { name: "description", fits: isTextOrNull, empty: "absent" },
  { name: "prompt", spellings: ["instruction", "instructions"], fits: isTextOrNull, empty: "absent" },
  { name: "model", fits: isTextOrNull, empty: "absent" },
  { name: "tools", spellings: ["toolsets"], fits: () => true, empty: "absent" },
]

/** An agent's row, from what a document says of it under this id. */
export function agentRow(id: string, data: JsonRecord): AgentRow {
  // An id that is not its own is a field like any other.
  const columns = COLUMNS.map((column) =>
    column.name === "id" ? { ...column, fits: (value: Json) => value === id } : column,
  )
  const { row, config } = takeApart(data, columns, (found) => ({ name: id, ...found, id }))
  return { ...(row as unknown as AgentRow), config }
}

/** What a document says of the agent. */
export function agentData(agent: AgentRow): JsonRecord {
  const { config, ...row } = agent
  return putTogether(row as Row, config, COLUMNS)
}

function isId(id: string): boolean {
  return id !== "" && isText(id)
}

/** The rows of agents that come as a record by id or as a list; DEFINITION_INVALID when they are neither. */
export function agentRows(agents: Json): readonly AgentRow[] {
  const rows = agentsOf(agents)
  if (rows === undefined) {
    throw definitionInvalid(
      "Agents are given by id (`agents: { writer: { … } }`), or as a list of agents with ids",
    )
  }
  checkRegistryChange({ agents: rows })
  return rows
}

export function agentsOf(agents: Json | undefined): readonly AgentRow[] | undefined {
  if (Array.isArray(agents)) {
    const rows = agents.map((agent: Json) =>
      isRecord(agent) && typeof agent.id === "string" && isId(agent.id)
        ? agentRow(agent.id, agent)
        : undefined,
    )
    return rows.includes(undefined) ? undefined : (rows as AgentRow[])
  }
  if (!isRecord(agents) || !Object.entries(agents).every(([id, agent]) => isId(id) && isRecord(agent))) {
    return undefined
  }
  return Object.entries(agents).map(([id, agent]) => agentRow(id, agent as JsonRecord))
}
