/** Results of a search with score and source, so that an assistant can cite them. */
import { clipped } from "../../text/index.ts"
import type { Found } from "../ports.ts"

const LONGEST = 4_000

export function foundText(found: readonly Found[]): string {
  return found
    .map(({ text, score, source, title }, i) => {
      const head = `[${i + 1}] ${source} (score ${scoreText(score)})`
      const body = clipped(text.trim(), LONGEST)
      return [head, ...(title === undefined || title === "" ? [] : [title]), body].join("\n")
    })
    .join("\n\n")
}

function scoreText(score: number): string {
  return String(Number(score.toPrecision(3)))
}
