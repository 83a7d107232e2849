/** Compiles a steps file to a plan: reads it, checks it, orders the steps, draws the graph, and writes the calls. */
import { basename, extname } from "node:path"
import { nearest, type Path, Report } from "../../document/index.ts"
import { ExpressionError } from "../../expressions/index.ts"
import { type AgentData, type PlannedAgents, planAgents, toolsetAgent } from "../agents/index.ts"
import { type DialectInput, DocumentReport, tryRead } from "../dialect-input.ts"
import { flowArgs } from "../flow.ts"
import { functionRef } from "../import-function.ts"
import { type Arg, type ArgObject, call, callWith, definedArgs, type Ref } from "../plan/index.ts"
import { scheduleArgs } from "../schedules.ts"
import { checkReferences } from "./check-references.ts"
import { drawFlow, stepIndex } from "./flow.ts"
import { Layout, type LayoutEntry } from "./nodes/step-list.ts"
import { researchCall, teamCall } from "./pattern-steps.ts"
import { budgetArg, finalizeFlow, planFlow, reportPlacements } from "./plan-flow.ts"
import { readSteps, stepFields } from "./read-steps.ts"
import {
  type AgentStep,
  asTemplate,
  decidingTexts,
  everyStep,
  type GotoStep,
  hasOutput,
  hasTemplate,
  type Step,
  type StepData,
  type StepsData,
  stepsShape,
  stepTexts,
  UNSUPPORTED_FIELDS,
} from "./step-shape.ts"

/** Undefined if there are errors, which are reported. */
export function planSteps(input: DialectInput): Ref | undefined {
  const { report, writer, options, paths } = input
  const { document } = report
  const value = readStepsFile(report)
  if (value === undefined) return undefined
  const { agents = {}, name, description } = value
  const { list, at, maxLoops, priorOutputs, budget } = workflowOf(value)
  if (list.length === 0) {
    report.error("NO_STEPS", "workflow: no steps configured", ["workflow"])
    return undefined
  }
  const instructions = (text: string) => (hasTemplate(text) ? call("stepsText", text) : text)
  const planned = planAgents({ report, agents, file: value, writer, paths, instructions })
  const reading = new Report()
  const written = readSteps(new DocumentReport(document, reading), Object.keys(agents), list, at)
  report.all.add(reading.diagnostics)
  const steps = orderSteps(written, report)
  const entries = layoutOf(steps)
  const aliases = aliasesOf(steps)
  const layout = new Layout(entries, aliases)
  const vars = options.variables ?? {}
  const secrets = Object.keys(options.secrets ?? {})
  const hasDuplicates = reading.diagnostics.some(({ code }) => code === "DUPLICATE_STEP")
  checkReferences({ report, steps, layout, agents, vars, secrets, priorOutputs, hasDuplicates })
  const drawing = { report, written, index: stepIndex(steps), steps }
  // Routes between missing steps are not drawn.
  const flow = reading.hasErrors ? undefined : drawFlow(drawing)
  if (flow !== undefined) {
    finalizeFlow(flow, drawing)
    reportPlacements(flow, drawing)
  }
  const refs = refsOf(input, steps, planned, value)
  const runFlow = flowArgs(value.flow, report)
  const flows = flowsOf(steps, report)
  const schedules = scheduleArgs(value.schedules, report)
  if (flow === undefined || report.all.hasErrors) return undefined
  const listOptions = {
    aliases: definedArgs(used(aliases, steps, agents)),
    vars: definedArgs(vars),
    secrets: secrets.length === 0 ? undefined : secrets,
  }
  const stepsRef = writer.value("steps", callWith("stepList", [entries as Arg], listOptions))
  const title = name ?? basename(document.file, extname(document.file))
  const plan = {
    writer,
    steps: stepsRef,
    maxLoops,
    agents: planned.names,
    ref: (step: Step) => refs.get(step.path) as Ref,
    flow: (step: Step) => flows.get(step.path),
    priorOutputs,
  }
  const timeout = budget?.seconds === undefined ? undefined : Math.ceil(budget.seconds * 1_000)
  const runOptions = { description, timeout, budget: budgetArg(budget), flow: runFlow, schedules }
  return planFlow(flow, title, title, plan, runOptions)
}

