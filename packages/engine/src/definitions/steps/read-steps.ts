/** Reads the steps of a file: checks their types, fields and ids, and gives every step its path. */
import { nearest, type Path } from "../../document/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import {
  missingTeamField,
  TEAM_FIELDS,
  teamAgents,
  teamMode,
  teamProblems,
  unknownTeamFields,
} from "./pattern-steps.ts"
import {
  hasWorkflow,
  RESEARCH_MODES,
  STEP_TYPES,
  type Step,
  type StepData,
  type StepType,
  TEAM_MODES,
} from "./step-shape.ts"

interface Ids {
  readonly written: ReadonlySet<string>
  readonly paths: Map<string, Path>
  readonly requested: Map<string, number>
}

interface StepScope {
  readonly prefix: string
  readonly region: string
  readonly ids: Ids
}

interface Where {
  readonly at: Path
  /** In words: `step[2].true[0]`. */
  readonly where: string
}

export function readSteps(
  report: DocumentReport,
  agents: readonly string[],
  list: readonly StepData[],
  at: Path,
): readonly Step[] {
  const scope = { prefix: "", region: "", ids: idsOf(list) }
  return new StepReader(report, agents).list(list, { at, where: "step" }, scope)
}

class StepReader {
  readonly #report: DocumentReport
  readonly #agents: readonly string[]

  constructor(report: DocumentReport, agents: readonly string[]) {
    this.#report = report
    this.#agents = agents
  }

  list(list: readonly StepData[], where: Where, scope: StepScope): Step[] {
    return list.flatMap((data, i) => this.#step(data, item(where, i), scope) ?? [])
  }

  #error(code: string, here: Where, message: string, field: Path = [], suggestion?: string): void {
    this.#report.error(code, `workflow ${here.where}: ${message}`, [...here.at, ...field], suggestion)
  }

  #step(data: StepData, here: Where, scope: StepScope): Step | undefined {
    const type = this.#type(data, here)
    if (type === undefined) return undefined
    this.#checkFields(type, data, here)
    const id = this.#id(type, data, here, scope.ids)
    const path = scope.prefix + id
    const common = { id, path, region: scope.region, data, ...here }
    switch (type) {
      case "agent":
        this.#checkAgent(data.name, here, ["name"])
        return { ...common, type, agent: data.name ?? "" }
      case "condition": {
        const branch = (field: "true" | "false") => this.list(data[field] ?? [], within(here, field), scope)
        const condition = String(data.condition ?? "")
        return { ...common, type, condition, yes: branch("true"), no: branch("false") }
      }
      case "parallel":
        return { ...common, type, branches: this.#branches(data, here, path) }
      case "map":
        return { ...common, type, over: data.over ?? "", ...this.#body(data, here, path) }
      case "goto":
        return { ...common, type, target: data.goto ?? "" }
      case "tool":
        this.#checkAgent(data.agent, here, ["agent"])
        return { ...common, type }
      case "team":
        for (const { name, at } of teamAgents(data)) this.#checkAgent(name, here, at)
        for (const { message, at } of teamProblems(data, this.#agents)) {
          this.#error("TEAM_INVALID", here, message, at)
        }
        return { ...common, type }
      default:
        return { ...common, type }
    }
  }

  #type(data: StepData, here: Where): StepType | undefined {
    const type = data.type ?? (data.goto === undefined ? "" : "goto")
    const known = STEP_TYPES.find((one) => one === type)
    if (known !== undefined) return known
    const field = data.type === undefined ? [] : ["type"]
    this.#error("UNKNOWN_TYPE", here, `unknown type "${type}"`, field, nearest(type, STEP_TYPES))
    return undefined
  }

  #checkFields(type: StepType, data: StepData, here: Where): void {
    for (const field of unknownFields(type, data)) {
      const message = `workflow ${here.where}: ${kindOf(type, data)} has no "${field}"`
      this.#report.error("FIELD_NOT_FOR_TYPE", message, [...here.at, field], undefined, "key")
    }
    const missing = missingField(type, data)
    if (missing !== undefined) this.#error("MISSING_FIELD", here, `${type} step requires ${missing}`)
    const { mode, schema } = data
    const modes = modesOf(type)
    if (mode !== undefined && modes.length > 0 && !modes.includes(mode)) {
      const message = `a ${type} step has no mode "${mode}"; use one of ${modes.join(", ")}`
      this.#error("UNKNOWN_MODE", here, message, ["mode"], nearest(mode, modes))
    }
    if (schema !== undefined) {
      const what = `workflow ${here.where}: the schema of the answer`
      this.#report.checkSchema(schema, what, [...here.at, "schema"])
    }
  }

