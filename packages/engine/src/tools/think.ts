/** The think toolset: room to reason in words before acting. It does nothing, and that is on record. */
import { argsSchema } from "./args-schema.ts"
import { tool } from "./define-tool.ts"
import type { Toolset } from "./tool.ts"

const THOUGHT = {
  type: "string",
  minLength: 1,
  description: "What you know, what is missing, what to do next.",
}

export function think(): Toolset {
  const thinking = tool({
    name: "think",
    description:
      "Writes down a thought. It changes nothing and finds out nothing; use it to reason about what you have before you go on.",
    input: { jsonSchema: argsSchema({ thought: THOUGHT }, ["thought"]) },
    idempotent: true,
    run: () => "The thought is noted.",
  })
  return {
    name: "think",
    instructions:
      "Use the think tool before you act on the results of tools, and when several things have to be weighed: list what matters, check that nothing is missing, then decide.",
    tools: () => [thinking],
  }
}
