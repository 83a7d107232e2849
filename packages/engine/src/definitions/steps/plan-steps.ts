/** A steps file as a plan: read, checked, ordered, drawn as a graph, and written down as calls. */
import { basename, extname } from "node:path"
import type { Json } from "../../core/index.ts"
import { type AgentData, type PlannedAgents, planAgents, toolsetAgent } from "../agents/index.ts"
import type { DialectInput } from "../dialect.ts"
import { type Path, Report, readShape } from "../document/index.ts"
import { type Arg, type ArgObject, call, callWith, type Ref } from "../plan/index.ts"
import { checkReferences } from "./check-references.ts"
import { drawFlow, stepIndex } from "./flow.ts"
import { Layout, type LayoutEntry } from "./layout.ts"
import { orderSteps } from "./order-steps.ts"
import { planFlow } from "./plan-flow.ts"
import { researchCall } from "./plan-research.ts"
import { teamCall } from "./plan-team.ts"
import { readSteps } from "./read-steps.ts"
import { settleFlow } from "./settle-flow.ts"
import { everyStep, type Step } from "./step.ts"
import { type StepData, type StepsData, stepsShape, UNSUPPORTED_FIELDS } from "./step-shape.ts"
import { asTemplate, hasTemplate, readText, stepTexts } from "./step-texts.ts"

/** Undefined where there are errors: they are in the report. */
export function planSteps(input: DialectInput): Ref | undefined {
  const { document, report, writer, options } = input
  const { value, diagnostics } = readShape(document, stepsShape)
  report.add(diagnostics)
  if (value === undefined) return undefined
  for (const field of UNSUPPORTED_FIELDS) {
    if (value[field] === undefined) continue
    report.warning(
      "NOT_SUPPORTED",
      `"${field}" is not supported here, and does nothing.`,
      document.place([field], "key"),
    )
  }
  const { agents = {}, models, providers, permissions, name, description } = value
  const { list, at, maxLoops } = workflowOf(value)
  if (list.length === 0) {
    report.error("NO_STEPS", "workflow: no steps configured", document.place(["workflow"]))
    return undefined
  }
  const planned = planAgents({
    document,
    agents,
    models,
    providers,
    permissions,
    report,
    writer,
    paths: input.paths,
    instructions: (text) => (hasTemplate(text) ? call("stepsText", text) : text),
  })
  const reading = new Report()
  const written = readSteps({ document, report: reading, agents: Object.keys(agents) }, list, at)
  report.add(reading.diagnostics)
  const steps = orderSteps(written, { document, report })
  const entries = layoutOf(steps)
  const aliases = aliasesOf(steps)
  const layout = new Layout(entries, aliases)
  const vars = options.variables ?? {}
  const secrets = Object.keys(options.secrets ?? {})
  checkReferences({ document, report, steps, layout, agents, vars, secrets })
  const drawing = { document, report, written, index: stepIndex(steps), steps }
  // Where steps are missing, the ways between them are not what was meant.
  const flow = reading.hasErrors ? undefined : drawFlow(drawing)
  if (flow !== undefined) settleFlow(flow, drawing)
  const refs = refsOf(input, steps, planned, value)
  if (flow === undefined || report.hasErrors) return undefined
  const extra = {
    aliases: given(used(aliases, steps, agents)),
    vars: given(vars),
    secrets: secrets.length === 0 ? undefined : secrets,
  }
  const stepsRef = writer.value("steps", callWith("stepList", [entries as Arg], extra))
  const title = name ?? basename(document.file, extname(document.file))
  const plan = {
    writer,
    steps: stepsRef,
    maxLoops,
    agents: planned.names,
    ref: (step: Step) => refs.get(step.path) as Ref,
  }
  return planFlow(flow, title, title, plan, { description })
}

function workflowOf({ workflow }: StepsData): {
  list: readonly StepData[]
  at: Path
  maxLoops: number | undefined
} {
  if (workflow === null || workflow === undefined) return { list: [], at: ["workflow"], maxLoops: undefined }
  if (Array.isArray(workflow)) return { list: workflow, at: ["workflow"], maxLoops: undefined }
  const { steps, max_loop_iterations, overrides } = workflow
  const maxLoops = overrides?.max_loop_iterations ?? max_loop_iterations
  return { list: steps ?? [], at: ["workflow", "steps"], maxLoops }
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

/** A step that became a way back is another name for where it leads. */
function aliasesOf(steps: readonly Step[]): Record<string, string> {
  const aliases: Record<string, string> = {}
  for (const step of everyStep(steps)) {
    if (step.type !== "goto" || !step.isAlias) continue
    aliases[step.path] = step.path.slice(0, -step.id.length) + step.target
  }
  return aliases
}

/** Those that a text names. */
function used(
  aliases: Readonly<Record<string, string>>,
  steps: readonly Step[],
  agents: Readonly<Record<string, AgentData>>,
): Record<string, string> {
  const texts = [...everyStep(steps)].flatMap((step) => stepTexts(step).map(({ read }) => read))
  for (const { instruction = "" } of Object.values(agents)) {
    if (hasTemplate(instruction)) texts.push(readText(instruction, asTemplate))
  }
  const names = new Set(
    texts.flatMap((read) => ("references" in read ? read.references : [])).map(({ path }) => path[0]),
  )
  const isUsed = ([path]: [string, string]) => names.has(path.slice(path.lastIndexOf("/") + 1))
  return Object.fromEntries(Object.entries(aliases).filter(isUsed))
}

function given(values: Readonly<Record<string, Json>>): ArgObject | undefined {
  return Object.keys(values).length === 0 ? undefined : values
}

/** What steps run: agents, those that have a tool, teams, researches, workflows of other files. */
function refsOf(
  { document, report, writer, include, paths }: DialectInput,
  steps: readonly Step[],
  planned: PlannedAgents,
  { models = {}, providers = {}, permissions }: StepsData,
): ReadonlyMap<string, Ref> {
  const place = (path: Path) => document.place(path)
  const refs = new Map<string, Ref>()
  const refOf = (step: Step): Ref | undefined => {
    const { type, path, data, at } = step
    if (type === "team") {
      const team = teamCall(step, { document, report, agents: planned })
      return team && writer.value(`${path} team`, team)
    }
    if (type === "research") {
      const names = { models, providers, report, place }
      const research = researchCall(step, { document, writer, paths, models: names })
      return research && writer.value(`${path} research`, research)
    }
    if (type === "workflow" && data.file !== undefined)
      return include(data.file, document.place([...at, "file"]))
    if (type !== "agent" && type !== "tool") return undefined
    if (type === "agent" || data.toolset === undefined) return planned.get(data.name ?? data.agent ?? "")?.ref
    return toolsetAgent(path, data.toolset, at, { document, permissions, report, writer, paths })
  }
  for (const step of everyStep(steps)) {
    const ref = refOf(step)
    if (ref !== undefined) refs.set(step.path, ref)
  }
  return refs
}
