/** For tests of teams: agents on one scripted model, and the outcome of a run. */
import { type Agent, type AgentOptions, agent } from "../../agents/index.ts"
import { type Script, scriptedModel } from "../../models/index.ts"
import type { Run, RunEvent } from "../../runtime/index.ts"

export function cast<N extends string>(
  script: Script,
  names: readonly N[],
  more: Partial<AgentOptions> = {},
) {
  const model = scriptedModel(script)
  const agents = Object.fromEntries(
    names.map((name) => [name, agent({ name, model, stream: false, description: `the ${name}`, ...more })]),
  ) as Record<N, Agent<unknown, string>>
  return { model, ...agents }
}

/** The team's own events, one line each. */
export async function teamEvents(run: Run<unknown>): Promise<string[]> {
  const lines: string[] = []
  for await (const event of run as AsyncIterable<RunEvent>) {
    if (event.type !== "custom" || !event.name.startsWith("team.")) continue
    const { speaker, round, to, reason } = (event.data ?? {}) as Record<string, unknown>
    lines.push(
      [event.name.slice(5), speaker ?? reason, to, round].filter((one) => one !== undefined).join(" "),
    )
  }
  return lines
}

/** A progress ledger: an ordinary round unless `fields` says otherwise. */
export function ledger(next: string, fields: { done?: boolean; loop?: boolean; progress?: boolean } = {}) {
  const { done = false, loop = false, progress = true } = fields
  const found = <T>(answer: T) => ({ reason: "because", answer })
  return {
    json: {
      is_request_satisfied: found(done),
      is_in_loop: found(loop),
      is_progress_being_made: found(progress),
      next_speaker: found(next),
      instruction_or_question: found(`${next}, go`),
    },
  }
}
