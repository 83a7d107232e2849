/** From the data of a file to its steps: types, fields and ids are checked, and every step knows its place. */
import { checkSchema } from "../check-schema.ts"
import { type Document, nearest, type Path, type Report } from "../document/index.ts"
import { hasWorkflow, type Step } from "./step.ts"
import { defaultId, idProblem, missingField, modesOf, strangeFields } from "./step-fields.ts"
import { STEP_TYPES, type StepData, type StepType } from "./step-shape.ts"
import { teamAgents, teamMode, teamProblems } from "./team-fields.ts"

interface ReadingSteps {
  readonly document: Document
  readonly report: Report
  readonly agents: readonly string[]
}

/** Where a list of steps is: what its ids start with, and where it can go. */
interface Around {
  readonly prefix: string
  readonly region: string
  readonly ids: Ids
}

/** The ids of one block, and where each was written first. */
class Ids {
  readonly given = new Set<string>()
  readonly places = new Map<string, Path>()
  /** How often a default was wanted. */
  readonly wanted = new Map<string, number>()
}

export function readSteps(reading: ReadingSteps, list: readonly StepData[], at: Path): readonly Step[] {
  const around = { prefix: "", region: "", ids: idsOf(list) }
  return readList(reading, list, { at, where: "step" }, around)
}

interface Where {
  readonly at: Path
  /** In words. */
  readonly where: string
}

function readList(reading: ReadingSteps, list: readonly StepData[], where: Where, around: Around): Step[] {
  return list.flatMap((data, i) => {
    const here = { at: [...where.at, i], where: `${where.where}[${i}]` }
    return readStep(reading, data, here, around) ?? []
  })
}

function readStep(reading: ReadingSteps, data: StepData, here: Where, around: Around): Step | undefined {
  const { report } = reading
  const type = typeOf(reading, data, here)
  if (type === undefined) return undefined
  const place = (field?: string, part?: "key") =>
    reading.document.place(field === undefined ? here.at : [...here.at, field], part)
  for (const field of strangeFields(type, data)) {
    const text = `workflow ${here.where}: ${kindOf(type, data)} has no "${field}"`
    report.error("FIELD_NOT_FOR_TYPE", text, place(field, "key"))
  }
  const missing = missingField(type, data)
  if (missing !== undefined) {
    const text = `workflow ${here.where}: ${type} step requires ${missing}`
    report.error("MISSING_FIELD", text, place())
  }
  checkMode(reading, type, data, here)
  if (data.schema !== undefined) {
    checkSchema(data.schema, `workflow ${here.where}: the schema of the answer`, {
      report,
      path: [...here.at, "schema"],
      place: (to, part) => reading.document.place(to, part),
    })
  }
  const id = idOf(reading, type, data, here, around)
  const path = around.prefix + id
  const common = { id, path, region: around.region, data, ...here }
  switch (type) {
    case "agent":
      checkAgent(reading, data.name, here, "name")
      return { ...common, type, agent: data.name ?? "" }
    case "condition": {
      const branch = (field: "true" | "false") =>
        readList(reading, data[field] ?? [], within(here, field), around)
      const condition = String(data.condition ?? "")
      return { ...common, type, condition, yes: branch("true"), no: branch("false") }
    }
    case "parallel":
      return { ...common, type, branches: readBranches(reading, data, here, path) }
    case "map":
      return { ...common, type, over: data.over ?? "", ...readBody(reading, data, here, path) }
    case "goto":
      return { ...common, type, target: data.goto ?? "" }
    case "tool":
      if (data.agent !== undefined) checkAgent(reading, data.agent, here, "agent")
      return { ...common, type }
    case "team":
      checkTeam(reading, data, here)
      return { ...common, type }
    default:
      return { ...common, type }
  }
}

function typeOf(
  { document, report }: ReadingSteps,
  data: StepData,
  { at, where }: Where,
): StepType | undefined {
  const type = data.type ?? (data.goto === undefined ? "" : "goto")
  const known = STEP_TYPES.find((one) => one === type)
  if (known !== undefined) return known
  const place = document.place(data.type === undefined ? at : [...at, "type"])
  report.error("UNKNOWN_TYPE", `workflow ${where}: unknown type "${type}"`, place, nearest(type, STEP_TYPES))
  return undefined
}

function checkMode(
  { document, report }: ReadingSteps,
  type: StepType,
  { mode }: StepData,
  { at, where }: Where,
): void {
  const modes = modesOf(type)
  if (mode === undefined || modes.length === 0 || modes.includes(mode)) return
  const text = `workflow ${where}: a ${type} step has no mode "${mode}"; it has ${modes.join(", ")}`
  report.error("UNKNOWN_MODE", text, document.place([...at, "mode"]), nearest(mode, modes))
}

