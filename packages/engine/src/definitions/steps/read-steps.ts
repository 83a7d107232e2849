/** Reads the steps of a file: checks their types, fields and ids, and gives every step its path. */
import { type Diagnostic, nearest, type Path, Report } from "../../document/index.ts"
import { DocumentReport } from "../dialect-input.ts"
import { teamAgents, teamMode, teamProblems } from "./pattern-steps.ts"
import { RESEARCH_BUDGET, stepKind, TEAM_KINDS } from "./step-kinds.ts"
import {
  hasWorkflow,
  RESEARCH_MODES,
  STEP_TYPES,
  type Step,
  type StepData,
  type StepType,
  TEAM_MODES,
} from "./step-shape.ts"

const TEAM_FIELDS = Object.values(TEAM_KINDS).flatMap(({ fields }) => fields)

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
  const own = new Report()
  const reader = new StepReader(new DocumentReport(report.document, own), agents)
  const steps = reader.list(list, { at, where: "step" }, scope)
  reader.reportUnknownAgents()
  report.all.add(own.diagnostics.toSorted((a, b) => offsetOf(a) - offsetOf(b)))
  return steps
}

function offsetOf({ place }: Diagnostic): number {
  return place === undefined ? 0 : place.line * 100_000 + place.column
}

class StepReader {
  readonly #report: DocumentReport
  readonly #agents: readonly string[]
  /** Where each is named first, and the other places. */
  readonly #unknownAgents = new Map<string, { here: Where; field: Path; others: Path[] }>()

  constructor(report: DocumentReport, agents: readonly string[]) {
    this.#report = report
    this.#agents = agents
  }

  list(list: readonly StepData[], where: Where, scope: StepScope): Step[] {
    return list.map((data, i) => this.#step(data, item(where, i), scope))
  }

  #error(code: string, here: Where, message: string, field: Path = [], suggestion?: string): void {
    this.#report.error(code, `workflow ${here.where}: ${message}`, [...here.at, ...field], suggestion)
  }

