/** An id that the registry does not have: it says which ones there are. */
import { type Registry, SuperstepError } from "@superstep/engine"
import { foreignLine } from "./terminal.ts"

const MOST = 10

export async function unknownDefinition(registry: Registry, id: string): Promise<SuperstepError> {
  const definitions = (await registry.definitions()).map((one) => one.id)
  const agents = (await registry.agents()).map((one) => one.id)
  const there = [listed("definitions", definitions), listed("agents", agents)].filter((text) => text !== "")
  const text = `The store has no definition and no agent "${foreignLine(id)}". ${there.join(" ") || "It has none at all."}`
  return new SuperstepError("DEFINITION_UNKNOWN", text)
}

function listed(what: string, ids: readonly string[]): string {
  if (ids.length === 0) return ""
  const more = ids.length > MOST ? ", …" : ""
  return `Its ${what}: ${ids.slice(0, MOST).map(foreignLine).join(", ")}${more}.`
}
