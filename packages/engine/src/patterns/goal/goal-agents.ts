/** The agents of a configuration, by id: those of the file, and those that the caller provides. */
import { type Agent, isAgent } from "../../agents/index.ts"
import { isSuperstepError } from "../../core/index.ts"
import type { LoadOptions } from "../../definitions/index.ts"
import {
  type AgentData,
  agentFunctions,
  type DefinitionPaths,
  DocumentReport,
  link,
  PlanWriter,
  planAgents,
  trustedFunctions,
  withModel,
} from "../../definitions/internal.ts"
import { type Document, nearest, type Path, type Report } from "../../document/index.ts"
import type { GoalAgent } from "./goal-config.ts"
import type { GoalData } from "./goal-shape.ts"

const ASSISTANT =
  "Answer the question from the context, and name the sources that you use. Where the context does not answer it, say so."
/** Earlier configurations called an assistant a reporter. */
const ALIASES: Readonly<Record<string, string>> = {
  NewsReporterAgent: "AssistantAgent",
  AssistantAgent: "NewsReporterAgent",
}

/** The agents' data, each also under its alias if that is free: graphs use either name. */
export function withAliases(agents: Readonly<Record<string, AgentData>>): Record<string, AgentData> {
  const others = Object.entries(agents).flatMap(([id, data]) => {
    const other = Object.hasOwn(ALIASES, id) ? ALIASES[id] : undefined
    return other === undefined ? [] : [[other, data] as const]
  })
  return { ...Object.fromEntries(others), ...agents }
}

interface AgentOptions extends Pick<LoadOptions, "functions" | "model" | "trust"> {
  readonly paths: DefinitionPaths
}

export type FindAgent = (id: string) => GoalAgent | undefined

export interface GoalAgents {
  readonly made: ReadonlyMap<string, Agent>
  /** An unknown agent is reported at `path`, where it is named. */
  get(id: string, path: Path): GoalAgent | undefined
}

export function goalAgents(
  document: Document,
  data: GoalData,
  report: Report,
  options: AgentOptions,
  find: FindAgent | undefined,
): GoalAgents {
  const made = madeAgents(document, data, report, options)
  return {
    made,
    get(id, path) {
      const other = Object.hasOwn(ALIASES, id) ? ALIASES[id] : undefined
      // Agents of a file take a string.
      const own = (made.get(id) ?? made.get(other ?? id)) as GoalAgent | undefined
      const found = own ?? find?.(id)
      if (found === undefined) {
        const message = `There is no agent "${id}": define it under \`agents\`.`
        report.error("UNKNOWN_AGENT", message, document.place(path), nearest(id, made.keys()))
      }
      return found
    },
  }
}

function madeAgents(
  document: Document,
  data: GoalData,
  report: Report,
  { functions: more = {}, model, trust, paths }: AgentOptions,
): ReadonlyMap<string, Agent> {
  const { agents = {}, models, providers, permissions } = data
  const own = { ...agentFunctions, ...more }
  const functions = trust === "none" ? trustedFunctions({}, own) : own
  const writer = new PlanWriter(Object.keys(functions))
  const before = report.diagnostics.length
  const planned = planAgents({
    report: new DocumentReport(document, report),
    agents: withInstructions(agents, data.assistants),
    file: { models, providers, permissions },
    writer,
    paths,
  })
  const [first] = planned.names
  const isSound = report.diagnostics.slice(before).every(({ severity }) => severity !== "error")
  const main = first === undefined || !isSound ? undefined : planned.get(first)
  if (main === undefined) return new Map()
  const known = model === undefined ? functions : { ...functions, agent: withModel(functions, model) }
  try {
    const { values } = link(writer.plan(main.ref), known)
    return new Map([...values.values()].filter(isAgent).map((one) => [one.name, one]))
  } catch (error) {
    if (!isSuperstepError(error)) throw error
    report.error(error.code, error.message)
    return new Map()
  }
}

function withInstructions(
  agents: Readonly<Record<string, AgentData>>,
  assistants: readonly string[],
): Record<string, AgentData> {
  const entries = Object.entries(agents).map(([id, data]): [string, AgentData] => {
    const isTold = data.instruction !== undefined || !assistants.includes(id)
    return [id, isTold ? data : { ...data, instruction: ASSISTANT }]
  })
  return Object.fromEntries(entries)
}
