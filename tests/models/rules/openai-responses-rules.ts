/**
 * What OpenAI's Responses refuse. It remembers the items of its own answers: a reasoning item and the item that came after
 * it belong together, and neither is accepted without the other.
 */
import {
  checkFileData,
  checkFormat,
  checkFunction,
  checkImageUrl,
  checkToolNames,
} from "./openai-shared-rules.ts"
import { checkUnique, type Data, isData, isName, listOf, Refusal, refuse } from "./refusal.ts"

const MAX_CALL_ID = 64
const REASONING_MODEL = /^(o\d|gpt-5(?!.*chat)|gpt-6|computer-use)/

export class ResponsesRules {
  /** Items of earlier answers, by their id; stored ones may be referred to. */
  readonly #items = new Map<string, { readonly item: Data; readonly isStored: boolean }>()
  /** What came right after a reasoning item, by the latter's id. */
  readonly #after = new Map<string, Data>()

  /** Throws a Refusal. */
  check(body: Data): void {
    const input =
      typeof body.input === "string" ? [{ role: "user", content: body.input }] : listOf(body.input)
    if (input.length === 0) refuse("Invalid 'input': empty array.", "input")
    const items = input.map((item) => this.#resolve(item))
    checkUnique(
      items.flatMap(({ id }) => (typeof id === "string" ? [id] : [])),
      (id) => `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
    )
    for (const [at, item] of items.entries()) checkItem(item, `input[${at}]`)
    for (const [at, item] of items.entries()) this.#checkPair(item, items[at - 1], items[at + 1])
    checkOutputs(items)
    if (items.some(({ type }) => type === "reasoning") && !REASONING_MODEL.test(String(body.model))) {
      refuse(
        "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.",
        "input",
      )
    }
    for (const [at, tool] of listOf(body.tools).entries()) {
      if (tool.type === "function") checkFunction(tool, `tools[${at}]`)
    }
    checkToolNames(listOf(body.tools))
    const { format } = (body.text ?? {}) as Data
    if (isData(format) && format.type === "json_schema") checkFormat(format, "text.format")
  }

  /** Remembers an answer. */
  answered(body: Data, answer: Data): void {
    const output = listOf(answer.output)
    for (const [at, item] of output.entries()) {
      if (typeof item.id === "string") this.#items.set(item.id, { item, isStored: body.store !== false })
      const next = output[at + 1]
      if (item.type === "reasoning" && next !== undefined) this.#after.set(String(item.id), next)
    }
  }

  #resolve(item: Data): Data {
    if (item.type !== "item_reference") return item
    const known = this.#items.get(String(item.id))
    if (known?.isStored === true) return known.item
    const why = known === undefined ? "" : " Items are not persisted when `store` is set to false."
    throw new Refusal(`Item with id '${String(item.id)}' not found.${why}`, { status: 404, param: "input" })
  }

  #checkPair(item: Data, before: Data | undefined, next: Data | undefined): void {
    if (item.type === "reasoning") {
      const expected = this.#after.get(String(item.id))
      const isPaired = expected === undefined ? next !== undefined && isOutput(next) : isSame(next, expected)
      if (!isPaired)
        refuse(
          `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`,
          "input",
        )
      return
    }
    if (typeof item.id !== "string") return
    const reasoning = [...this.#after].find(([, following]) => following.id === item.id)?.[0]
    if (reasoning === undefined || before?.id === reasoning) return
    refuse(
      `Item '${item.id}' of type '${String(item.type)}' was provided without its required 'reasoning' item: '${reasoning}'.`,
      "input",
    )
  }
}

function isOutput({ type, role }: Data): boolean {
  return (
    role === "assistant" || (type !== undefined && type !== "message" && !String(type).endsWith("_output"))
  )
}

function isSame(item: Data | undefined, expected: Data): boolean {
  if (item === undefined) return false
  if (typeof expected.call_id === "string") return item.call_id === expected.call_id
  return item.id === expected.id
}

function checkItem(item: Data, at: string): void {
  const { type = "message" } = item
  switch (type) {
    case "message":
      return checkMessage(item, at)
    case "function_call":
      checkCallId(item.call_id, at)
      if (!isName(item.name))
        refuse(`Invalid '${at}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`, at)
      if (typeof item.arguments !== "string") refuse(`Invalid type for '${at}.arguments'.`, at)
      return
    case "function_call_output":
      checkCallId(item.call_id, at)
      if (typeof item.output !== "string") checkParts(item.output, `${at}.output`, INPUT)
      return
    case "reasoning":
      if (!Array.isArray(item.summary)) refuse(`Missing required parameter: '${at}.summary'.`, at)
      return
    case "web_search_call":
    case "code_interpreter_call":
    case "file_search_call":
    case "computer_call":
      if (typeof item.id !== "string") refuse(`Missing required parameter: '${at}.id'.`, at)
      return
    default:
      refuse(`Invalid value: '${String(type)}'.`, `${at}.type`)
  }
}

const INPUT = ["input_text", "input_image", "input_file"]

function checkMessage({ role, content }: Data, at: string): void {
  if (role !== "user" && role !== "system" && role !== "developer" && role !== "assistant")
    refuse(`Invalid value: '${String(role)}'.`, `${at}.role`)
  if (typeof content === "string") return
  checkParts(content, `${at}.content`, role === "assistant" ? ["output_text", "refusal"] : INPUT)
}

function checkParts(parts: unknown, at: string, types: readonly string[]): void {
  if (!Array.isArray(parts) || parts.length === 0) refuse(`Invalid '${at}': empty array.`, at)
  for (const [index, part] of listOf(parts).entries()) {
    const here = `${at}[${index}]`
    if (!types.includes(String(part.type))) refuse(`Invalid value: '${String(part.type)}'.`, `${here}.type`)
    if (part.type === "input_image" && part.file_id === undefined)
      checkImageUrl(part.image_url, `${here}.image_url`)
    if (part.type === "input_file") checkFileData(part, here)
    if (String(part.type).endsWith("_text") && typeof part.text !== "string")
      refuse(`Missing '${here}.text'.`, here)
  }
}

function checkCallId(id: unknown, at: string): void {
  if (typeof id !== "string" || id === "") refuse(`Missing required parameter: '${at}.call_id'.`, at)
  if (id.length > MAX_CALL_ID) refuse(`Invalid '${at}.call_id': string too long.`, at)
}

function checkOutputs(items: readonly Data[]): void {
  const calls = new Set<string>()
  const answered = new Set<string>()
  for (const item of items) {
    if (item.type === "function_call") calls.add(String(item.call_id))
    if (item.type !== "function_call_output") continue
    const id = String(item.call_id)
    if (!calls.has(id)) refuse(`No tool call found for function call output with call_id ${id}.`, "input")
    answered.add(id)
  }
  const missing = [...calls].find((id) => !answered.has(id))
  if (missing !== undefined) refuse(`No tool output found for function call ${missing}.`, "input")
}
