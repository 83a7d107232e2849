/** A toolset with fewer tools, or with other words about them: for those who configure what others have written. */
import { matchesWord } from "./path-glob.ts"
import type { Toolset } from "./tool.ts"

export interface ToolsetChanges {
  /** Names of the tools that are kept, with `*`. Default: all. */
  readonly tools?: readonly string[] | undefined
  /** What the agent is told instead; `{ORIGINAL_INSTRUCTIONS}` in it stands for what the toolset says itself. */
  readonly instructions?: string | undefined
}

const ORIGINAL = "{ORIGINAL_INSTRUCTIONS}"

export function toolsetWith(toolset: Toolset, { tools: names, instructions }: ToolsetChanges): Toolset {
  return {
    name: toolset.name,
    // Asked for anew each time: some toolsets learn what to say from their server.
    get instructions() {
      return instructions?.replaceAll(ORIGINAL, () => toolset.instructions ?? "") ?? toolset.instructions
    },
    async tools(ctx) {
      const all = await toolset.tools(ctx)
      if (names === undefined) return all
      const idle = names.filter((pattern) => !all.some(({ name }) => matchesWord(pattern, name)))
      for (const pattern of idle) ctx.log("warn", `"${pattern}" fits no tool of "${toolset.name}".`)
      return all.filter(({ name }) => names.some((pattern) => matchesWord(pattern, name)))
    },
    ...(toolset.close === undefined ? {} : { close: () => toolset.close?.() }),
  }
}