function checkAgent(
  { document, report, agents }: ReadingSteps,
  name: string | undefined,
  { at, where }: Where,
  ...field: Path
): void {
  if (name === undefined || name === "" || agents.includes(name)) return
  const text = `workflow ${where}: agent "${name}" not found in agents`
  report.error("UNKNOWN_AGENT", text, document.place([...at, ...field]), nearest(name, agents))
}

function checkTeam(reading: ReadingSteps, data: StepData, here: Where): void {
  const { document, report, agents } = reading
  for (const { name, at } of teamAgents(data)) checkAgent(reading, name, here, ...at)
  for (const { text, at } of teamProblems(data, agents)) {
    report.error("TEAM_INVALID", `workflow ${here.where}: ${text}`, document.place([...here.at, ...at]))
  }
}

function readBranches(reading: ReadingSteps, data: StepData, here: Where, path: string): Step[] {
  const list = data.steps ?? []
  const ids = idsOf(list)
  const where = within(here, "steps")
  return list.flatMap((one, i) => {
    const around = { prefix: `${path}/`, region: `${path}:${i}`, ids }
    const place = { at: [...where.at, i], where: `${where.where}[${i}]` }
    const step = readStep(reading, one, place, around)
    if (step?.type !== "goto") return step ?? []
    const text = `workflow ${place.where}: a step of a parallel block cannot be a goto`
    reading.report.error("GOTO_INVALID", text, reading.document.place(place.at))
    return []
  })
}

function readBody(reading: ReadingSteps, data: StepData, here: Where, path: string) {
  const { step, steps } = data
  if (step !== undefined && steps?.length) {
    const text = `workflow ${here.where}: a map step has step or steps, not both`
    reading.report.error("FIELD_NOT_FOR_TYPE", text, reading.document.place([...here.at, "step"], "key"))
  }
  const item = `${path}/*`
  const around = (list: readonly StepData[]) => ({ prefix: `${item}/`, region: item, ids: idsOf(list) })
  if (step === undefined) {
    const list = steps ?? []
    return { body: readList(reading, list, within(here, "steps"), around(list)), isSingle: false }
  }
  const only = readStep(reading, step, within(here, "step"), around([step]))
  if (only === undefined) return { body: [], isSingle: false }
  const isSingle = isAlone(only)
  return { body: [isSingle ? { ...only, path: item } : only], isSingle }
}

/** One node can be all of it. */
function isAlone(step: Step): boolean {
  const { type, data } = step
  if (data.when !== undefined || data.on_error === "continue") return false
  if (hasWorkflow(step)) return data.timeout === undefined
  return type === "agent" || type === "human" || type === "tool"
}

/** Ids that are written down are not given to others. */
function idsOf(list: readonly StepData[]): Ids {
  const ids = new Ids()
  const add = (steps: readonly StepData[]): void => {
    for (const { id, true: yes, false: no } of steps) {
      if (id !== undefined) ids.given.add(id)
      add(yes ?? [])
      add(no ?? [])
    }
  }
  add(list)
  return ids
}

function idOf(
  { document, report }: ReadingSteps,
  type: StepType,
  data: StepData,
  { at, where }: Where,
  { ids }: Around,
): string {
  const { id } = data
  if (id === undefined) {
    const base = defaultId(type, data)
    const isTaken = (one: string) => ids.given.has(one) || ids.places.has(one)
    let free = base
    let n = ids.wanted.get(base) ?? 1
    while (isTaken(free)) free = `${base}_${++n}`
    ids.wanted.set(base, n)
    ids.places.set(free, at)
    return free
  }
  const problem = idProblem(id)
  if (problem !== undefined) {
    report.error("STEP_ID_INVALID", `workflow ${where}: ${problem}`, document.place([...at, "id"]))
  }
  const before = ids.places.get(id)
  if (before === undefined) ids.places.set(id, at)
  else {
    const { line, column } = document.place([...before, "id"])
    const text = `workflow ${where}: there is a step "${id}" already, at line ${line}, column ${column}`
    report.error("DUPLICATE_STEP", text, document.place([...at, "id"]))
  }
  return id
}

function within({ at, where }: Where, field: string): Where {
  return { at: [...at, field], where: `${where}.${field}` }
}

/** In words. */
function kindOf(type: StepType, data: StepData): string {
  const mode = teamMode(data)
  if (type === "team" && mode !== undefined) return `a ${mode} team`
  return `${type === "agent" ? "an" : "a"} ${type} step`
}
