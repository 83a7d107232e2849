/** The agents of a graph: from its own file, else from the one that the caller names. */
import { type AgentData, type PlannedAgent, planAgents, type ToolsetData } from "../agents/index.ts"
import type { DialectInput } from "../dialect.ts"
import { type Document, type Path, readShape } from "../document/index.ts"
import type { Arg } from "../plan/index.ts"
import { type AgentFieldsData, type AgentsFileData, agentsFileShape } from "./graph-shape.ts"

/** Those of one file. */
interface Source {
  readonly document: Document
  readonly data: AgentsFileData
  readonly agents: Readonly<Record<string, AgentData>>
  /** Where a row is in the list. */
  readonly keys: ReadonlyMap<string, number> | undefined
}

export class GraphAgents {
  readonly #input: DialectInput
  readonly #sources: readonly Source[]
  readonly #planned = new Map<string, PlannedAgent>()

  constructor(input: DialectInput, data: AgentsFileData) {
    this.#input = input
    const other = agentsFile(input)
    this.#sources = [sourceOf(input, input.document, data), ...(other === undefined ? [] : [other])]
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

  /** Writes those that are used, with those that they give work to. */
  plan(used: ReadonlySet<string>, instructions: (text: string, path: Path) => Arg): void {
    const { report, writer, paths } = this.#input
    const open = new Set(used)
    for (const { document, data, agents, keys } of this.#sources) {
      const wanted = withFellows(agents, open)
      const { models, providers, permissions } = data
      const planned = planAgents({
        document,
        agents: Object.fromEntries(Object.entries(agents).filter(([id]) => wanted.has(id))),
        ...(keys === undefined ? {} : { keys }),
        models,
        providers,
        permissions,
        report,
        writer,
        paths,
        instructions,
      })
      for (const id of planned.names) {
        open.delete(id)
        this.#planned.set(id, planned.get(id) as PlannedAgent)
      }
    }
  }
}

function withFellows(
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

function sourceOf({ report }: DialectInput, document: Document, data: AgentsFileData): Source {
  const { agents = {} } = data
  if (!Array.isArray(agents)) {
    const entries = Object.entries(agents as Readonly<Record<string, AgentFieldsData>>)
    return {
      document,
      data,
      agents: Object.fromEntries(entries.map(([id, one]) => [id, agentOf(one)])),
      keys: undefined,
    }
  }
  const keys = new Map<string, number>()
  for (const [i, { id }] of agents.entries()) {
    const before = keys.get(id)
    if (before === undefined) keys.set(id, i)
    else {
      const { line } = document.place(["agents", before, "id"])
      const text = `Agent ${id} is there already, on line ${line}`
      report.error("DUPLICATE_AGENT", text, document.place(["agents", i, "id"]))
    }
  }
  return { document, data, agents: Object.fromEntries(agents.map((one) => [one.id, agentOf(one)])), keys }
}

/** The columns of a row, under the names that agents have in other files. */
function agentOf(data: AgentFieldsData): AgentData {
  const { id: _, prompt, instructions, instruction, tools, toolsets, model, description, ...rest } = data
  const told = instruction ?? prompt ?? instructions ?? undefined
  const sets =
    toolsets ?? tools?.map((one) => (typeof one === "string" ? ({ type: one } as ToolsetData) : one))
  return {
    ...rest,
    ...(told === undefined ? {} : { instruction: told }),
    ...(sets === undefined ? {} : { toolsets: sets }),
    ...(model === undefined || model === null ? {} : { model }),
    ...(description === undefined || description === null ? {} : { description }),
  }
}

function agentsFile(input: DialectInput): Source | undefined {
  const { options, report } = input
  const document = options.agents === undefined ? undefined : input.read(options.agents)
  if (document === undefined) return undefined
  const { value, diagnostics } = readShape(document, agentsFileShape)
  report.add(diagnostics)
  return value === undefined ? undefined : sourceOf(input, document, value)
}
