/** A search of an index or a graph, or by an agent that searches: its text, empty where there is nothing. */
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"
import { askAgent, textOf } from "./ask-agent.ts"
import { foundText } from "./found-text.ts"
import { type GoalSearch, isRetriever } from "./goal-config.ts"

export async function plainSearch(
  kind: "graph" | "vector",
  search: GoalSearch,
  goal: string,
  limit: number,
  ctx: Context,
): Promise<string> {
  if (!isRetriever(search)) return textOf(await askAgent("Search", search, goal, ctx)).trim()
  const { name } = search
  return await ctx.step(`${kind} search of ${name}`, async () => {
    try {
      return foundText((await search.search(goal, { limit, signal: ctx.signal })).slice(0, limit))
    } catch (cause) {
      if (isNoFailure(cause, ctx)) throw cause
      const reason = messageOf(cause).replace(/(?<![.\s])[.\s]+$/, "")
      throw new SuperstepError("SEARCH_FAILED", `The ${kind} search of "${name}" failed: ${reason}.`, {
        cause,
      })
    }
  })
}
