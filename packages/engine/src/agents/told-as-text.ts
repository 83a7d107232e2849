/** Tool calls and results as plain text: some providers refuse them in a conversation with an agent that has no tools. */
import type { Message } from "../models/index.ts"
import { messageText } from "../models/prompt-text.ts"

export function toldAsText(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(({ role }) => role === "tool")) return messages
  return messages.map((message): Message => {
    if (message.role === "tool") {
      const names = message.content.map((part) => (part.type === "tool-result" ? part.toolName : part.type))
      return {
        role: "user",
        content: [{ type: "text", text: `[${names.join(", ")} gave] ${messageText(message)}` }],
      }
    }
    if (message.role !== "assistant") return message
    const content = message.content.map((part) => {
      if (part.type !== "tool-call") return part
      const text = `[called ${part.toolName}(${JSON.stringify(part.input)})]`
      return { type: "text" as const, text }
    })
    return { ...message, content }
  })
}
