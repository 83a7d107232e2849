/** What OpenAI's Chat Completions refuse. */
import {
  checkFileData,
  checkFormat,
  checkFunction,
  checkImageUrl,
  checkToolNames,
} from "./openai-shared-rules.ts"
import { type Data, isBase64, isData, isName, listOf, refuse } from "./refusal.ts"

/** Throws a Refusal. */
export function checkChat(body: Data): void {
  const messages = listOf(body.messages)
  if (messages.length === 0) refuse("Invalid 'messages': empty array.", "messages")
  for (const [at, message] of messages.entries()) checkMessage(message, `messages[${at}]`)
  checkToolPairs(messages)
  const tools = listOf(body.tools)
  if (body.tools !== undefined && tools.length === 0) refuse("Invalid 'tools': empty array.", "tools")
  for (const [at, { type, function: fields }] of tools.entries()) {
    if (type !== "function" || !isData(fields))
      refuse(`Invalid value: '${String(type)}'.`, `tools[${at}].type`)
    checkFunction(fields, `tools[${at}].function`)
  }
  checkToolNames(tools.map((tool) => tool.function as Data))
  if (body.tool_choice !== undefined && body.tools === undefined)
    refuse("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
  const format = body.response_format
  if (isData(format) && format.type === "json_schema")
    checkFormat(format.json_schema as Data, "response_format")
}

function checkMessage({ role, content, tool_calls, tool_call_id }: Data, at: string): void {
  switch (role) {
    case "system":
    case "developer":
      return checkContent(content, at, ["text"])
    case "user":
      return checkContent(content, at, ["text", "image_url", "input_audio", "file"])
    case "tool":
      if (typeof tool_call_id !== "string") refuse(`Missing required parameter: '${at}.tool_call_id'.`, at)
      return checkContent(content, at, ["text"])
    case "assistant":
      if (tool_calls === undefined || content != null) checkContent(content, at, ["text", "refusal"])
      if (tool_calls !== undefined) checkCalls(tool_calls, at)
      return
    default:
      refuse(`Invalid value: '${String(role)}'.`, `${at}.role`)
  }
}

function checkContent(content: unknown, at: string, types: readonly string[]): void {
  if (typeof content === "string") return
  if (!Array.isArray(content))
    refuse(`Invalid value for 'content': expected a string, got null.`, `${at}.content`)
  if (content.length === 0) refuse(`Invalid '${at}.content': empty array.`, at)
  for (const [index, part] of listOf(content).entries()) {
    const here = `${at}.content[${index}]`
    if (!types.includes(String(part.type))) refuse(`Invalid value: '${String(part.type)}'.`, `${here}.type`)
    if (part.type === "text" && typeof part.text !== "string") refuse(`Missing '${here}.text'.`, here)
    if (part.type === "image_url")
      checkImageUrl((part.image_url as Data | undefined)?.url, `${here}.image_url.url`)
    if (part.type === "file") checkFileData(part.file as Data, `${here}.file`)
    if (part.type === "input_audio") {
      const { data, format } = part.input_audio as Data
      if (!isBase64(data) || (format !== "wav" && format !== "mp3"))
        refuse(`Invalid '${here}.input_audio'.`, here)
    }
  }
}

const MAX_ID = 40

function checkCalls(calls: unknown, at: string): void {
  if (!Array.isArray(calls) || calls.length === 0) refuse(`Invalid '${at}.tool_calls': empty array.`, at)
  for (const [index, { id, type, function: called }] of listOf(calls).entries()) {
    const here = `${at}.tool_calls[${index}]`
    if (typeof id !== "string" || type !== "function")
      refuse(`Missing required parameter: '${here}.id'.`, here)
    if (id.length > MAX_ID)
      refuse(`Invalid '${here}.id': string too long. Expected a string with maximum length ${MAX_ID}.`, here)
    const { name, arguments: args } = called as Data
    if (!isName(name)) refuse(`Invalid '${here}.function.name': string does not match pattern.`, here)
    if (typeof args !== "string")
      refuse(`Invalid type for '${here}.function.arguments': expected a string.`, here)
  }
}

function checkToolPairs(messages: readonly Data[]): void {
  let open = new Set<string>()
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.delete(String(message.tool_call_id)))
        refuse(
          `messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`,
          `messages.[${at}].role`,
        )
      continue
    }
    checkAnswered(open, at)
    open = new Set(listOf(message.tool_calls).map(({ id }) => String(id)))
  }
  checkAnswered(open, messages.length)
}

function checkAnswered(open: ReadonlySet<string>, at: number): void {
  if (open.size === 0) return
  const missing = [...open].join(", ")
  refuse(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing}`,
    `messages.[${at}].role`,
  )
}
