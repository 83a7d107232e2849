/** What Anthropic's Messages refuse. It remembers the thinking of its own answers: signed blocks come back as they were. */
import {
  checkParameters,
  checkUnique,
  type Data,
  imageProblem,
  isBase64,
  isData,
  isName,
  isWebUrl,
  listOf,
  refuse,
} from "./refusal.ts"

const THINKING = ["thinking", "redacted_thinking"]
const IDS = /^[a-zA-Z0-9_-]+$/

export class AnthropicRules {
  /** The text of thinking blocks by their signature. */
  readonly #signed = new Map<string, string>()
  readonly #redacted = new Set<string>()

  /** Throws a Refusal. */
  check(body: Data): void {
    if (!Number.isInteger(body.max_tokens) || (body.max_tokens as number) < 1)
      refuse("max_tokens: Field required")
    for (const { text } of listOf(body.system)) {
      if (text === "") refuse("system: text content blocks must be non-empty")
    }
    const messages = listOf(body.messages)
    if (messages.length === 0) refuse("messages: at least one message is required")
    if (messages[0]?.role !== "user") refuse('messages: first message must use the "user" role')
    const turns = merged(messages)
    for (const [at, { role, content }] of turns.entries()) {
      const isPrefill = role === "assistant" && at === turns.length - 1
      this.#checkTurn(role, content, `messages.${at}`, isPrefill)
    }
    checkUnique(
      turns.flatMap(({ content }) =>
        content.flatMap(({ type, id }) => (type === "tool_use" ? [String(id)] : [])),
      ),
      () => "messages: `tool_use` ids must be unique",
    )
    checkResults(turns)
    checkServerResults(turns)
    checkThinking(body, turns)
    checkTools(body, turns)
    const { format } = (body.output_config ?? {}) as Data
    if (isData(format)) checkOutputSchema(format.schema, "output_config.format.schema")
  }

  /** Remembers an answer. */
  answered(_: Data, answer: Data): void {
    for (const { type, signature, thinking, data } of listOf(answer.content)) {
      if (type === "thinking") this.#signed.set(String(signature), String(thinking))
      if (type === "redacted_thinking") this.#redacted.add(String(data))
    }
  }

  #checkTurn(role: string, content: readonly Data[], at: string, isPrefill: boolean): void {
    if (role !== "user" && role !== "assistant") refuse(`${at}.role: Input should be 'user' or 'assistant'`)
    if (content.length === 0 && !isPrefill)
      refuse(
        `${at}: all messages must have non-empty content except for the optional final assistant message`,
      )
    for (const [index, block] of content.entries()) this.#checkBlock(role, block, `${at}.content.${index}`)
    const last = content.at(-1)
    if (role === "assistant" && THINKING.includes(String(last?.type)))
      refuse(`${at}: The final block in an assistant message cannot be \`thinking\`.`)
    if (isPrefill && last?.type === "text" && /\s$/.test(String(last.text)))
      refuse("messages: final assistant content cannot end with trailing whitespace")
  }

  #checkBlock(role: string, block: Data, at: string): void {
    const { type } = block
    if (!(role === "user" ? USER_BLOCKS : ASSISTANT_BLOCKS).includes(String(type)))
      refuse(`${at}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`)
    if (type === "text") checkText(block.text, at)
    if (type === "image") checkImage(block.source, at)
    if (type === "document") checkDocument(block.source, at)
    if (type === "tool_use") checkUse(block, at)
    if (type === "tool_result") checkResultContent(block.content, at)
    if (type === "thinking" && this.#signed.get(String(block.signature)) !== block.thinking)
      refuse(`${at}: Invalid \`signature\` in \`thinking\` block`)
    if (type === "redacted_thinking" && !this.#redacted.has(String(block.data)))
      refuse(`${at}: Invalid \`data\` in \`redacted_thinking\` block`)
  }
}

const USER_BLOCKS = ["text", "image", "document", "tool_result"]
const ASSISTANT_BLOCKS = [
  "text",
  "tool_use",
  "server_tool_use",
  "web_search_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  ...THINKING,
]

interface Turn {
  readonly role: string
  readonly content: readonly Data[]
}

/** Consecutive messages of one role are one turn. */
function merged(messages: readonly Data[]): Turn[] {
  const turns: { role: string; content: Data[] }[] = []
  for (const { role, content } of messages) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content)
    const last = turns.at(-1)
    if (last?.role === role) last?.content.push(...blocks)
    else turns.push({ role: String(role), content: [...blocks] })
  }
  return turns
}

function checkText(text: unknown, at: string): void {
  if (typeof text !== "string") refuse(`${at}.text: Input should be a valid string`)
  if (text === "") refuse("messages: text content blocks must be non-empty")
  if (text.trim() === "") refuse("messages: text content blocks must contain non-whitespace text")
}

function checkImage(source: unknown, at: string): void {
  const { type, media_type, data, url } = (source ?? {}) as Data
  if (type === "url" && isWebUrl(url)) return
  const problem = type === "base64" ? imageProblem(media_type, data) : `source ${String(type)} ${String(url)}`
  if (problem !== undefined) refuse(`${at}.image.source: ${problem}`)
}

function checkDocument(source: unknown, at: string): void {
  const { type, media_type, data, url } = (source ?? {}) as Data
  if (type === "url" && isWebUrl(url)) return
  if (type === "text" && media_type === "text/plain" && typeof data === "string" && data !== "") return
  if (type === "base64" && media_type === "application/pdf" && isBase64(data)) return
  refuse(`${at}.document.source: not a PDF, text or a URL`)
}

