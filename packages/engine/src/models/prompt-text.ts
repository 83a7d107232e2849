/** What a message says, as text: for patterns, for summaries and for error messages. */
import type { LanguageModelV3ToolResultOutput } from "@ai-sdk/provider"
import type { Message } from "./model.ts"

export function messageText({ content }: Message): string {
  if (typeof content === "string") return content
  return content.map(partText).join("\n")
}

function partText(part: Exclude<Message["content"], string>[number]): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text
    case "file":
      return `[file ${part.filename ?? part.mediaType}]`
    case "tool-call":
      return `${part.toolName}(${JSON.stringify(part.input) ?? ""})`
    case "tool-result":
      return outputText(part.output)
    case "tool-approval-response":
      return part.approved ? "approved" : `denied ${part.reason ?? ""}`
  }
}

function outputText(output: LanguageModelV3ToolResultOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value
    case "execution-denied":
      return `denied ${output.reason ?? ""}`
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n")
    default:
      return JSON.stringify(output.value)
  }
}

/** On one line and in quotes, short enough for an error message. */
export function quoted(text: string, most = 200): string {
  const line = text.replace(/\s+/g, " ").trim()
  return `"${line.length > most ? `${line.slice(0, most)}…` : line}"`
}
