/** What a fork can start from, and what it changes. Pure. */
import type { RequestView, RunView } from "@superstep/engine/protocol"
import { COMMIT, type RunHistory } from "./history.ts"
import { changesBetween } from "./inspector/state-diff.ts"

export interface ForkPoint {
  readonly superstep: number
  /** The number of the event that committed it; 0: before everything. */
  readonly seq: number
  readonly words: string
}

/** The start, and the end of each superstep. */
export function pointsOf({ outline: { commits } }: Pick<RunHistory, "outline">): readonly ForkPoint[] {
  const points = Array.from({ length: commits.length / COMMIT }, (_, i): ForkPoint => {
    const [seq = 0, superstep = 0] = commits.slice(i * COMMIT, i * COMMIT + 2)
    return { superstep, seq, words: `After superstep ${superstep}` }
  })
  const last = new Map(points.map((point) => [point.superstep, point]))
  return [{ superstep: 0, seq: 0, words: "The start, with another input" }, ...last.values()]
}

/** Questions that were answered: a fork may answer another way. The newest first. */
export function answersOf(view: RunView): readonly RequestView[] {
  return Object.values(view.requests)
    .filter(({ status }) => status === "answered")
    .reverse()
}

/** The body of a fork right before an answer, with another one. */
export function answerBody(request: string, text: string): object | { readonly problem: string } {
  try {
    return { patch: { answers: { [request]: JSON.parse(text) as unknown } } }
  } catch {
    return { problem: 'This is no JSON. Text needs quotation marks: "like this".' }
  }
}

interface Written {
  readonly superstep: number
  readonly input: string | undefined
  readonly state: string | undefined
  readonly stateBefore: string
}

/** The body of the request, with what was changed only. */
export function forkBody({
  superstep,
  input,
  state,
  stateBefore,
}: Written): object | { readonly problem: string } {
  const text = input ?? state ?? "null"
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'This is no JSON. Text needs quotation marks: "like this".' }
  }
  if (superstep === 0) return { patch: { input: value } }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "The state is an object: { … }." }
  const before = JSON.parse(stateBefore) as Record<string, unknown>
  const changes = Object.entries(value).filter(
    ([key, one]) => JSON.stringify(one) !== JSON.stringify(before[key]),
  )
  const at = { superstep }
  return changes.length === 0 ? { at } : { at, patch: { state: Object.fromEntries(changes) } }
}

/** What somebody wrote about an agent; empty text: as it was. */
export interface AgentDraft {
  readonly agent: string
  readonly instructions: string
  readonly model: string
  /** JSON. */
  readonly settings: string
}

/** What is wrong with the settings, in words. */
export function settingsProblem({ agent, settings }: AgentDraft): string | undefined {
  if (agent === "" || settings.trim() === "" || settingsOf(settings) !== undefined) return undefined
  return 'The settings are a JSON object: { "temperature": 0 }.'
}

function settingsOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The body, with the changes of an agent. */
export function withAgent(body: object, { agent, instructions, model, settings }: AgentDraft): object {
  if (agent === "" || "problem" in body) return body
  const values = settingsOf(settings)
  const change = {
    ...(instructions.trim() !== "" && { instructions }),
    ...(model.trim() !== "" && { model: model.trim() }),
    ...(values !== undefined && { settings: values }),
  }
  if (Object.keys(change).length === 0) return body
  const { patch } = body as { readonly patch?: object }
  return { ...body, patch: { ...patch, agents: { [agent]: change } } }
}

/** The paths that differ; empty while the text is no JSON. */
export function changedState(before: string, after: string): readonly string[] {
  try {
    return changesBetween(JSON.parse(before), JSON.parse(after)).map(({ path }) => path)
  } catch {
    return []
  }
}
