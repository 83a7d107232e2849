/** The user_prompt toolset: an agent asks a person. The question waits in the inbox, across restarts too. */

import type { Json } from "../core/index.ts"
import { terminalError } from "../core/internal.ts"
import type { Schema } from "../runtime/index.ts"
import { jsonSchema } from "./json-schema.ts"
import { schemaProblems } from "./schema-limits.ts"
import { objectInput, type Toolset, tool } from "./tool.ts"

export interface UserPromptOptions {
  /** The person or group to ask, as your inbox knows them. */
  readonly to?: string | undefined
}

interface PromptArgs {
  readonly message: string
  readonly schema?: Json | undefined
}

/** The request's data, for user interfaces. */
export interface UserPromptRequest {
  readonly kind: "user-prompt"
  readonly agent: string
}

export function userPrompt({ to }: UserPromptOptions = {}): Toolset {
  const prompt = tool({
    name: "user_prompt",
    description:
      "Asks the user a question and returns the answer. With a JSON Schema the answer has that form: a choice, a number, or an object with several fields.",
    input: objectInput(
      {
        message: { type: "string", minLength: 1, maxLength: 10_000, description: "The question." },
        schema: { type: "object", description: "The JSON Schema of the answer. Default: any text." },
      },
      ["message"],
    ),
    // The question is a durable request: it is asked once, and a restart finds its answer.
    durable: true,
    approval: "never",
    async run({ message, schema }: PromptArgs, { ctx, agent }) {
      const data: UserPromptRequest = { kind: "user-prompt", agent }
      const content = await ctx.ask<Json>({
        prompt: message,
        data,
        to,
        schema: schema === undefined ? undefined : answerSchema(schema),
      })
      return { action: "accept", content }
    },
  })
  return {
    name: "user_prompt",
    instructions:
      "Ask the user with user_prompt when you need a decision or a fact that only they have. Do not ask for passwords or keys: answers are recorded.",
    tools: () => [prompt],
  }
}

/** A model wrote the schema: it is checked before a person sees a form made of it. */
function answerSchema(schema: Json): Schema<Json> {
  const [problem] = schemaProblems(schema)
  if (problem === undefined) return jsonSchema(schema) as Schema<Json>
  const where = ["schema", ...problem.path].join(".")
  throw terminalError("TOOL_ARGS_INVALID", `${where}: ${problem.message}. Ask again with a valid schema.`)
}
