/** A person as a member of a team: asked when it is their turn, and what they answer is what they said. */
import { node, workflow } from "../../builder/index.ts"
import type { Team } from "./team.ts"
import { answerText, type TeamInput } from "./transcript.ts"

export interface PersonOptions {
  readonly name: string
  /** What others decide by whether to ask them. */
  readonly description?: string | undefined
  /** Whom the question is for, as your inbox knows people. Default: the name. */
  readonly to?: string | undefined
}

export function person({ name, description, to = name }: PersonOptions): Team {
  const ask = node("ask", async (input: TeamInput, ctx) => {
    const prompt = typeof input === "string" ? input : JSON.stringify(input.messages)
    return answerText(await ctx.ask<unknown>({ prompt, to }))
  })
  return workflow(name, { description }).start(ask).build()
}
