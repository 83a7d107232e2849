/** Search engines of the web behind one interface. */
import { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { calendarDate, cutText } from "../../text/index.ts"
import { type Environment, headerSecrets, Masking, readVariable } from "../secrets.ts"
import { hostOf } from "./network-rules.ts"
import { decodeBody, type GuardedRequest, type GuardedResponse, guardedRequests } from "./request.ts"
import { htmlToText } from "./web-page.ts"

/** A search engine of the web. */
export interface WebSearch {
  readonly name: string
  search(query: string, options?: WebSearchOptions): Promise<readonly WebResult[]>
}

export interface WebSearchOptions {
  /** Default 10. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface WebResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
  /** The date of the page, if the engine knows it: 2026-03-14. */
  readonly date?: string | undefined
}

export interface WebSearchSettings {
  /** The address of the engine. Default: its public address; SearXNG: the variable SEARXNG_URL. */
  readonly url?: string | undefined
  /** The environment with the engine's key, read for each search. Default: that of the process. */
  readonly env?: Environment | undefined
  /** Milliseconds for one search. Default 15,000. */
  readonly timeout?: number | undefined
}

export type WebSearchEngine = "searxng" | "brave" | "tavily" | "serper"

interface Engine {
  readonly title: string
  /** The environment variable with its key, or with its address if it needs no key. */
  readonly variable: string
  /** Undefined for an engine that users host themselves and that needs no key. */
  readonly url?: string
  /** What to check when it fails. */
  readonly hint: string
  request(query: Query): GuardedRequest
  /** Returns the list of results in a response. */
  results(data: unknown): unknown
  /** Their fields for the title, the address and the snippet. */
  readonly fields: readonly [title: string, url: string, snippet: string]
}

interface Query {
  readonly base: URL
  readonly key: string
  readonly query: string
  readonly count: number
}

/** Brave and Tavily return at most 20 results. */
const MAX_PAGE = 20
const JSON_TYPE = "application/json"

const ENGINES: Readonly<Record<WebSearchEngine, Engine>> = {
  searxng: {
    title: "SearXNG",
    variable: "SEARXNG_URL",
    hint: "Its settings.yml must have json among search.formats.",
    request: ({ base, query }) => ({
      url: `${base.href.replace(/\/$/, "")}/search?${new URLSearchParams({ q: query, format: "json" })}`,
      headers: { accept: JSON_TYPE },
    }),
    results: (data) => at(data, "results"),
    fields: ["title", "url", "content"],
  },
  brave: {
    title: "Brave Search",
    variable: "BRAVE_API_KEY",
    url: "https://api.search.brave.com/res/v1/web/search",
    hint: "Check BRAVE_API_KEY.",
    request: ({ base, key, query, count }) => ({
      url: `${base.href}?${new URLSearchParams({ q: query, count: String(Math.min(MAX_PAGE, count)) })}`,
      headers: { accept: JSON_TYPE, "x-subscription-token": key },
    }),
    // Without a single result there is no `web`.
    results: (data) =>
      at(data, "web") === undefined && at(data, "type") === "search" ? [] : at(at(data, "web"), "results"),
    fields: ["title", "url", "description"],
  },
  tavily: {
    title: "Tavily",
    variable: "TAVILY_API_KEY",
    url: "https://api.tavily.com/search",
    hint: "Check TAVILY_API_KEY.",
    request: ({ base, key, query, count }) => ({
      url: base.href,
      method: "POST",
      headers: { "content-type": JSON_TYPE, authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, max_results: Math.min(MAX_PAGE, count) }),
    }),
    results: (data) => at(data, "results"),
    fields: ["title", "url", "content"],
  },
  serper: {
    title: "Serper",
    variable: "SERPER_API_KEY",
    url: "https://google.serper.dev/search",
    hint: "Check SERPER_API_KEY.",
    request: ({ base, key, query, count }) => ({
      url: base.href,
      method: "POST",
      headers: { "content-type": JSON_TYPE, "x-api-key": key },
      body: JSON.stringify({ q: query, num: count }),
    }),
    results: (data) => at(data, "organic"),
    fields: ["title", "link", "snippet"],
  },
}

const LIMIT = 10
const MAX_RESULTS = 50
const MAX_BYTES = 4_000_000
const MAX_QUERY_LENGTH = 400
const MAX_TEXT_LENGTH = 2_000

