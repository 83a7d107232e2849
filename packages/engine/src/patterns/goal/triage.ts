/** What a goal is about, as the triage agent says it. */
import { z } from "zod"
import { isSuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { askAgent } from "./ask-agent.ts"
import type { GoalAgent } from "./goal-config.ts"
import { type JsonObject, jsonReply } from "./json-reply.ts"

const triageShape = z.object({
  intents: z.array(z.string()),
  confidence: z.number(),
  rationale: z.string(),
  targets: z.array(z.string()).optional(),
  database_type: z.string().optional(),
  database_id: z.string().optional(),
  preferred_agent: z.string().optional(),
})

export type Triage = Readonly<z.infer<typeof triageShape>>

export async function triage(agent: GoalAgent, goal: string, ctx: Context): Promise<Triage> {
  const answer = await askAgent("Triage", agent, triagePrompt(goal), ctx).catch((error: unknown) => {
    // An agent with a schema of its own has asked again, in vain.
    if (isSuperstepError((error as Error).cause, "OUTPUT_INVALID")) return undefined
    throw error
  })
  const read = triageShape.safeParse(withoutNulls(jsonReply(answer)))
  if (read.success) return read.data
  ctx.log("warn", "The triage agent's answer is not the JSON that was asked for; the goal counts as unknown.")
  return { intents: ["unknown"], confidence: 0, rationale: "parse_error" }
}

function triagePrompt(goal: string): string {
  return [
    "Say what this goal is about.",
    'Answer with JSON alone: { "intents": [text, …], "confidence": 0 to 1, "rationale": text }.',
    "Intents: ai_search (it is to be looked up), multi (several assistants are to answer), unknown.",
    'Where you know it, add "database_id", "database_type" and "preferred_agent": sql, csv or vector.',
    "",
    `Goal: ${goal}`,
  ].join("\n")
}

export function wantsDetection({ intents }: Triage): boolean {
  return intents.includes("ai_search") || intents.includes("unknown")
}

/** Models write null for what they leave open. */
function withoutNulls(data: JsonObject | undefined): JsonObject | undefined {
  return data && Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
}
