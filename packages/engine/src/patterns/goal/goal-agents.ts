/** The agents of a configuration, by id: those of the file, and those that live elsewhere. */
import { type Agent, isAgent } from "../../agents/index.ts"
import { isSuperstepError } from "../../core/index.ts"
import { type AgentData, agentFunctions, planAgents } from "../../definitions/agents/index.ts"
import type { DefinitionPaths } from "../../definitions/definition-paths.ts"
import { type Document, nearest, type Path, type Report } from "../../definitions/document/index.ts"
import { withModel } from "../../definitions/given-functions.ts"
import type { LoadOptions } from "../../definitions/index.ts"
import { link, PlanWriter } from "../../definitions/plan/index.ts"
import { trustedFunctions } from "../../definitions/trust/index.ts"
import type { GoalAgent } from "./goal-config.ts"
import type { GoalData } from "./goal-shape.ts"

const ASSISTANT =
  "Answer the question from the context, and name the sources that you use. Where the context does not answer it, say so."
/** An assistant was called a reporter once. */
const ALIASES: Readonly<Record<string, string>> = {
  NewsReporterAgent: "AssistantAgent",
  AssistantAgent: "NewsReporterAgent",
}

/** The agents' data, each under its other name too where that is free: graphs name them either way. */
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

export class GoalAgents {
  readonly made: ReadonlyMap<string, Agent>
  readonly #document: Document
  readonly #report: Report
  readonly #find: FindAgent | undefined

  constructor(
    document: Document,
    data: GoalData,
    report: Report,
    options: AgentOptions,
    find: FindAgent | undefined,
  ) {
    this.#document = document
    this.#report = report
    this.#find = find
    this.made = madeAgents(document, data, report, options)
  }

  /** One that nobody knows is reported where it is named. */
  get(id: string, path: Path): GoalAgent | undefined {
    const other = Object.hasOwn(ALIASES, id) ? ALIASES[id] : undefined
    // Agents of a file take what a person says.
    const own = (this.made.get(id) ?? this.made.get(other ?? id)) as GoalAgent | undefined
    const found = own ?? this.#find?.(id)
    if (found === undefined) {
      const message = `There is no agent "${id}": define it under \`agents\`.`
      const place = this.#document.place(path)
      this.#report.error("UNKNOWN_AGENT", message, place, nearest(id, this.made.keys()))
    }
    return found
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
    document,
    agents: withInstructions(agents, data.assistants),
    models,
    providers,
    permissions,
    report,
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
