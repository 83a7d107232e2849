/** Which fields go with which kind of team. */
import { isTeamsOwn } from "../../patterns/teams/member.ts"
import type { StepData } from "./step-shape.ts"

export const TEAM_MODES = ["sequential", "concurrent", "handoff", "group_chat", "magentic"] as const

type TeamMode = (typeof TEAM_MODES)[number]

/** Those that some kind of team has. */
export const TEAM_FIELDS: readonly (keyof StepData)[] = [
  "mode",
  "agents",
  "manager",
  "start",
  "aggregate",
  "terminate",
  "to",
  "autonomous",
  "plan_review",
  "max_rounds",
  "max_stalls",
  "max_resets",
]

const FIELDS: Readonly<Record<TeamMode, readonly (keyof StepData)[]>> = {
  sequential: [],
  concurrent: ["aggregate"],
  handoff: ["start", "terminate", "to", "autonomous", "max_rounds"],
  group_chat: ["manager", "terminate", "max_rounds"],
  magentic: ["manager", "plan_review", "to", "max_rounds", "max_stalls", "max_resets"],
}

/** Undefined where there is none, or one that is no team's. */
export function teamMode({ mode }: StepData): TeamMode | undefined {
  return TEAM_MODES.find((one) => one === mode)
}

/** Fields of other kinds of teams. */
export function strangeTeamFields(data: StepData): (keyof StepData)[] {
  const mode = teamMode(data)
  if (mode === undefined) return []
  const known: readonly (keyof StepData)[] = ["mode", "agents", ...FIELDS[mode]]
  return TEAM_FIELDS.filter((field) => data[field] !== undefined && !known.includes(field))
}

export function missingTeamField({ mode, agents, manager }: StepData): string | undefined {
  if (mode === undefined) return "mode"
  if (!agents?.length) return "agents"
  return mode === "magentic" && !manager ? "manager" : undefined
}

interface Named {
  readonly name: string
  /** Its place in the step. */
  readonly at: readonly (string | number)[]
}

/** What the team itself would refuse, each at its place. Agents that are not known are not its to refuse. */
export function teamProblems(
  data: StepData,
  known: readonly string[],
): readonly { readonly at: Named["at"]; readonly text: string }[] {
  const { agents = [], manager, start, mode } = data
  const refused = teamAgents(data).filter(({ name }) => isTeamsOwn(name))
  const again =
    mode === "sequential" ? [] : [...agents.entries()].filter(([i, name]) => agents.indexOf(name) < i)
  return [
    ...refused.map(({ name, at }) => ({ at, text: `an agent of a team cannot be called "${name}"` })),
    ...again.map(([i, name]) => ({ at: ["agents", i], text: `"${name}" is in the team twice` })),
    ...(manager !== undefined && agents.includes(manager)
      ? [{ at: ["manager"], text: `the manager "${manager}" is also one of its agents` }]
      : []),
    ...(start !== undefined && known.includes(start) && !agents.includes(start)
      ? [{ at: ["start"], text: `"${start}" is none of its agents` }]
      : []),
  ]
}

/** The agents that it names, each with its place in the step. */
export function teamAgents(data: StepData): readonly Named[] {
  const members = (data.agents ?? []).map((name, i) => ({ name, at: ["agents", i] }))
  const others = (["manager", "start", "aggregate"] as const).flatMap((field) => {
    const name = data[field]
    return name === undefined ? [] : [{ name, at: [field] }]
  })
  return [...members, ...others]
}