/** A file with agents and no workflow: the agent `root`, else the first, is the workflow. */
export function planAgentsFile({ report, writer, paths, options }: DialectInput): Ref | undefined {
  const value = readStepsFile(report)
  if (value === undefined) return undefined
  const { agents = {} } = value
  const [first] = Object.keys(agents)
  const threadAgent = options.agent ?? (Object.hasOwn(agents, "root") ? "root" : first)
  if (options.agent !== undefined && !Object.hasOwn(agents, options.agent)) {
    const known = Object.keys(agents)
    const message = `There is no agent "${options.agent}" in agents; there are ${known.join(", ")}.`
    report.error("UNKNOWN_AGENT", message, ["agents"], nearest(options.agent, known))
    return undefined
  }
  if (threadAgent === undefined) {
    report.error("NO_AGENTS", "`agents` has no agent.", ["agents"])
    return undefined
  }
  if (value.schedules !== undefined) {
    report.unsupported('"schedules" in a file without a workflow', ["schedules"], "key")
  }
  return planAgents({ report, agents, file: value, writer, paths, threadAgent }).get(threadAgent)?.ref
}

function readStepsFile(report: DocumentReport): StepsData | undefined {
  const value = report.read(stepsShape, { step: stepFields })
  for (const field of UNSUPPORTED_FIELDS) {
    if (value?.[field] !== undefined) report.unsupported(`"${field}"`, [field], "key")
  }
  return value
}

interface WorkflowData {
  readonly list: readonly StepData[]
  readonly at: Path
  readonly maxLoops?: number | undefined
  readonly priorOutputs?: StepData["prior_outputs"]
  readonly budget?: StepData["budget"]
}

function workflowOf({ workflow }: StepsData): WorkflowData {
  if (workflow === null || workflow === undefined) return { list: [], at: ["workflow"] }
  if (Array.isArray(workflow)) return { list: workflow, at: ["workflow"] }
  const { steps, max_loop_iterations, overrides, prior_outputs: priorOutputs, budget } = workflow
  const maxLoops = overrides?.max_loop_iterations ?? max_loop_iterations
  return { list: steps ?? [], at: ["workflow", "steps"], maxLoops, priorOutputs, budget }
}

function layoutOf(list: readonly Step[]): LayoutEntry[] {
  return list.flatMap((step): LayoutEntry[] => {
    switch (step.type) {
      case "goto":
        return []
      case "condition":
        return [step.id, ...layoutOf(step.yes), ...layoutOf(step.no)]
      case "parallel":
        return [{ id: step.id, branches: step.branches.map((branch) => layoutOf([branch])) }]
      case "map":
        return [{ id: step.id, each: step.isSingle ? [] : layoutOf(step.body) }]
      default:
        return [step.id]
    }
  })
}

/** The limits of steps, by path. Problems are reported. */
function flowsOf(steps: readonly Step[], report: DocumentReport): ReadonlyMap<string, ArgObject | undefined> {
  const flows = new Map<string, ArgObject | undefined>()
  for (const { path, data, at } of everyStep(steps)) {
    if (data.flow === undefined) continue
    flows.set(path, flowArgs(data.flow, report, { at: [...at, "flow"], key: "stepFlowKey" }))
  }
  return flows
}

/** The id of a step that loops back is an alias for its target. */
function aliasesOf(steps: readonly Step[]): Record<string, string> {
  const aliases: Record<string, string> = {}
  for (const step of everyStep(steps)) {
    if (step.type !== "goto" || !step.isAlias) continue
    aliases[step.path] = step.path.slice(0, -step.id.length) + step.target
  }
  return aliases
}

function used(
  aliases: Readonly<Record<string, string>>,
  steps: readonly Step[],
  agents: Readonly<Record<string, AgentData>>,
): Record<string, string> {
  if (Object.keys(aliases).length === 0) return {}
  const texts = [...everyStep(steps)].flatMap((step) => stepTexts(step).map(({ read }) => read))
  for (const { instruction = "" } of Object.values(agents)) {
    if (hasTemplate(instruction)) texts.push(tryRead(instruction, asTemplate))
  }
  const names = new Set(
    texts.flatMap((read) => ("references" in read ? read.references : [])).map(({ path }) => path[0]),
  )
  const isUsed = ([path]: [string, string]) => names.has(path.slice(path.lastIndexOf("/") + 1))
  return Object.fromEntries(Object.entries(aliases).filter(isUsed))
}

