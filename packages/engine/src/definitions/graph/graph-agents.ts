/** The agents of a graph: from its own file, else from the file that the caller names. */

import { type AgentData, type PlannedAgent, planAgents, type ToolsetData } from "../agents/index.ts"
import { type DialectInput, DocumentReport } from "../dialect-input.ts"
import type { Arg } from "../plan/index.ts"
import { type AgentFieldsData, type AgentsFileData, agentsFileShape } from "./graph-shape.ts"

interface Source {
  readonly report: DocumentReport
  readonly file: AgentsFileData
  readonly agents: Readonly<Record<string, AgentData>>
  readonly keys: ReadonlyMap<string, number> | undefined
}

export class GraphAgents {
  readonly #input: DialectInput
  readonly #sources: readonly Source[]
  readonly #planned = new Map<string, PlannedAgent>()

  constructor(input: DialectInput, data: AgentsFileData) {
    this.#input = input
    const other = agentsFile(input)
    this.#sources = [sourceOf(input.report, data), ...(other === undefined ? [] : [other])]
  }

  get names(): readonly string[] {
    return this.#sources.flatMap(({ agents }) => Object.keys(agents))
  }

  has(id: string): boolean {
    return this.names.includes(id)
  }

  data(id: string): AgentData | undefined {
    return this.#sources.find(({ agents }) => Object.hasOwn(agents, id))?.agents[id]
  }

  get(id: string): PlannedAgent | undefined {
    return this.#planned.get(id)
  }

  /** Writes the agents that are used, and those that they delegate to. */
  plan(used: ReadonlySet<string>, instructions: (text: string) => Arg): void {
    const { writer, paths } = this.#input
    const open = new Set(used)
    for (const { report, file, agents: all, keys } of this.#sources) {
      const wanted = withDelegates(all, open)
      const agents = Object.fromEntries(Object.entries(all).filter(([id]) => wanted.has(id)))
      const planned = planAgents({ report, agents, keys, file, writer, paths, instructions })
      for (const id of planned.names) {
        open.delete(id)
        this.#planned.set(id, planned.get(id) as PlannedAgent)
      }
    }
  }
}

function withDelegates(
  agents: Readonly<Record<string, AgentData>>,
  used: ReadonlySet<string>,
): ReadonlySet<string> {
  const wanted = new Set<string>()
  const want = (id: string): void => {
    if (wanted.has(id) || !Object.hasOwn(agents, id)) return
    wanted.add(id)
    const { sub_agents = [], handoffs = [] } = agents[id] as AgentData
    for (const other of [...sub_agents, ...handoffs]) want(other)
  }
  for (const id of used) want(id)
  return wanted
}

function sourceOf(report: DocumentReport, file: AgentsFileData): Source {
  const { agents = {} } = file
  if (!Array.isArray(agents)) {
    const entries = Object.entries(agents as Readonly<Record<string, AgentFieldsData>>)
    const byId = Object.fromEntries(entries.map(([id, one]) => [id, agentOf(one)]))
    return { report, file, agents: byId, keys: undefined }
  }
  const keys = new Map<string, number>()
  for (const [i, { id }] of agents.entries()) {
    const before = keys.get(id)
    if (before === undefined) keys.set(id, i)
    else {
      const { line } = report.at(["agents", before, "id"])
      report.error("DUPLICATE_AGENT", `Agent ${id} is already defined on line ${line}`, ["agents", i, "id"])
    }
  }
  return { report, file, agents: Object.fromEntries(agents.map((one) => [one.id, agentOf(one)])), keys }
}

/** Renames the columns of a row to the fields of an agent. */
function agentOf(data: AgentFieldsData): AgentData {
  const { id: _, prompt, instructions, instruction, tools, toolsets, model, description, ...rest } = data
  const own = instruction ?? prompt ?? instructions ?? undefined
  const sets =
    toolsets ?? tools?.map((one) => (typeof one === "string" ? ({ type: one } as ToolsetData) : one))
  return {
    ...rest,
    ...(own === undefined ? {} : { instruction: own }),
    ...(sets === undefined ? {} : { toolsets: sets }),
    ...(model === undefined || model === null ? {} : { model }),
    ...(description === undefined || description === null ? {} : { description }),
  }
}

function agentsFile(input: DialectInput): Source | undefined {
  const { agents } = input.options
  const document = agents === undefined ? undefined : input.read(agents)
  if (document === undefined) return undefined
  const report = new DocumentReport(document, input.report.all)
  const file = report.read(agentsFileShape)
  return file === undefined ? undefined : sourceOf(report, file)
}
