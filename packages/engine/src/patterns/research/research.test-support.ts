/** Research with scripted agents and a fake web. */
import type { Json } from "../../core/index.ts"
import { type Script, type ScriptEntry, scriptedModel } from "../../models/index.ts"
import type { Run, RunEvent, RunResult } from "../../runtime/index.ts"
import type { ResearchEvent } from "./research-events.ts"
import { ResearchProjection } from "./research-events.ts"
import type { ResearchOptions } from "./research-options.ts"
import type { ResearchTool, ToolFinding } from "./research-tools.ts"

type Entries = Readonly<Record<string, readonly ScriptEntry[]>>

/** The default script: always a gap, a search for it, never enough. */
const SCRIPT: Entries = {
  thinker: [{ text: "hmm", repeat: true }],
  gap: [{ json: { research_complete: false, outstanding_gaps: ["what is tea?"] }, repeat: true }],
  selector: [{ json: { tasks: [{ agent: "web_search", query: "tea" }] }, repeat: true }],
  judge: [{ json: verdict(false), repeat: true }],
  writer: [{ text: "# Tea\n\nTea is a drink [1].", repeat: true }],
}

export function verdict(sufficient: boolean, fields: Record<string, Json> = {}): Json {
  return {
    sufficient,
    confidence: 0.5,
    recommendation: sufficient ? "synthesize" : "continue",
    next_search_queries: [],
    reasoning: "so",
    ...fields,
  }
}

export const COMPLETE: ScriptEntry = { json: { research_complete: true, outstanding_gaps: [] }, repeat: true }

export interface Web extends ResearchTool {
  readonly queries: string[]
}

/** A tool whose findings depend on the query. */
export function web(
  find: (query: string) => ToolFinding | Promise<ToolFinding> = tea,
  name = "web_search",
): Web {
  const queries: string[] = []
  return {
    name,
    description: `Searches (${name}).`,
    queries,
    run: async ({ query }) => {
      queries.push(query)
      return await find(query)
    },
  }
}

export function tea(query: string): ToolFinding {
  return {
    output: `found ${query}`,
    sources: [{ url: `https://t.example/${query}`, title: `On ${query}`, text: `About ${query}.` }],
  }
}

export function scripted(script: Entries = {}, tools: readonly ResearchTool[] = [web()]) {
  const model = scriptedModel({ ...SCRIPT, ...script } as Script)
  const options: ResearchOptions = { model, tools, calling: { retry: { attempts: 1 } as never } }
  const asked = (agent: string) =>
    model.calls
      .filter((call) => call.agent === agent)
      .map(({ prompt }) => JSON.stringify(prompt.at(-1)?.content))
  return { options, model, asked }
}

export interface Watched {
  readonly result: RunResult<string>
  readonly report: string
  readonly events: readonly RunEvent[]
  readonly research: readonly ResearchEvent[]
  /** `type: message` of every event except streamed text. */
  readonly log: readonly string[]
  /** Nodes that ran, in order. */
  readonly nodes: readonly string[]
}

export async function watched(run: Run<string>): Promise<Watched> {
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  const result = await run.result
  const projection = new ResearchProjection()
  const research = events.flatMap((event) => projection.add(event))
  return {
    result,
    report: result.outputs[0] ?? "",
    events,
    research,
    log: research
      .filter(({ type }) => type !== "streaming")
      .map(({ type, message }) => `${type}: ${message}`),
    nodes: events.flatMap((event) => (event.type === "task.started" ? [event.node] : [])),
  }
}
