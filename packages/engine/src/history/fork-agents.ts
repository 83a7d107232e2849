/** Checks what a fork changes of agents: a mistake must be reported before there is a run. */
import { SuperstepError } from "../core/index.ts"
import { type Journal, JournalWalk } from "./journal-walk.ts"

const SETTINGS: ReadonlySet<string> = new Set([
  "temperature",
  "maxOutputTokens",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "stopSequences",
  "seed",
  "providerOptions",
])

export function checkAgents(journal: Journal, changes: { readonly [agent: string]: unknown }): void {
  const known = agentsOf(journal)
  for (const [agent, change] of Object.entries(changes)) {
    const refuse = (problem: string) =>
      new SuperstepError("OPTION_INVALID", `Bad fork option: agents["${agent}"] ${problem}.`)
    if (!known.has(agent)) {
      const names = [...known].map((one) => `"${one}"`).join(", ")
      throw refuse(
        `is not an agent of run "${journal.runId}". Agents that called a model in it: ${names || "none"}`,
      )
    }
    const problem = changeProblem(change)
    if (problem !== undefined) throw refuse(problem)
  }
}

function changeProblem(change: unknown): string | undefined {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return "must be an object"
  const { instructions, model, settings, ...others } = change as Record<string, unknown>
  const [other] = Object.keys(others)
  if (other !== undefined) return `has "${other}"; known are instructions, model and settings`
  if (instructions === undefined && model === undefined && settings === undefined) return "changes nothing"
  if (instructions !== undefined && typeof instructions !== "string") return "needs text as instructions"
  if (model !== undefined && !(typeof model === "string" && /^[^/\s]+\/\S+$|^offline$/.test(model)))
    return 'needs a model as "provider/model"'
  if (settings === undefined) return undefined
  if (typeof settings !== "object" || settings === null || Array.isArray(settings))
    return "needs an object as settings"
  const unknown = Object.keys(settings).find((name) => !SETTINGS.has(name))
  return unknown === undefined ? undefined : `has the unknown setting "${unknown}"`
}

/** The agents that called a model, before or after the point of the fork. */
function agentsOf(journal: Journal): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { record } of new JournalWalk(journal)) {
    const { entry } = record
    const agent = "source" in entry ? entry.source?.agent : undefined
    if (agent !== undefined) found.add(agent)
  }
  return found
}
