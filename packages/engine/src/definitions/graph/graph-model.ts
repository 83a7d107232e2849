/** The model of a graph, the same for both spellings. */
import type { NodeId } from "../../core/index.ts"
import type { Path } from "../../document/index.ts"
import { type AgentData, type PlannedAgent, planAgents, type ToolsetData } from "../agents/index.ts"
import { type DialectInput, DocumentReport } from "../dialect-input.ts"
import type { Arg } from "../plan/index.ts"
import {
  type AgentFieldsData,
  type AgentsFileData,
  agentsFileShape,
  type NodeData,
  type NodeType,
} from "./graph-shape.ts"

export interface ModelNode {
  readonly id: NodeId
  /** The name that agents and people use. */
  readonly name: string
  readonly type: NodeType
  readonly agentId: string | undefined
  /** The type is a guess, and the mistake is reported: its fields are not checked. */
  readonly isUnknown?: true | undefined
  /** Its other fields, with variables filled in. */
  readonly data: NodeData
  readonly at: Path
}

export interface ModelEdge {
  /** As written, else its position. */
  readonly id: string
  readonly from: NodeId
  readonly to: NodeId | null
  /** A name after agents and tools, a condition after other nodes; undefined: always followed. */
  readonly when: string | undefined
  readonly at: Path
}

export interface Limits {
  readonly maxSteps: number
  readonly timeout: number | undefined
  readonly maxIters: number
  readonly maxParallel: number | undefined
}

export interface GraphModel {
  /** Written as rows: agents share a conversation and choose the next speaker. */
  readonly isChat: boolean
  readonly id: string
  readonly title: string
  readonly description: string | undefined
  readonly isConversational: boolean
  readonly entry: NodeId
  readonly entryAt: Path | undefined
  readonly exits: readonly NodeId[] | undefined
  readonly nodes: readonly ModelNode[]
  readonly edges: readonly ModelEdge[]
  readonly limits: Limits
}

/** Whether its edges are chosen by name instead of by a condition. */
export function isChosenByName({ isChat }: Pick<GraphModel, "isChat">, type: NodeType): boolean {
  return isChat && (type === "agent" || type === "tool_executor" || type === "human_handoff")
}

/** An index for each list of edges. */
const indexes = new WeakMap<readonly ModelEdge[], ReadonlyMap<NodeId, readonly ModelEdge[]>>()

export function edgesFrom({ edges }: GraphModel, id: NodeId): readonly ModelEdge[] {
  const index = indexes.get(edges) ?? bySource(edges)
  indexes.set(edges, index)
  return index.get(id) ?? []
}

function bySource(edges: readonly ModelEdge[]): ReadonlyMap<NodeId, readonly ModelEdge[]> {
  const index = new Map<NodeId, ModelEdge[]>()
  for (const edge of edges) {
    const list = index.get(edge.from)
    if (list === undefined) index.set(edge.from, [edge])
    else list.push(edge)
  }
  return index
}

export function textIn(value: string | boolean | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value)
}

/** As the file spells it. */
export function typeName({ isChat }: Pick<GraphModel, "isChat">, type: NodeType): string {
  return isChat ? type.toUpperCase() : type
}

/** `an AGENT node`, `a merge node`. */
export function aType(model: GraphModel, type: NodeType): string {
  return `${type === "agent" ? "an" : "a"} ${typeName(model, type)} node`
}

// The agents of a graph: from its own file, else from the file that the caller names.

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

  /** Two agents have the same id, which is reported: an unknown agent may be one of them. */
  get hasDuplicates(): boolean {
    return this.#sources.some(({ report }) =>
      report.all.diagnostics.some(({ code }) => code === "DUPLICATE_AGENT"),
    )
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
