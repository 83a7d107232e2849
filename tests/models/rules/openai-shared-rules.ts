/** What both of OpenAI's interfaces refuse: tools, formats of answers, images. */
import {
  checkParameters,
  type Data,
  dataUrl,
  imageProblem,
  isData,
  isName,
  isWebUrl,
  listOf,
  refuse,
} from "./refusal.ts"
import { strictProblem } from "./strict-subset.ts"

/** A function tool; in Chat Completions its fields are one level deeper. */
export function checkFunction(fields: Data, at: string): void {
  const { name, parameters, strict } = fields
  if (!isName(name))
    refuse(`Invalid '${at}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`, `${at}.name`)
  const problem = (why: string) => `Invalid schema for function '${name}': ${why}`
  checkParameters(parameters ?? { type: "object" }, problem)
  const refused = strict === true ? strictProblem(parameters) : undefined
  if (refused !== undefined) refuse(problem(refused), `${at}.parameters`)
}

/** `json_schema` of a response format, or a `text.format`. */
export function checkFormat(format: Data, param: string): void {
  const { name, schema, strict } = format
  if (!isName(name))
    refuse(`Invalid '${param}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`, param)
  const problem = (why: string) => `Invalid schema for response_format '${name}': ${why}`
  if (!isData(schema)) refuse(problem("schema must be an object"), param)
  if (schema.type !== "object")
    refuse(
      problem(`schema must be a JSON Schema of 'type: "object"', got 'type: "${String(schema.type)}"'.`),
      param,
    )
  const refused = strict === true ? strictProblem(schema) : undefined
  if (refused !== undefined) refuse(problem(refused), param)
}

export function checkImageUrl(url: unknown, at: string): void {
  if (isWebUrl(url)) return
  const inline = dataUrl(url)
  if (inline === undefined)
    refuse(`Invalid '${at}'. Expected a valid URL, but got a value with an invalid format.`, at)
  const problem = imageProblem(inline.mediaType, inline.data)
  if (problem !== undefined) refuse(`You uploaded an unsupported image: ${problem}.`, at)
}

export function checkFileData(fields: Data, at: string): void {
  const { file_id, file_data, file_url, filename } = fields
  if (file_id !== undefined || isWebUrl(file_url)) return
  if (dataUrl(file_data) === undefined) refuse(`Invalid '${at}.file_data': expected a base64 data URL.`, at)
  if (typeof filename !== "string") refuse(`Missing required parameter: '${at}.filename'.`, at)
}

export function checkToolNames(tools: readonly Data[]): void {
  const names = listOf(tools).flatMap(({ name }) => (typeof name === "string" ? [name] : []))
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) refuse(`Tool names must be unique: '${twice}'.`, "tools")
}
