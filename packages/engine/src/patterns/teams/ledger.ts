/** The notes of a magentic manager: facts and a plan for the task, and, in every round, the state of the work. */
import { z } from "zod"
import { type Channel, type Context, channel, replace, type Schema } from "../../runtime/index.ts"
import { MESSAGES, type TeamMessage } from "./member.ts"
import type { TeamState } from "./team.ts"

/** The state of the work, in the manager's view. */
export interface ProgressLedger {
  readonly is_request_satisfied: Finding<boolean>
  readonly is_in_loop: Finding<boolean>
  readonly is_progress_being_made: Finding<boolean>
  readonly next_speaker: Finding<string>
  readonly instruction_or_question: Finding<string>
}

export interface Finding<T> {
  readonly reason: string
  readonly answer: T
}

const FIELDS = [
  "is_request_satisfied",
  "is_in_loop",
  "is_progress_being_made",
  "next_speaker",
  "instruction_or_question",
] as const

/** Findings with their reasons. A missing reason is accepted, and a satisfied request needs no next speaker. */
export function progressSchema(members: readonly string[]): Schema<ProgressLedger> {
  const found = <T extends z.ZodType>(answer: T) => z.object({ reason: z.string(), answer })
  const shape = z.object({
    is_request_satisfied: found(z.boolean()),
    is_in_loop: found(z.boolean()),
    is_progress_being_made: found(z.boolean()),
    next_speaker: found(z.enum(members as [string, ...string[]])),
    instruction_or_question: found(z.string()),
  })
  const optional = found(z.string()).catch({ reason: "", answer: "" })
  const satisfied = shape.extend({ next_speaker: optional, instruction_or_question: optional })
  const validate = (value: unknown) => {
    const ledger = withReasons(value)
    const { answer } = (ledger.is_request_satisfied ?? {}) as { answer?: unknown }
    return (answer === true ? satisfied : shape)["~standard"].validate(ledger)
  }
  return { "~standard": { ...shape["~standard"], validate } } as Schema<ProgressLedger>
}

function withReasons(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return {}
  const fields = value as Readonly<Record<string, unknown>>
  const entries = FIELDS.filter((field) => field in fields).map((field) => {
    const found = fields[field]
    const isBare = typeof found === "boolean" || typeof found === "string"
    if (isBare) return [field, { reason: "", answer: found }]
    // A missing reason does not warrant asking again.
    return [field, typeof found === "object" && found !== null ? { reason: "", ...found } : found]
  })
  return Object.fromEntries(entries)
}

export function factsPrompt(before: string | undefined): string {
  if (before === undefined) {
    return "Before the work starts: write down what is known about this request. Four short lists: facts that it states; facts to look up, and where; facts to work out; guesses. No plan yet."
  }
  return `The work has got stuck and starts over. Bring the list of facts up to date with what has been learned since: correct it, add to it, turn guesses into facts where they were confirmed.\n\nThe list so far:\n${before}`
}

export interface PlanPrompt {
  readonly team: string
  readonly facts: string
  /** The plan that did not work, or that a person did not accept. */
  readonly before: string | undefined
  readonly feedback: string | undefined
}

export function planPrompt({ team, facts, before, feedback }: PlanPrompt): string {
  const parts = [`The team:\n${team}`, `What is known:\n${facts}`]
  if (before !== undefined) parts.push(`The plan before:\n${before}`)
  if (feedback !== undefined) parts.push(`A person did not accept it: ${feedback}`)
  else if (before !== undefined) parts.push("It got stuck. Say in a sentence what went wrong, and avoid it.")
  parts.push("Write a short plan, as a list: who of the team does what. Use only those who are needed.")
  return parts.join("\n\n")
}

export function ledgerText(team: string, facts: string, plan: string): string {
  return `The team:\n${team}\n\nWhat is known:\n${facts}\n\nThe plan:\n${plan}`
}

export function progressPrompt(team: string): string {
  return `The team:\n${team}\n\nWhere does the work stand? Answer with JSON alone, an object with these fields, each { "reason": why, "answer": … }:
- is_request_satisfied: true when the request is answered in full.
- is_in_loop: true when the team repeats the same statements or attempts.
- is_progress_being_made: true when the last turns brought the answer nearer.
- next_speaker: the name of the member who speaks next.
- instruction_or_question: the instruction or question for that member, with everything it needs to know.`
}

export function answerPrompt(reason: "answered" | "rounds" | "resets"): string {
  const why =
    reason === "answered"
      ? ""
      : `The work ends here, as it has used up its ${reason}. Say what is missing where something is.\n\n`
  return `${why}Answer the user's request now, from what was found. Speak to the user: nothing about the team or how it worked.`
}

export interface MagenticState extends TeamState {
  readonly stalls: number
  readonly resets: number
  /** The number of messages when the plan was made. The team works with later ones. */
  readonly since: number
  /** The last progress ledger that could be read. */
  readonly progress?: ProgressLedger | undefined
}

/** Uses the same state key as every team. */
export const MAGENTIC: Channel<MagenticState, MagenticState> = channel(
  "team",
  replace<MagenticState>({ round: 0, stalls: 0, resets: 0, since: 0 }),
)

export interface TaskLedger {
  readonly facts?: string | undefined
  readonly plan?: string | undefined
}

export const LEDGER: Channel<TaskLedger, TaskLedger> = channel("ledger", replace<TaskLedger>({}))

/** Messages since the plan was made. */
export function talkSince(ctx: Context): readonly TeamMessage[] {
  return ctx.state.get(MESSAGES).slice(ctx.state.get(MAGENTIC).since)
}
