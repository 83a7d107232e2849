/**
 * API calls: sent under the limits of request.ts; answers are data, with our own secrets masked.
 *
 * The api toolset turns one endpoint into one tool. `{name}` or `${name}` in the endpoint's path is replaced by an
 * argument; the other arguments become the query of a GET, or the JSON body of any other method.
 */
import type { Json } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { clipped, cutText } from "../../text/index.ts"
import type { Approval } from "../approval.ts"
import { answerProblem } from "../json-schema.ts"
import {
  type Environment,
  fillTemplate,
  headerSecrets,
  Masking,
  readVariable,
  variablesIn,
} from "../secrets.ts"
import { objectInput, type ToolCallContext, type Toolset, tool } from "../tool.ts"
import {
  decodeBody,
  type GuardedRequest,
  type GuardedResponse,
  guardedRequests,
  mustBeText,
  type RequestLimits,
} from "./request.ts"

export interface ApiOptions extends RequestLimits {
  /** Headers of every call. `${env.NAME}` is replaced when the request is sent. Their values are masked in answers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Characters of the answer to return. Default 50,000. */
  readonly maxChars?: number | undefined
  /** The environment with the keys. Default: that of the process. */
  readonly env?: Environment | undefined
}

export interface ApiRequest extends GuardedRequest {
  readonly method: string
  /** Names of the variables whose values are in it. */
  readonly secrets?: readonly string[] | undefined
}

export interface ApiAnswer {
  readonly status: number
  readonly body: Json
  readonly note?: string
}

export function apiCaller(
  options: ApiOptions,
): (request: ApiRequest, call: Pick<ToolCallContext, "signal" | "idempotencyKey">) => Promise<ApiAnswer> {
  const send = guardedRequests(options)
  const templates = Object.entries(options.headers ?? {})
  const variables = templates.flatMap(([, template]) => variablesIn(template))
  const literal = Object.fromEntries(templates.filter(([, template]) => variablesIn(template).length === 0))

  return async (request, call) => {
    const env = options.env ?? process.env
    const own = Object.fromEntries(templates.map(([name, template]) => [name, fillTemplate(template, env)]))
    const headers = {
      accept: "application/json, text/*;q=0.8",
      // A server that supports this header executes the call once, however often it is sent.
      ...(request.method !== "GET" && { "idempotency-key": call.idempotencyKey }),
      ...request.headers,
      ...own,
    }
    checkHeaders(headers)
    const names = [...variables, ...(request.secrets ?? [])]
    const keys = names.flatMap((name) => secretForms(readVariable(name, env)))
    const masking = Masking.of([...keys, ...headerSecrets(literal)])
    const response = await send({ ...request, headers }, { signal: call.signal, accept: mustBeText })
    return answerOf(response, masking, options.maxChars ?? 50_000)
  }
}

/** The password of `user:password` is masked by itself too. */
function secretForms(value: string): readonly string[] {
  const colon = value.indexOf(":")
  return colon < 0 ? [value] : [value, value.slice(colon + 1)]
}

/** Node refuses these too, with a message that contains the value. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !/[^\t\x20-\x7e\x80-\xff]/.test(value)) continue
    throw terminalError(
      "HEADER_INVALID",
      `The header "${name}" contains characters that are not allowed in a header.`,
    )
  }
}

function answerOf(response: GuardedResponse, masking: Masking, maxChars: number): ApiAnswer {
  const { status, type, truncated } = response
  const text = decodeBody(response)
  if (!truncated && text.length <= maxChars) {
    return { status, body: masking.json(jsonOf(type, text) ?? text) }
  }
  // Masked before it is cut, so that no partial key remains.
  const masked = truncated ? masking.beginning(text) : masking.text(text)
  const note = "The answer is longer than this; ask for less of it."
  return { status, body: cutText(masked, maxChars), note }
}

function jsonOf(type: string, text: string): Json | undefined {
  if (!/[/+]json$/.test(type)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

export interface ApiToolOptions extends ApiOptions {
  readonly name: string
  /** What it does and when to use it. Default: its method and endpoint. */
  readonly description?: string | undefined
  /** `https://api.example.com/users/{id}`. The host is fixed: no argument gets into it. */
  readonly endpoint: string
  /** Default GET. */
  readonly method?: string | undefined
  /** JSON Schemas of the arguments by name. */
  readonly args?: Readonly<Record<string, Json>> | undefined
  readonly required?: readonly string[] | undefined
  /** The JSON Schema of the answer's body: a part of the description. An answer that does not match has a note. */
  readonly output?: Json | undefined
  /** Default: a GET needs no approval, everything else asks a person. */
  readonly approval?: Approval | undefined
}

