/** When a team of a steps file is done: a condition on what was said last. */
import type { Terminate } from "../../patterns/teams/index.ts"
import { condition } from "../expressions/index.ts"

/** What the condition sees. */
export const TEAM_ROOTS = ["last", "speaker", "round"] as const

/** `$last` is the text that was said last, `$speaker` who said it, `$round` how many turns there were. */
export function teamEnds(text: string): Terminate {
  const read = condition(text, "steps")
  return (said, round) => {
    const { text: last = "", speaker = "" } = said.at(-1) ?? {}
    const values = new Map<string, string | number>(Object.entries({ last, speaker, round }))
    return read.holds((root) => values.get(root))
  }
}