  #checkAgent(name: string | undefined, here: Where, field: Path): void {
    if (name === undefined || name === "" || this.#agents.includes(name)) return
    const message = `agent "${name}" not found in agents`
    this.#error("UNKNOWN_AGENT", here, message, field, nearest(name, this.#agents))
  }

  #branches(data: StepData, here: Where, path: string): Step[] {
    const list = data.steps ?? []
    const ids = idsOf(list)
    return list.flatMap((one, i) => {
      const branch = item(within(here, "steps"), i)
      const step = this.#step(one, branch, { prefix: `${path}/`, region: `${path}:${i}`, ids })
      if (step?.type !== "goto") return step ?? []
      this.#error("GOTO_INVALID", branch, "a step of a parallel block cannot be a goto")
      return []
    })
  }

  #body(data: StepData, here: Where, path: string) {
    const { step, steps } = data
    if (step !== undefined && steps?.length) {
      const message = `workflow ${here.where}: a map step has step or steps, not both`
      this.#report.error("FIELD_NOT_FOR_TYPE", message, [...here.at, "step"], undefined, "key")
    }
    const items = `${path}/*`
    const scope = (list: readonly StepData[]) => ({ prefix: `${items}/`, region: items, ids: idsOf(list) })
    if (step === undefined) {
      const list = steps ?? []
      return { body: this.list(list, within(here, "steps"), scope(list)), isSingle: false }
    }
    const only = this.#step(step, within(here, "step"), scope([step]))
    if (only === undefined) return { body: [], isSingle: false }
    const isSingle = isOneNode(only)
    return { body: [isSingle ? { ...only, path: items } : only], isSingle }
  }

  #id(type: StepType, data: StepData, here: Where, ids: Ids): string {
    const { id } = data
    if (id === undefined) {
      const base = defaultId(type, data)
      let free = base
      let n = ids.requested.get(base) ?? 1
      while (ids.written.has(free) || ids.paths.has(free)) free = `${base}_${++n}`
      ids.requested.set(base, n)
      ids.paths.set(free, here.at)
      return free
    }
    const problem = idProblem(id)
    if (problem !== undefined) this.#error("STEP_ID_INVALID", here, problem, ["id"])
    const before = ids.paths.get(id)
    if (before === undefined) ids.paths.set(id, here.at)
    else {
      const { line, column } = this.#report.at([...before, "id"])
      const message = `the id "${id}" is already used at line ${line}, column ${column}`
      this.#error("DUPLICATE_STEP", here, message, ["id"])
    }
    return id
  }
}

/** Whether one node can run the whole step. */
function isOneNode(step: Step): boolean {
  const { type, data } = step
  if (data.when !== undefined || data.on_error === "continue") return false
  if (hasWorkflow(step)) return data.timeout === undefined
  return type === "agent" || type === "human" || type === "wait" || type === "tool"
}

/** Written ids are reserved: no default takes them. */
function idsOf(list: readonly StepData[]): Ids {
  const written = new Set<string>()
  const add = (steps: readonly StepData[]): void => {
    for (const { id, true: yes, false: no } of steps) {
      if (id !== undefined) written.add(id)
      add(yes ?? [])
      add(no ?? [])
    }
  }
  add(list)
  return { written, paths: new Map(), requested: new Map() }
}