  #step(data: StepData, here: Where, scope: StepScope): Step {
    const known = this.#type(data, here)
    // A step of an unknown type is reported once: other steps may refer to it, and its own steps are read.
    const type = known ?? meantType(data.type)
    if (known !== undefined) this.#checkFields(type, data, here)
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
    const missing = missingField(type, data)
    const unknown = unknownFields(type, data)
    // The name of an agent is often written in the field that other steps have for it.
    if (type === "agent" && missing === "name" && unknown.includes("agent")) {
      const message = `workflow ${here.where}: an agent step names its agent with "name", not "agent"`
      this.#report.error("FIELD_NOT_FOR_TYPE", message, [...here.at, "agent"], "name", "key")
      return
    }
    for (const field of unknown) {
      const message = `workflow ${here.where}: ${kindOf(type, data)} has no "${field}"`
      this.#report.error("FIELD_NOT_FOR_TYPE", message, [...here.at, field], undefined, "key")
    }
    if (missing !== undefined && !this.#report.hasUnknownField(here.at, data))
      this.#error("MISSING_FIELD", here, `${type} step requires ${missing}`)
    const { mode, schema } = data
    for (const { field, message } of budgetProblems(type, data)) {
      this.#report.error(
        "FIELD_NOT_FOR_TYPE",
        `workflow ${here.where}: ${message}`,
        [...here.at, "budget", field],
        undefined,
        "key",
      )
    }
    const modes = modesOf(type)
    if (mode !== undefined && modes.length > 0 && !modes.includes(mode)) {
      const message = `a ${type} step has no mode "${mode}"; use one of ${modes.join(", ")}`
      this.#error("UNKNOWN_MODE", here, message, ["mode"], nearest(mode, modes))
    }
    if (schema !== undefined) {
      const what = `workflow ${here.where}: the schema of the ${type === "function" ? "result" : "answer"}`
      this.#report.checkSchema(schema, what, [...here.at, "schema"])
    }
  }

  #checkAgent(name: string | undefined, here: Where, field: Path): void {
    if (name === undefined || name === "" || this.#agents.includes(name)) return
    const known = this.#unknownAgents.get(name)
    if (known === undefined) this.#unknownAgents.set(name, { here, field, others: [] })
    else known.others.push([...here.at, ...field])
  }

  /** Reports each unknown agent once, with all places that name it. */
  reportUnknownAgents(): void {
    for (const [name, { here, field, others }] of this.#unknownAgents) {
      const message = `agent "${name}" not found in agents${this.#report.alsoAt(others)}`
      this.#error("UNKNOWN_AGENT", here, message, field, nearest(name, this.#agents))
    }
  }

  #branches(data: StepData, here: Where, path: string): Step[] {
    const list = data.steps ?? []
    const ids = idsOf(list)
    return list.flatMap((one, i) => {
      const branch = item(within(here, "steps"), i)
      const step = this.#step(one, branch, { prefix: `${path}/`, region: `${path}:${i}`, ids })
      if (step.type !== "goto") return step
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

function meantType(written = ""): StepType {
  const meant = nearest(written, STEP_TYPES)
  return STEP_TYPES.find((one) => one === meant) ?? "wait"
}

/** Whether one node can run the whole step. */
function isOneNode(step: Step): boolean {
  const { type, data } = step
  if (data.when !== undefined || data.on_error === "continue") return false
  if (hasWorkflow(step)) return data.timeout === undefined
  return type === "agent" || type === "human" || type === "wait" || type === "tool" || type === "function"
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

function unknownFields(type: StepType, data: StepData): (keyof StepData)[] {
  const known = stepKind(type, data.mode).fields
  // A team without a known mode may have the fields of any.
  const open = type === "team" && teamMode(data) === undefined ? TEAM_FIELDS : []
  return (Object.keys(data) as (keyof StepData)[]).filter(
    (field) => data[field] !== undefined && !known.includes(field) && !open.includes(field),
  )
}

/** The fields of a step, by its type. */
export function stepFields(step: unknown): readonly string[] | undefined {
  const { type, mode, goto } = step as Readonly<Record<string, unknown>>
  const known = STEP_TYPES.find((one) => one === (type ?? (goto === undefined ? "" : "goto")))
  return known && stepKind(known, typeof mode === "string" ? mode : undefined).fields
}

/** The first required field that the step lacks; of several that would do, all of them. */
function missingField(type: StepType, data: StepData): string | undefined {
  const lacks = (field: keyof StepData) => {
    const value = data[field]
    return value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length)
  }
  const groups = (stepKind(type, data.mode).required ?? []).map((one) =>
    typeof one === "string" ? [one] : one,
  )
  return groups.find((group) => group.every(lacks))?.join(" or ")
}

/** A research ends its search by its budget; another step ends the run, and has `timeout` for seconds. */
function budgetProblems(type: StepType, { budget = {} }: StepData): { field: string; message: string }[] {
  const isResearch = type === "research"
  return Object.keys(budget)
    .filter((field) => isResearch !== RESEARCH_BUDGET.includes(field) && (isResearch || field === "seconds"))
    .map((field) => ({
      field,
      message: isResearch
        ? `the budget of a research has ${RESEARCH_BUDGET.join(", ")}, not "${field}"`
        : 'the budget of a step has no "seconds"; set its timeout',
    }))
}

function modesOf(type: StepType): readonly string[] {
  return type === "team" ? TEAM_MODES : type === "research" ? RESEARCH_MODES : []
}

function defaultId(type: StepType, data: StepData): string {
  const named = {
    agent: data.name,
    tool: data.tool,
    function: data.module?.split("#")[1],
    workflow: data.file?.replace(/^.*[\\/]|\.[^.]*$/g, ""),
  }
  const name = (named as Partial<Record<StepType, string>>)[type] || type
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
