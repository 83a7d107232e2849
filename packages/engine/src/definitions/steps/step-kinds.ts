/** What each type of step is for, and its fields. The checks and the JSON Schema for editors both read this table. */
import type { Kind } from "../../document/index.ts"
import type { StepData, StepType, TEAM_MODES } from "./step-shape.ts"

type Field = keyof StepData

const ANY = ["id", "type", "name", "description", "when"] as const
const RUN = ["retry", "timeout", "on_error"] as const

export const STEP_KINDS: Readonly<Record<StepType, Kind<Field>>> = {
  agent: {
    about: "Runs an agent. Its answer is the output.",
    fields: [...ANY, ...RUN, "flow", "placement", "prompt", "prior_outputs", "budget", "loop"],
    required: ["name"],
    meaning: { name: "The agent to run, from `agents`.", prompt: "Replaces the user's prompt. A template." },
  },
  condition: {
    about: "Continues with the steps of `true` or of `false`.",
    fields: [...ANY, "retry", "timeout", "condition", "true", "false"],
    required: ["condition"],
  },
  parallel: {
    about: "Runs steps at the same time. The output has the outputs of all of them.",
    fields: [...ANY, ...RUN, "steps"],
    required: ["steps"],
    meaning: { steps: "The steps that run at the same time." },
  },
  human: {
    about: "Asks a person, and waits for the answer.",
    fields: [...ANY, ...RUN, "prompt", "choices", "schema", "to", "default"],
    required: ["prompt"],
    meaning: {
      prompt: "The question. A template.",
      schema: "JSON Schema of the answer.",
      timeout: "The time until `default` is the answer, or the step fails.",
      default: "The answer after a timeout.",
    },
  },
  wait: {
    about: "Waits for a signal. Its value is the output.",
    fields: [...ANY, ...RUN, "signal", "schema", "default"],
    required: ["signal"],
    meaning: {
      schema: "JSON Schema of the signal's value.",
      timeout: "The time until `default` is the value, or the step fails.",
      default: "The value after a timeout.",
    },
  },
  tool: {
    about: "Calls one tool without a model.",
    fields: [...ANY, ...RUN, "flow", "placement", "budget", "tool", "toolset", "agent", "args"],
    required: ["tool", ["toolset", "agent"]],
  },
  function: {
    about: "Calls a function of your own module. Its result is the output.",
    fields: [...ANY, ...RUN, "flow", "placement", "module", "args", "schema"],
    required: ["module"],
    meaning: { schema: "JSON Schema of the result." },
  },
  workflow: {
    about: "Runs the workflow of another file.",
    fields: [...ANY, ...RUN, "file", "prompt", "prior_outputs", "budget"],
    required: ["file"],
    meaning: { prompt: "The workflow's prompt. A template. Default: the user's prompt." },
  },
  map: {
    about: "Runs steps for each item of a list. The output is the list of their outputs.",
    fields: [...ANY, ...RUN, "over", "step", "steps", "concurrency"],
    required: ["over", ["step", "steps"]],
    meaning: { steps: "The steps for each item." },
  },
  team: {
    about: "Several agents work together.",
    fields: [...ANY, ...RUN, "prompt", "prior_outputs", "budget", "mode", "agents"],
    required: ["mode", "agents"],
    meaning: {
      mode: "How its agents work together.",
      prompt: "The team's task. A template. Default: the user's prompt.",
    },
  },
  research: {
    about: "Searches the web or documents, and writes a report with its sources.",
    fields: [...ANY, ...RUN, "prompt", "prior_outputs", "mode", "model", "models", "tools", "budget"],
    required: ["tools"],
    meaning: {
      mode: "How deep it goes. Default iterative.",
      budget: "Ends the search. Default 100,000 tokens, 600 seconds, 10 iterations.",
      prompt: "The question. A template. Default: the user's prompt.",
    },
  },
  goto: {
    about: "Continues at another step of the same list.",
    // Every step accepts retry and timeout; a goto never needs them.
    fields: [...ANY, "retry", "timeout", "goto"],
    required: ["goto"],
  },
}

/** A research ends its search by its budget; of another step, `timeout` limits the seconds. */
export const RESEARCH_BUDGET = ["tokens", "seconds", "iterations"]

export type TeamMode = (typeof TEAM_MODES)[number]

/** The fields of a team besides those of all teams. */
export const TEAM_KINDS: Readonly<Record<TeamMode, Kind<Field>>> = {
  sequential: { about: "One agent after the other, each with the answers before it.", fields: [] },
  concurrent: { about: "All agents at the same time.", fields: ["aggregate"] },
  handoff: {
    about: "The agent that speaks chooses who continues.",
    fields: ["start", "terminate", "to", "autonomous", "max_rounds"],
  },
  group_chat: {
    about: "A manager chooses who speaks; without one, the agents take turns.",
    fields: ["manager", "terminate", "max_rounds"],
  },
  magentic: {
    about: "A manager plans, delegates, and starts over when it makes no progress.",
    fields: ["manager", "plan_review", "to", "max_rounds", "max_stalls", "max_resets"],
    required: ["manager"],
    meaning: { to: "Who reviews the plan." },
  },
}

/** The kind of a step; of a team with a known mode, with the fields of its mode. */
export function stepKind(type: StepType, mode: string | undefined): Kind<Field> {
  const kind = STEP_KINDS[type]
  const own = type === "team" && mode !== undefined && Object.hasOwn(TEAM_KINDS, mode)
  return own ? teamKind(mode as TeamMode) : kind
}

export function teamKind(mode: TeamMode): Kind<Field> {
  const [all, own] = [STEP_KINDS.team, TEAM_KINDS[mode]]
  return {
    about: own.about,
    fields: [...all.fields, ...own.fields],
    required: [...(all.required ?? []), ...(own.required ?? [])],
    meaning: { ...all.meaning, ...own.meaning },
  }
}
