/**
 * The api toolset: one endpoint as one tool. `{name}` or `${name}` in the endpoint's path is filled from the
 * arguments; the others become the query of a GET, or the JSON body of anything else.
 */
import { type Json, SuperstepError } from "../core/index.ts"
import { type ApiOptions, type ApiRequest, apiCaller } from "./api-call.ts"
import { argsSchema } from "./args-schema.ts"
import { tool } from "./define-tool.ts"
import { encodeSegment, encodeText } from "./openapi-encoding.ts"
import type { Approval, Toolset } from "./tool.ts"

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
  /** Default: a GET asks nobody, everything else asks a person. */
  readonly approval?: Approval | undefined
}

const PLACE = /\$?\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g

export function api(options: ApiToolOptions): Toolset {
  const method = (options.method ?? "GET").toUpperCase()
  const isRead = method === "GET" || method === "HEAD"
  checkEndpoint(options.endpoint)
  const call = apiCaller(options)
  const endpointTool = tool({
    name: options.name,
    description: options.description ?? `${method} ${options.endpoint}`,
    input: { jsonSchema: argsSchema(options.args ?? {}, options.required ?? []) },
    approval: options.approval ?? (isRead ? "never" : "always"),
    idempotent: isRead,
    run: (args: Readonly<Record<string, Json>>, context) =>
      call(requestOf(options.endpoint, method, args), context),
  })
  return { name: options.name, tools: () => [endpointTool] }
}

function requestOf(endpoint: string, method: string, args: Readonly<Record<string, Json>>): ApiRequest {
  const used = new Set<string>()
  const filled = endpoint.replace(PLACE, (_, name: string) => {
    used.add(name)
    return encodeSegment(name, args[name])
  })
  const rest = Object.entries(args).filter(([name]) => !used.has(name))
  if (method !== "GET" && method !== "HEAD") {
    const body = JSON.stringify(Object.fromEntries(rest))
    return { url: filled, method, headers: { "content-type": "application/json" }, body }
  }
  const url = new URL(filled)
  for (const [name, value] of rest) {
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, encodeText(one))
  }
  return { url: url.href, method }
}

/** Two different fillings must not lead to two different hosts. */
function checkEndpoint(endpoint: string): void {
  const [one, other] = ["a", "b"].map((filling) => endpoint.replace(PLACE, filling))
  const isFixed =
    URL.canParse(one ?? "") &&
    URL.canParse(other ?? "") &&
    new URL(one ?? "").host === new URL(other ?? "").host &&
    new URL(one ?? "").protocol === new URL(other ?? "").protocol
  if (isFixed) return
  throw new SuperstepError(
    "API_INVALID",
    `The endpoint "${endpoint}" is no address with a fixed host: write https://host/path/{argument}.`,
    { retryable: false },
  )
}
