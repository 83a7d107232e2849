/** JSON in an agent's answer: data already, a text that is JSON, or one in a code block. */
import { jsonAnswer } from "../../agents/json-answer.ts"

export type JsonObject = { readonly [key: string]: unknown }

export function jsonReply(answer: unknown): JsonObject | undefined {
  const value = typeof answer === "string" ? jsonAnswer(answer)?.value : answer
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}