function within({ at, where }: Where, field: string): Where {
  return { at: [...at, field], where: `${where}.${field}` }
}

function item({ at, where }: Where, i: number): Where {
  return { at: [...at, i], where: `${where}[${i}]` }
}

function kindOf(type: StepType, data: StepData): string {
  const mode = teamMode(data)
  if (type === "team" && mode !== undefined) return `a ${mode} team`
  return `${type === "agent" ? "an" : "a"} ${type} step`
}

// The fields that each type of step accepts and requires.

const ANY = ["id", "type", "name", "description", "when"] as const
const RUN = ["retry", "timeout", "on_error"] as const

const FIELDS: Readonly<Record<StepType, readonly (keyof StepData)[]>> = {
  agent: [...RUN, "flow", "prompt", "loop"],
  condition: ["retry", "timeout", "condition", "true", "false"],
  parallel: [...RUN, "steps"],
  human: [...RUN, "prompt", "choices", "schema", "to", "default"],
  wait: [...RUN, "signal", "schema", "default"],
  tool: [...RUN, "flow", "tool", "toolset", "agent", "args"],
  workflow: [...RUN, "file", "prompt"],
  map: [...RUN, "over", "step", "steps", "concurrency"],
  team: [...RUN, "prompt", ...TEAM_FIELDS],
  research: [...RUN, "prompt", "mode", "model", "models", "tools", "budget"],
  // Every step accepts retry and timeout; a goto never needs them.
  goto: ["retry", "timeout", "goto"],
}

function unknownFields(type: StepType, data: StepData): (keyof StepData)[] {
  const known: readonly (keyof StepData)[] = [...ANY, ...FIELDS[type]]
  const strange = (Object.keys(data) as (keyof StepData)[]).filter(
    (field) => data[field] !== undefined && !known.includes(field),
  )
  return type === "team" ? [...strange, ...unknownTeamFields(data)] : strange
}

const REQUIRED: Partial<Readonly<Record<StepType, keyof StepData>>> = {
  agent: "name",
  condition: "condition",
  parallel: "steps",
  human: "prompt",
  wait: "signal",
  workflow: "file",
  research: "tools",
  goto: "goto",
}

function missingField(type: StepType, data: StepData): string | undefined {
  const lacks = (field: keyof StepData) => {
    const value = data[field]
    return value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length)
  }
  if (type === "tool")
    return lacks("tool") ? "tool" : lacks("toolset") && lacks("agent") ? "toolset or agent" : undefined
  if (type === "map")
    return lacks("over") ? "over" : lacks("step") && lacks("steps") ? "step or steps" : undefined
  if (type === "team") return missingTeamField(data)
  const field = REQUIRED[type]
  return field !== undefined && lacks(field) ? field : undefined
}

function modesOf(type: StepType): readonly string[] {
  return type === "team" ? TEAM_MODES : type === "research" ? RESEARCH_MODES : []
}

function defaultId(type: StepType, data: StepData): string {
  const named = { agent: data.name, tool: data.tool, workflow: data.file?.replace(/^.*[\\/]|\.[^.]*$/g, "") }
  const name = (named as Partial<Record<StepType, string>>)[type] ?? type
  return name.replace(FORBIDDEN, "_").replace(/^_+$/, type)
}

/** Characters that separate the parts of paths and node ids. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are not allowed in names.
const FORBIDDEN = /[/?#*\u0000-\u001f]/g

function idProblem(id: string): string | undefined {
  if (id.trim() === "") return "an id must not be empty"
  if (id === "__proto__") return `"${id}" cannot be an id`
  return id.search(FORBIDDEN) >= 0
    ? `the id "${id}" contains one of / ? # * or a control character`
    : undefined
}