/** A search fails if the environment has no SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY or SERPER_API_KEY for the engine. */
export function webSearch(engine: WebSearchEngine, settings: WebSearchSettings = {}): WebSearch {
  const known = Object.hasOwn(ENGINES, engine) ? ENGINES[engine] : undefined
  if (known === undefined) {
    const text = `Unknown search engine "${engine}"; known engines: ${Object.keys(ENGINES).join(", ")}.`
    throw terminalError("SEARCH_UNKNOWN", text)
  }
  const { env = process.env, timeout = 15_000 } = settings
  return {
    name: engine,
    async search(query, { limit = LIMIT, signal = new AbortController().signal } = {}) {
      const key = known.url === undefined ? "" : readVariable(known.variable, env)
      const base = addressOf(known, settings.url ?? known.url ?? readVariable(known.variable, env))
      const count = Math.max(1, Math.min(MAX_RESULTS, Math.floor(limit) || LIMIT))
      const request = known.request({ base, key, count, query: cutText(query.trim(), MAX_QUERY_LENGTH) })
      // The user chose the URL, so it may be in a private network, but no other address there can be reached.
      const send = guardedRequests({
        allowHosts: [hostOf(base)],
        allowPrivate: true,
        timeout,
        maxBytes: MAX_BYTES,
      })
      try {
        const results = await resultsOf(known, await send(request, { signal }))
        return results.slice(0, count)
      } catch (error) {
        if (signal.aborted || !(error instanceof SuperstepError)) throw error
        const message = Masking.of(headerSecrets(request.headers ?? {})).text(error.message)
        throw new SuperstepError(error.code, message, { retryable: error.retryable === true })
      }
    },
  }
}

/** The first engine that the environment has a key or an address for, or undefined. */
export function webSearchFromEnv(env: Environment = process.env): WebSearch | undefined {
  const found = Object.entries(ENGINES).find(([, { variable }]) => (env[variable] ?? "").trim() !== "")
  return found === undefined ? undefined : webSearch(found[0] as WebSearchEngine, { env })
}

function isWebAddress(value: unknown): boolean {
  return typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

function addressOf({ title }: Engine, text: string): URL {
  if (isWebAddress(text)) return new URL(text)
  throw terminalError("ADDRESS_INVALID", `${title} is not at "${text.slice(0, 100)}": write https://host.`)
}

function resultsOf(engine: Engine, response: GuardedResponse): Promise<readonly WebResult[]> {
  const { title, hint } = engine
  const { status, type, truncated } = response
  const text = decodeBody(response)
  if (status >= 400) throw statusError(status, engine, text)
  const refuse = (problem: string, cause?: unknown) =>
    terminalError("SEARCH_FAILED", `${title} answered with ${problem}`, cause)
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    if (truncated) throw refuse(`more than ${MAX_BYTES / 1_000_000} MB. Check its address.`)
    const what = type === "text/html" || /^\s*</.test(text) ? "a web page" : type || "something"
    throw refuse(`${what} instead of JSON. ${hint}`, cause)
  }
  const results = engine.results(data)
  if (!Array.isArray(results)) throw refuse(`JSON that has no list of results. ${hint}`)
  // Only results with an address on the web.
  const found = results.filter((result) => isWebAddress(at(result, engine.fields[1])))
  return Promise.all(found.map((result) => toResult(engine, result)))
}

async function toResult({ fields }: Engine, result: unknown): Promise<WebResult> {
  const [title, url, snippet] = fields.map((field) => at(result, field))
  const name = (await plain(title)) || new URL(url as string).hostname
  const stated = DATES.map((field) => at(result, field)).find((value) => typeof value === "string")
  const date = calendarDate(String(stated ?? ""))
  return {
    title: name,
    url: url as string,
    snippet: await plain(snippet),
    ...(date !== undefined && { date }),
  }
}

/** The field with the date of a page at SearXNG, Brave, Tavily and Serper. */
const DATES = ["publishedDate", "page_age", "published_date", "date"]

/** Removes the tags with which engines highlight the words of the query. */
async function plain(value: unknown): Promise<string> {
  if (typeof value !== "string") return ""
  const { text } = await htmlToText(value)
  return cutText(text.replace(/\s+/g, " "), MAX_TEXT_LENGTH)
}

const REASONS: Readonly<Record<number, string>> = {
  401: "the key was rejected",
  402: "the plan's quota is used up",
  403: "access was denied",
  429: "too many requests",
}

function statusError(status: number, { title, hint }: Engine, text: string): SuperstepError {
  const reason = REASONS[status] ?? (status >= 500 ? "the service failed" : "it rejected the search")
  const detail = messageIn(text)
  const more = detail === "" ? "" : ` It says: ${detail}`
  const advice = status === 401 || status === 403 ? ` ${hint}` : ""
  return new SuperstepError("SEARCH_FAILED", `${title} answered ${status}: ${reason}.${advice}${more}`, {
    retryable: status === 429 || status >= 500,
  })
}

/** The message in the body of an error, if it is JSON. */
function messageIn(text: string): string {
  try {
    const data: unknown = JSON.parse(text)
    const outer = at(data, "error") ?? at(data, "detail") ?? at(data, "message")
    const inner = at(outer, "detail") ?? at(outer, "error") ?? at(outer, "message")
    const message = typeof outer === "object" ? inner : outer
    return typeof message === "string" ? message.slice(0, 200) : ""
  } catch {
    return ""
  }
}

/** A field of something that may not be an object. */
function at(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : undefined
}
