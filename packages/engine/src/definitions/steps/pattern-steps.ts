/** Steps that run a pattern: checks their fields, and writes the call that creates the workflow of a team or a research. */

import { dirname, isAbsolute, join } from "node:path"
import { nearest } from "../../document/index.ts"
import { condition, ExpressionError } from "../../expressions/index.ts"
import { isReservedName } from "../../patterns/teams/index.ts"
import { type ModelNames, modelArg, type PlannedAgents } from "../agents/index.ts"
import type { DefinitionPaths } from "../definition.ts"
import { type DocumentReport, tryRead } from "../dialect-input.ts"
import { type Arg, type Call, call, callWith, type PlanWriter } from "../plan/index.ts"
import { TEAM_ROOTS } from "./nodes/work-steps.ts"
import type { TeamMode } from "./step-kinds.ts"
import { hasTemplate, type SearchData, type Step, type StepData, TEAM_MODES } from "./step-shape.ts"

/** Undefined if the mode is missing, which is already reported. */
export function teamCall(
  { id, data, at }: Step,
  agents: PlannedAgents,
  report: DocumentReport,
): Call | undefined {
  const { manager, start, aggregate, terminate, autonomous, plan_review, to } = data
  const { max_rounds: maxRounds, max_stalls: maxStalls, max_resets: maxResets } = data
  const ref = (name: string | undefined) => (name === undefined ? undefined : agents.get(name)?.ref)
  for (const { name, at: field } of teamAgents(data)) {
    // A team is a workflow of its own: its agents see other steps only through its prompt.
    if (!hasTemplate(agents.get(name)?.data.instruction ?? "")) continue
    const message = `The instruction of agent "${name}" has templates, which are empty in a team; use the team's prompt.`
    report.warning("TEMPLATE_IN_TEAM", message, [...at, ...field])
  }
  const members = (data.agents ?? []).flatMap((name) => ref(name) ?? [])
  const ends = terminate === undefined ? undefined : checkedEnd(terminate, [...at, "terminate"], report)
  const common = { name: id }
  const options = { ...common, agents: members, maxRounds, terminate: ends }
  switch (teamMode(data)) {
    case "sequential":
      return call("sequential", members, common)
    case "concurrent":
      return call("concurrent", members, { ...common, aggregate: ref(aggregate) })
    case "handoff": {
      const alone = autonomous === undefined ? undefined : { turns: autonomous }
      return call("handoff", { ...options, start: ref(start), autonomous: alone, to })
    }
    case "group_chat":
      return call("groupChat", { ...options, manager: ref(manager) })
    case "magentic": {
      const planReview = plan_review && to !== undefined ? { to } : plan_review
      const limits = { maxRounds, maxStalls, maxResets }
      return call("magentic", { ...common, manager: ref(manager), agents: members, ...limits, planReview })
    }
    case undefined:
      return undefined
  }
}

function checkedEnd(text: string, at: Step["at"], report: DocumentReport): Arg {
  const read = tryRead(text, (one) => condition(one, "steps"))
  if (read instanceof ExpressionError) {
    report.invalidExpression(read, at)
    return undefined
  }
  const names = TEAM_ROOTS.map((one) => `$${one}`)
  for (const { root, start, end } of read.references) {
    if (TEAM_ROOTS.some((one) => one === root)) continue
    const message = `There is no $${root} in terminate; use one of ${names.join(", ")}.`
    report.error("UNKNOWN_NAME", message, at, nearest(`$${root}`, names), { from: start, to: end })
  }
  return call("teamEnds", text)
}

/** Undefined if it is missing or unknown. */
export function teamMode({ mode }: StepData): TeamMode | undefined {
  return TEAM_MODES.find((one) => one === mode)
}

interface Named {
  readonly name: string
  readonly at: readonly (string | number)[]
}

/** The problems of a team. Unknown agents are reported elsewhere. */
export function teamProblems(
  data: StepData,
  known: readonly string[],
): readonly { readonly at: Named["at"]; readonly message: string }[] {
  const { agents = [], manager, start, mode } = data
  const refused = teamAgents(data).filter(({ name }) => isReservedName(name))
  const again =
    mode === "sequential" ? [] : [...agents.entries()].filter(([i, name]) => agents.indexOf(name) < i)
  return [
    ...refused.map(({ name, at }) => ({ at, message: `an agent of a team cannot be named "${name}"` })),
    ...again.map(([i, name]) => ({ at: ["agents", i], message: `"${name}" is in the team twice` })),
    ...(manager !== undefined && agents.includes(manager)
      ? [{ at: ["manager"], message: `the manager "${manager}" is also one of the team's agents` }]
      : []),
    ...(start !== undefined && known.includes(start) && !agents.includes(start)
      ? [{ at: ["start"], message: `"${start}" is not one of the team's agents` }]
      : []),
  ]
}

export function teamAgents(data: StepData): readonly Named[] {
  const members = (data.agents ?? []).map((name, i) => ({ name, at: ["agents", i] }))
  const others = (["manager", "start", "aggregate"] as const).flatMap((field) => {
    const name = data[field]
    return name === undefined ? [] : [{ name, at: [field] }]
  })
  return [...members, ...others]
}

// Research steps.

interface PlanningResearch {
  readonly writer: PlanWriter
  readonly paths: DefinitionPaths
  readonly models: ModelNames
}

const MAKES: Readonly<Record<string, string>> = {
  iterative: "iterativeResearch",
  deep: "deepResearch",
  auto: "autoResearch",
}

/** Undefined if the mode is unknown, which is already reported. */
export function researchCall({ id, path, data, at }: Step, planning: PlanningResearch): Call | undefined {
  const { mode = "iterative" } = data
  const make = Object.hasOwn(MAKES, mode) ? MAKES[mode] : undefined
  if (make === undefined) return undefined
  const { models } = planning
  const others = Object.entries(data.models ?? {}).map(([role, name]): [string, Arg] => [
    role,
    modelArg(name, [...at, "models", role], models),
  ])
  const tools = (data.tools ?? []).map((tool, i) =>
    toolCall(tool, { path, at: [...at, "tools", i] }, planning),
  )
  return call(make, {
    name: id,
    model: modelArg(data.model, [...at, "model"], models),
    models: others.length === 0 ? undefined : Object.fromEntries(others),
    tools,
    budget: data.budget,
  })
}

function toolCall(
  tool: SearchData,
  { path, at }: Pick<Step, "path" | "at">,
  { writer, paths: known, models: { report } }: PlanningResearch,
): Call {
  switch (tool.type) {
    case "web_search": {
      const { engine, results, pages } = tool
      const search = call("webSearch", engine)
      return call("webSearchTool", { search, reader: call("pageReader"), results, pages })
    }
    case "page":
      return call("pageTool", call("pageReader"))
    case "documents": {
      const { paths, embeddings, name, description } = tool
      const { file } = report.document
      for (const [i, one] of paths.entries()) known.dataFrom(file, one, report.at([...at, "paths", i]))
      const sources = paths.map((one) => (isAbsolute(one) ? one : join(dirname(file), one)))
      const documents = callWith("documentsIn", [sources], { embeddings })
      return callWith("documentsTool", [writer.value(`${path} ${name ?? "documents"}`, documents)], {
        name,
        description,
      })
    }
  }
}