function checkUse({ id, name, input }: Data, at: string): void {
  if (typeof id !== "string" || !IDS.test(id))
    refuse(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  if (!isName(name)) refuse(`${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  if (!isData(input)) refuse(`${at}.tool_use.input: Input should be a valid dictionary`)
}

function checkResultContent(content: unknown, at: string): void {
  for (const [index, block] of listOf(content).entries()) {
    const here = `${at}.content.${index}`
    if (block.type === "text") checkText(block.text, here)
    else if (block.type === "image") checkImage(block.source, here)
    else if (block.type === "document") checkDocument(block.source, here)
    else refuse(`${here}: Input tag '${String(block.type)}' does not match any of the expected tags`)
  }
}

/** Every tool call has its result at the start of the next message, and every result its call. */
function checkResults(turns: readonly Turn[]): void {
  for (const [at, { content }] of turns.entries()) {
    const uses = idsOf(content, "tool_use", "id")
    const next = turns[at + 1]?.content ?? []
    const first = next.findIndex(({ type }) => type !== "tool_result")
    const results = idsOf(first < 0 ? next : next.slice(0, first), "tool_result", "tool_use_id")
    const missing = uses.filter((id) => !results.includes(id))
    if (missing.length > 0)
      refuse(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      )
    const known = at === 0 ? [] : idsOf(turns[at - 1]?.content ?? [], "tool_use", "id")
    const orphan = idsOf(content, "tool_result", "tool_use_id").find((id) => !known.includes(id))
    if (orphan !== undefined)
      refuse(
        `messages.${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
  }
}

/** A call that the provider made has its result in the same turn, after it; and every such result its call. */
function checkServerResults(turns: readonly Turn[]): void {
  for (const [at, { role, content }] of turns.entries()) {
    if (role !== "assistant") continue
    const open = new Map<string, string>()
    for (const { type, id, name, tool_use_id } of content) {
      if (type === "server_tool_use") open.set(String(id), String(name))
      if (type === "tool_result" || !String(type).endsWith("_tool_result")) continue
      const tool = open.get(String(tool_use_id))
      if (type !== `${tool}_tool_result`)
        refuse(
          `messages.${at}.content: unexpected \`tool_use_id\` found in \`${String(type)}\` blocks: ${String(tool_use_id)}.`,
        )
      open.delete(String(tool_use_id))
    }
    const [missing] = open
    if (missing !== undefined)
      refuse(
        `messages.${at}: \`${missing[1]}\` tool use with id \`${missing[0]}\` was found without a corresponding \`${missing[1]}_tool_result\` block`,
      )
  }
}

function idsOf(content: readonly Data[], type: string, key: string): string[] {
  return content.filter((block) => block.type === type).map((block) => String(block[key]))
}

function checkThinking(body: Data, turns: readonly Turn[]): void {
  const { type, budget_tokens } = (body.thinking ?? {}) as Data
  const last = turns.at(-1)
  if (type !== "enabled") {
    if (last?.role === "assistant" && last.content.some(({ type }) => THINKING.includes(String(type))))
      refuse(
        "messages: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
      )
    return
  }
  if (!(Number(budget_tokens) >= 1_024))
    refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
  if (Number(body.max_tokens) <= Number(budget_tokens))
    refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
  if (body.temperature !== undefined && body.temperature !== 1)
    refuse("`temperature` may only be set to 1 when thinking is enabled.")
  const { type: choice } = (body.tool_choice ?? {}) as Data
  if (choice === "any" || choice === "tool")
    refuse("Thinking may not be enabled when tool_choice forces tool use.")
  const at = loopStart(turns)
  if (at === undefined) return
  const found = String(turns[at]?.content[0]?.type)
  if (THINKING.includes(found)) return
  refuse(
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  )
}

/** The turn of the assistant that began the calls whose results come last. */
function loopStart(turns: readonly Turn[]): number | undefined {
  let at: number | undefined
  for (let i = turns.length - 1; i > 0; i -= 2) {
    const { role, content } = turns[i] as Turn
    if (role !== "user" || content.some(({ type }) => type !== "tool_result")) return at
    at = i - 1
  }
  return at
}

function checkTools(body: Data, turns: readonly Turn[]): void {
  const tools = listOf(body.tools)
  const hasBlocks = turns.some(({ content }) =>
    content.some(({ type }) => type === "tool_use" || type === "tool_result"),
  )
  if (hasBlocks && tools.length === 0)
    refuse("Requests which include `tool_use` or `tool_result` blocks must define tools")
  for (const [at, { type, name, input_schema }] of tools.entries()) {
    if (!isName(name)) refuse(`tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
    if (type === undefined || type === "custom")
      checkParameters(input_schema, (why) => `tools.${at}.custom.input_schema: ${why}`)
  }
  checkUnique(
    tools.map(({ name }) => String(name)),
    () => "tools: Tool names must be unique.",
  )
}

const REFUSED = [
  "minimum",
  "maximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "uniqueItems",
  "patternProperties",
  "not",
  "if",
]

/** Structured outputs close every object, and take no bounds. */
function checkOutputSchema(schema: unknown, at: string): void {
  if (Array.isArray(schema)) {
    for (const one of schema) checkOutputSchema(one, at)
    return
  }
  if (!isData(schema)) return
  const refused = REFUSED.find((key) => schema[key] !== undefined)
  if (refused !== undefined)
    refuse(`${at}: For '${String(schema.type)}' type, property '${refused}' is not supported`)
  if (schema.type === "object" && schema.additionalProperties !== false)
    refuse(`${at}: For 'object' type, 'additionalProperties' must be explicitly set to false`)
  const { properties, $defs, definitions, items, anyOf, allOf } = schema
  for (const map of [properties, $defs, definitions]) {
    if (isData(map)) for (const [name, one] of Object.entries(map)) checkOutputSchema(one, `${at}.${name}`)
  }
  for (const one of [items, anyOf, allOf]) checkOutputSchema(one, at)
}
