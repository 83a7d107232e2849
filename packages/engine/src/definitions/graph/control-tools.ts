/** Tools by which an agent says who is next, or that the conversation is over. The graph follows them; they do nothing. */
import type { ToolCall } from "../../agents/conversation.ts"
import { readObject } from "../../agents/conversation.ts"
import type { Message } from "../../models/index.ts"
import { type Tool, tool } from "../../tools/index.ts"

export const END = "END"

/** Offers the names that the agent has edges to. */
export function routeTool(names: readonly string[]): Tool {
  return tool({
    name: "route",
    description: "Says who goes on with the conversation after this turn.",
    input: {
      jsonSchema: {
        type: "object",
        properties: {
          next: { type: "string", enum: [...names], description: "Who goes on." },
          message: { type: "string", description: "What you say before." },
        },
        required: ["next"],
        additionalProperties: false,
      },
    },
    run: () => "",
  })
}

export const endTool: Tool = tool({
  name: "end",
  description: "Ends the conversation. Call it when the user has what they asked for, or says goodbye.",
  input: {
    jsonSchema: {
      type: "object",
      properties: { message: { type: "string", description: "Your last words to the user." } },
      additionalProperties: false,
    },
  },
  run: () => "",
})

export const END_INSTRUCTION =
  "When the user has what they asked for, or says goodbye, call the tool `end` with your last words to the user."

export interface Control {
  readonly next: string
  readonly message?: string | undefined
  /** The conversation is over, whatever edges there are. */
  readonly ends?: boolean | undefined
}

/** What a call of such a tool says; the first one counts. */
export function controlIn({ name, args }: ToolCall): Control {
  const { next, message } = readObject(args) as { readonly next?: unknown; readonly message?: unknown }
  const said = typeof message === "string" && message !== "" ? { message } : {}
  if (name === "end") return { next: END, ends: true, ...said }
  return { next: typeof next === "string" ? next : "", ...said }
}

/** Every call has its result, so that the conversation is one that providers take. */
export function controlResults(calls: readonly ToolCall[], isFollowed: boolean): Message {
  return {
    role: "tool",
    content: calls.map((call, i) => ({
      type: "tool-result" as const,
      toolCallId: call.id,
      toolName: call.name,
      output: { type: "text" as const, value: isFollowed && i === 0 ? followed(call) : NOT_FOLLOWED },
    })),
  }
}

function followed(call: ToolCall): string {
  const { next, ends } = controlIn(call)
  return ends ? "The conversation is over." : `${next} goes on.`
}

const NOT_FOLLOWED =
  "Not followed: the other calls of this turn come first. Call it again when they are done."