const PLACEHOLDER = /\$?\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g

export function api(options: ApiToolOptions): Toolset {
  const { name, endpoint, description, args = {}, required = [], output } = options
  const method = (options.method ?? "GET").toUpperCase()
  checkEndpoint(endpoint)
  const call = apiCaller(options)
  const endpointTool = tool({
    name,
    description: described(description ?? `${method} ${endpoint}`, output),
    input: objectInput(args, required),
    approval: options.approval ?? (isRead(method) ? "never" : "always"),
    idempotent: isRead(method),
    run: async (args: Readonly<Record<string, Json>>, context) =>
      checked(await call(requestOf(endpoint, method, args), context), output),
  })
  return { name, tools: () => [endpointTool] }
}

const MAX_SCHEMA = 4_000

function described(description: string, output: Json | undefined): string {
  if (output === undefined) return description
  return `${description}\nThe body of the answer has this JSON Schema: ${clipped(JSON.stringify(output), MAX_SCHEMA)}`
}

/** The model sees an unexpected answer too: it may still be of use. */
async function checked(answer: ApiAnswer, output: Json | undefined): Promise<ApiAnswer> {
  if (output === undefined || answer.status >= 400 || answer.note !== undefined) return answer
  const problem = await answerProblem(output, answer.body)
  return problem === undefined
    ? answer
    : { ...answer, note: `The answer does not have the expected form: ${problem}` }
}

/** Whether the method only reads: such calls need no approval and can be repeated. */
export function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD"
}

function requestOf(endpoint: string, method: string, args: Readonly<Record<string, Json>>): ApiRequest {
  const used = new Set<string>()
  const filled = endpoint.replace(PLACEHOLDER, (_, name: string) => {
    used.add(name)
    return encodeSegment(name, args[name])
  })
  const rest = Object.entries(args).filter(([name]) => !used.has(name))
  if (!isRead(method)) {
    const body = JSON.stringify(Object.fromEntries(rest))
    return { url: filled, method, headers: { "content-type": "application/json" }, body }
  }
  const url = new URL(filled)
  for (const [name, value] of rest) {
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, encodeText(one))
  }
  return { url: url.href, method }
}

/** Throws unless the host is fixed: no argument may change it. */
function checkEndpoint(endpoint: string): void {
  const origins = ["a", "b"].map((value) => {
    const filled = endpoint.replace(PLACEHOLDER, value)
    if (!URL.canParse(filled)) return undefined
    const { protocol, host } = new URL(filled)
    return `${protocol}//${host}`
  })
  if (origins[0] !== undefined && origins[0] === origins[1]) return
  const text = `The endpoint "${endpoint}" is not a URL with a fixed host: write https://host/path/{argument}.`
  throw terminalError("API_INVALID", text)
}

/** Encodes a value as one path segment, which cannot contain `/` or be `..`. */
export function encodeSegment(name: string, value: Json | undefined): string {
  const text = Array.isArray(value) ? value.map(encodeText).join(",") : encodeText(value)
  if (text === "" || text === "." || text === "..") {
    throw terminalError("TOOL_ARGS_INVALID", `"${name}" is part of a path and cannot be "${text}".`)
  }
  // A Buffer replaces lone surrogates, which encodeURIComponent refuses.
  return encodeURIComponent(Buffer.from(text).toString())
}

export function encodeText(value: Json | undefined): string {
  if (value === undefined || value === null) return ""
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}