/** The values that steps run: agents, agents that have a tool, teams, research, workflows of other files. */
function refsOf(
  { report, writer, include, paths }: DialectInput,
  steps: readonly Step[],
  planned: PlannedAgents,
  file: StepsData,
): ReadonlyMap<string, Ref> {
  const { models = {}, providers = {} } = file
  const refs = new Map<string, Ref>()
  const refOf = (step: Step): Ref | undefined => {
    const { type, path, data, at } = step
    if (type === "team") {
      const team = teamCall(step, planned, report)
      return team && writer.value(`${path} team`, team)
    }
    if (type === "research") {
      const research = researchCall(step, { writer, paths, models: { models, providers, report } })
      return research && writer.value(`${path} research`, research)
    }
    if (type === "workflow" && data.file !== undefined) return include(data.file, report.at([...at, "file"]))
    if (type === "function") {
      const where = `workflow ${step.where}`
      return functionRef(data.module, { where, at: [...at, "module"] }, { report, writer, paths })
    }
    if (type !== "agent" && type !== "tool") return undefined
    if (type === "agent" || data.toolset === undefined) return planned.get(data.name ?? data.agent ?? "")?.ref
    return toolsetAgent(path, data.toolset, at, { report, file, writer, paths })
  }
  for (const step of everyStep(steps)) {
    const ref = refOf(step)
    if (ref !== undefined) refs.set(step.path, ref)
  }
  return refs
}

/**
 * Applies two implicit rules of a list of steps. A condition that refers to a later step needs its output, so that step
 * moves to just before the condition. A branch that ends with the agent of a step before the condition loops back to it.
 */

export function orderSteps(list: readonly Step[], report: DocumentReport): readonly Step[] {
  const before: Before = new Map()
  return neededFirst(list).map((step) => {
    const result = ordered(step, before, report)
    if (step.type === "agent") before.set(step.agent, before.has(step.agent) ? "several" : step)
    return result
  })
}

type Before = Map<string, AgentStep | "several">

function ordered(step: Step, before: Before, report: DocumentReport): Step {
  switch (step.type) {
    case "condition": {
      const branch = (list: readonly Step[]) => loopingBack(orderSteps(list, report), before, report)
      return { ...step, yes: branch(step.yes), no: branch(step.no) }
    }
    case "parallel":
      return { ...step, branches: step.branches.map((branch) => ordered(branch, new Map(), report)) }
    case "map":
      return { ...step, body: orderSteps(step.body, report) }
    default:
      return step
  }
}

/** Moves the later steps that a condition refers to directly before it. */
function neededFirst(list: readonly Step[]): readonly Step[] {
  if (!list.some((step) => namesIn(step).length > 0)) return list
  const byId = new Map(list.filter(hasOutput).map((step) => [step.id, step]))
  const positions = new Map(list.map((step, i) => [step, i]))
  const placed = new Set<Step>()
  const result: Step[] = []
  const open = (step: Step): Opened => {
    placed.add(step)
    const needed = new Set(namesIn(step).flatMap((name) => byId.get(name) ?? []))
    // In the order of definition, not of the condition.
    const inOrder = [...needed].sort((a, b) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0))
    return { step, start: result.length, needed: inOrder.values() }
  }
  for (const step of list) {
    // Uses an explicit stack, because thousands of steps may each need the next.
    const stack = placed.has(step) ? [] : [open(step)]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const { value: other } = top.needed.next()
      if (other === undefined) {
        const first = result[top.start]
        result.push(first === undefined ? top.step : { ...top.step, enteredAt: first.path })
        stack.pop()
      } else if (!placed.has(other)) stack.push(open(other))
    }
  }
  return result
}

interface Opened {
  readonly step: Step
  readonly start: number
  readonly needed: Iterator<Step, undefined>
}

function namesIn(step: Step): string[] {
  return decidingTexts(step).flatMap(({ read }) => {
    if (read instanceof ExpressionError) return []
    return read.references.flatMap(({ root, path: [name] }) =>
      root === "steps" && name !== undefined ? [String(name)] : [],
    )
  })
}

function loopingBack(branch: readonly Step[], before: Before, report: DocumentReport): readonly Step[] {
  const last = branch.at(-1)
  if (last?.type !== "agent" || last.data.loop === false) return branch
  const target = before.get(last.agent)
  if (target === undefined || target === "several") return branch
  for (const field of IGNORED) {
    if (last.data[field] === undefined) continue
    const message = `workflow ${last.where}: this step loops back to "${target.id}", so its "${field}" has no effect; set loop: false to make it a separate step`
    report.warning("LOOP_BACK", message, [...last.at, field], undefined, "key")
  }
  const { agent: _, ...common } = last
  const back: GotoStep = { ...common, type: "goto", target: target.id, isAlias: true }
  return [...branch.slice(0, -1), back]
}

const IGNORED: readonly (keyof StepData)[] = ["prompt", "retry", "timeout", "flow", "placement", "on_error"]
