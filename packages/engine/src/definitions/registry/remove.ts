/** Takes definitions and agents out of a registry, unless somebody still needs them. */
import { SuperstepError } from "../../core/index.ts"
import type { Registry, Store } from "../../runtime/index.ts"
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
 * with DEFINITION_UNKNOWN, and with DEFINITION_IN_USE while runs of the workflow with its id are in flight.
 */
export async function removeDefinition(
  registry: Registry,
  store: Pick<Store, "runs">,
  id: string,
  options: RemoveOptions = {},
): Promise<Removed> {
  const stored = await registry.definition(id)
  if (stored === undefined) throw new SuperstepError("DEFINITION_UNKNOWN", `There is no definition "${id}".`)
  const inFlight = await store.runs({ workflow: id, status: ["running", "waiting"], limit: MOST })
  if (inFlight.length > 0 && !options.force) throw runsInFlight(id, inFlight.length)
  const users = await usersOfAgents(registry)
  const isUsed = (agent: string) => users.get(agent)?.some((definition) => definition !== id) === true
  const brought = broughtAgents(stored.workflow)
  const agents = brought.filter((agent) => !isUsed(agent))
  await registry.write({ removedDefinitions: [id], removedAgents: agents })
  return { agents, kept: brought.filter(isUsed), runs: inFlight.length }
}

/** Removes an agent. Rejects with AGENT_UNKNOWN, and with AGENT_IN_USE while definitions name it. */
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

function runsInFlight(id: string, count: number): SuperstepError {
  const runs = count === 1 ? "1 run" : `${count}${count === MOST ? " or more" : ""} runs`
  const text = `Definition "${id}" has ${runs} in flight: let them end, or cancel them. With force (--force on the command line) it goes all the same, and they cannot go on.`
  return new SuperstepError("DEFINITION_IN_USE", text)
}
