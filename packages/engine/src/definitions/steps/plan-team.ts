/** A team of a steps file, as the call that makes its workflow. */
import type { PlannedAgents } from "../agents/index.ts"
import { type Document, nearest, type Report } from "../document/index.ts"
import { condition, ExpressionError } from "../expressions/index.ts"
import { type Arg, type Call, call } from "../plan/index.ts"
import type { Step } from "./step.ts"
import { hasTemplate, readText } from "./step-texts.ts"
import { TEAM_ROOTS } from "./team-ends.ts"
import { teamAgents, teamMode } from "./team-fields.ts"

export interface PlanningTeam {
  readonly document: Document
  readonly report: Report
  readonly agents: PlannedAgents
}

/** Undefined where an agent or the mode is missing: that is in the report already. */
export function teamCall({ id, data, at }: Step, planning: PlanningTeam): Call | undefined {
  const { manager, start, aggregate, terminate, autonomous, plan_review, to } = data
  const { max_rounds: maxRounds, max_stalls: maxStalls, max_resets: maxResets } = data
  const ref = (name: string | undefined) => (name === undefined ? undefined : planning.agents.get(name)?.ref)
  for (const { name, at: field } of teamAgents(data)) warnOfTemplates(name, [...at, ...field], planning)
  const members = (data.agents ?? []).flatMap((name) => ref(name) ?? [])
  const ends = terminate === undefined ? undefined : checkedEnd(terminate, [...at, "terminate"], planning)
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
      const most = { maxRounds, maxStalls, maxResets }
      return call("magentic", { ...common, manager: ref(manager), agents: members, ...most, planReview })
    }
    case undefined:
      return undefined
  }
}

/** A team is a workflow of its own: what its agents know of other steps is in the prompt. */
function warnOfTemplates(name: string, at: Step["at"], { document, report, agents }: PlanningTeam): void {
  const { instruction = "" } = agents.get(name)?.data ?? {}
  if (!hasTemplate(instruction)) return
  const text = `The instruction of agent "${name}" has templates, which are empty in a team; use the team's prompt.`
  report.warning("TEMPLATE_IN_TEAM", text, document.place(at))
}

function checkedEnd(text: string, at: Step["at"], { document, report }: PlanningTeam): Arg {
  const read = readText(text, (one) => condition(one, "steps"))
  if (read instanceof ExpressionError) {
    report.error("EXPRESSION_INVALID", read.message, document.place(at, { from: read.start, to: read.end }))
    return undefined
  }
  const names = TEAM_ROOTS.map((one) => `$${one}`)
  for (const { root, start, end } of read.references) {
    if (TEAM_ROOTS.some((one) => one === root)) continue
    const message = `There is no $${root} in terminate; there are ${names.join(", ")}.`
    const place = document.place(at, { from: start, to: end })
    report.error("UNKNOWN_NAME", message, place, nearest(`$${root}`, names))
  }
  return call("teamEnds", text)
}
