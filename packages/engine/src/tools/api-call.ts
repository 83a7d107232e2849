/** One call of an API: sent under the rules of guarded-request.ts, its answer as data, without our own secrets. */
import { type Json, SuperstepError } from "../core/index.ts"
import { type Environment, fillTemplate, readVariable, variablesIn } from "./env-template.ts"
import { decodeBody, mustBeText } from "./fetch.ts"
import {
  type GuardedRequest,
  type GuardedResponse,
  guardedRequests,
  type RequestLimits,
} from "./guarded-request.ts"
import { headerSecrets, Masking } from "./secrets.ts"
import type { ToolCallContext } from "./tool.ts"

export interface ApiOptions extends RequestLimits {
  /** For every call. `${env.NAME}` is filled in when it is sent. What they say is taken out of what comes back. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Characters of the answer that are given back. Default 50,000. */
  readonly maxChars?: number | undefined
  /** Where keys come from. Default: the process's environment. */
  readonly env?: Environment | undefined
}

export interface ApiRequest extends GuardedRequest {
  readonly method: string
  /** Names of the variables that were put into it. */
  readonly secrets?: readonly string[] | undefined
}

export interface ApiAnswer {
  readonly status: number
  readonly body: Json
  readonly note?: string
}

const MAX_CHARS = 50_000

export function apiCaller(
  options: ApiOptions,
): (request: ApiRequest, call: Pick<ToolCallContext, "signal" | "idempotencyKey">) => Promise<ApiAnswer> {
  const send = guardedRequests(options)
  const templates = Object.entries(options.headers ?? {})
  const variables = templates.flatMap(([, template]) => variablesIn(template))
  const written = Object.fromEntries(templates.filter(([, template]) => variablesIn(template).length === 0))

  return async (request, call) => {
    const env = options.env ?? process.env
    const own = Object.fromEntries(templates.map(([name, template]) => [name, fillTemplate(template, env)]))
    const headers = {
      accept: "application/json, text/*;q=0.8",
      // Whoever knows it makes the same call once, however often it is sent.
      ...(request.method === "GET" ? {} : { "idempotency-key": call.idempotencyKey }),
      ...request.headers,
      ...own,
    }
    checkHeaders(headers)
    const names = [...variables, ...(request.secrets ?? [])]
    const keys = names.flatMap((name) => secretForms(readVariable(name, env)))
    const masking = Masking.of([...keys, ...headerSecrets(written)])
    const response = await send({ ...request, headers }, { signal: call.signal, accept: mustBeText })
    return answerOf(response, masking, options.maxChars ?? MAX_CHARS)
  }
}

/** A user name and password are told by their parts as well. */
function secretForms(value: string): readonly string[] {
  const colon = value.indexOf(":")
  return colon < 0 ? [value] : [value, value.slice(colon + 1)]
}

/** Node refuses these too, with a message that has the value in it. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !/[^\t\x20-\x7e\x80-\xff]/.test(value)) continue
    throw new SuperstepError(
      "HEADER_INVALID",
      `The header "${name}" has characters that a header cannot have.`,
      {
        retryable: false,
      },
    )
  }
}

function answerOf(response: GuardedResponse, masking: Masking, maxChars: number): ApiAnswer {
  const { status, type, truncated } = response
  const text = decodeBody(response)
  if (truncated || text.length > maxChars) {
    // Without keys before it is cut, so that half a key is not left over.
    const masked = truncated ? masking.beginning(text) : masking.text(text)
    return {
      status,
      body: masked.slice(0, maxChars),
      note: "The answer is longer than this; ask for less of it.",
    }
  }
  return { status, body: masking.json(jsonOf(type, text) ?? text) }
}

function jsonOf(type: string, text: string): Json | undefined {
  if (!/[/+]json$/.test(type)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
