/** Takes definitions and agents out of a registry, unless somebody still needs them. */
import { SuperstepError } from "../../core/index.ts"
import type { Registry, Store, WorkflowRow } from "../../runtime/index.ts"
import { usersOfAgents } from "./agent-users.ts"
import { broughtAgents } from "./document-rows.ts"

export interface RemoveOptions {
  /** Removes it although runs of it are in flight, which then cannot be taken up again; or definitions use it. */
  readonly force?: boolean | undefined
}

export interface Removed {
  /** Agents that came with the document, and that went with it. */
  readonly agents: readonly string[]
  /** Agents that came with the document, and that other definitions use. */
  readonly kept: readonly string[]
  /** Its runs in flight, where it was forced. */
  readonly runs: number
}

/** More are not counted. */
const MOST = 1_000

/**
 * Removes a definition, with the agents that its own document brought, but for those that other definitions use. Rejects
 * with DEFINITION_UNKNOWN, and with DEFINITION_IN_USE while runs of it are in flight.
 */
export async function removeDefinition(
  registry: Registry,
  store: Pick<Store, "runs">,
  id: string,
  options: RemoveOptions = {},
): Promise<Removed> {
  const stored = await registry.definition(id)
  if (stored === undefined) throw new SuperstepError("DEFINITION_UNKNOWN", `There is no definition "${id}".`)
  const runs = await runsInFlight(store, stored.workflow)
  if (runs > 0 && !options.force) throw inUse(id, runs)
  const users = await usersOfAgents(registry)
  const isUsed = (agent: string) => users.get(agent)?.some((definition) => definition !== id) === true
  const brought = broughtAgents(stored.workflow)
  const agents = brought.filter((agent) => !isUsed(agent))
  await registry.write({ removedDefinitions: [id], removedAgents: agents })
  return { agents, kept: brought.filter(isUsed), runs }
}

/**
 * Those that say by a label that they are of this definition, as the command line's do; and those of a workflow of its
 * name, or of its id, that do not say of which definition they are.
 */
async function runsInFlight(store: Pick<Store, "runs">, { id, name }: WorkflowRow): Promise<number> {
  const status = ["running", "waiting"] as const
  const ids = new Set<string>()
  for (const query of [{ labels: { definition: id } }, { workflow: id }, { workflow: name || id }]) {
    for (const { runId, labels = {} } of await store.runs({ ...query, status, limit: MOST })) {
      if ((labels.definition ?? id) === id) ids.add(runId)
    }
  }
  return ids.size
}

/** Removes an agent. Rejects with AGENT_UNKNOWN, and with AGENT_IN_USE while definitions need it. */
export async function removeAgent(
  registry: Registry,
  id: string,
  options: RemoveOptions = {},
): Promise<void> {
  const [agent] = await registry.agents([id])
  if (agent === undefined) throw new SuperstepError("AGENT_UNKNOWN", `There is no agent "${id}".`)
  const users = (await usersOfAgents(registry)).get(id) ?? []
  if (users.length > 0 && !options.force) {
    const names = users.map((name) => `"${name}"`).join(", ")
    const text = `Agent "${id}" is used by ${names}: change or delete those first, or remove it with force (--force on the command line).`
    throw new SuperstepError("AGENT_IN_USE", text)
  }
  await registry.write({ removedAgents: [id] })
}

function inUse(id: string, count: number): SuperstepError {
  const runs = count === 1 ? "1 run" : `${count}${count >= MOST ? " or more" : ""} runs`
  const text = `Definition "${id}" has ${runs} in flight: let them end, or cancel them. With force (--force on the command line) it goes all the same, and they cannot go on.`
  return new SuperstepError("DEFINITION_IN_USE", text)
}
