/** Search engines for the web behind one interface. What each of them wants and gives is in web-search-engines.ts. */
import { SuperstepError } from "../core/index.ts"
import { cutText } from "../text/index.ts"
import { type Environment, readVariable } from "./env-template.ts"
import { decodeBody } from "./fetch.ts"
import { type GuardedResponse, guardedRequests } from "./guarded-request.ts"
import { htmlToText } from "./html-text.ts"
import { hostOf } from "./network-rules.ts"
import { headerSecrets, Masking } from "./secrets.ts"
import { ENGINES, type Engine, type Hit, type WebSearchEngine } from "./web-search-engines.ts"

/** A search engine for the web. */
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
}

export interface WebSearchSettings {
  /** Where the engine answers. Default: its public address; SearXNG: the variable SEARXNG_URL. */
  readonly url?: string | undefined
  /** Has the engine's key, read when it is asked. Default: the process's environment. */
  readonly env?: Environment | undefined
  /** Milliseconds for one search. Default 15,000. */
  readonly timeout?: number | undefined
}

const LIMIT = 10
const MOST = 50
const TIMEOUT = 15_000
const MAX_BYTES = 4_000_000
const LONGEST_QUERY = 400
const LONGEST_TEXT = 2_000

/** SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY or SERPER_API_KEY is in the environment, or a search says which is missing. */
export function webSearch(engine: WebSearchEngine, settings: WebSearchSettings = {}): WebSearch {
  const known = Object.hasOwn(ENGINES, engine) ? ENGINES[engine] : undefined
  if (known === undefined) {
    const text = `There is no search engine "${engine}"; there are ${Object.keys(ENGINES).join(", ")}.`
    throw new SuperstepError("SEARCH_UNKNOWN", text, { retryable: false })
  }
  const { env = process.env, timeout = TIMEOUT } = settings
  return {
    name: engine,
    async search(query, { limit = LIMIT, signal = new AbortController().signal } = {}) {
      const key = known.needsKey ? readVariable(known.variable, env) : ""
      const base = addressOf(
        known,
        settings.url ?? (known.needsKey ? known.url : readVariable(known.variable, env)),
      )
      const count = Math.max(1, Math.min(MOST, Math.floor(limit) || LIMIT))
      const request = known.request({ base, key, count, query: cutText(query.trim(), LONGEST_QUERY) })
      const masking = Masking.of(headerSecrets(request.headers ?? {}))
      // The address is the user's own: it may be in their network, and nothing else there is reached through it.
      const ask = guardedRequests({
        allowHosts: [hostOf(base)],
        allowPrivate: true,
        timeout,
        maxBytes: MAX_BYTES,
      })
      try {
        const response = await ask(request, { signal })
        return resultsOf(known, response).slice(0, count)
      } catch (error) {
        if (signal.aborted || !(error instanceof SuperstepError)) throw error
        throw new SuperstepError(error.code, masking.text(error.message), {
          retryable: error.retryable === true,
        })
      }
    },
  }
}

/** The engine that the environment has a key or an address for; the first of them, undefined when there is none. */
export function webSearchFromEnv(env: Environment = process.env): WebSearch | undefined {
  const found = Object.entries(ENGINES).find(([, { variable }]) => (env[variable] ?? "").trim() !== "")
  return found === undefined ? undefined : webSearch(found[0] as WebSearchEngine, { env })
}

function addressOf({ title }: Engine, text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text)
  const shown = text.slice(0, 100)
  throw new SuperstepError("ADDRESS_INVALID", `${title} is not at "${shown}": write https://host.`, {
    retryable: false,
  })
}

function resultsOf(engine: Engine, response: GuardedResponse): WebResult[] {
  const { title } = engine
  const { status, type, truncated } = response
  const text = decodeBody(response)
  if (status >= 400) throw answers(status, engine, text)
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    if (truncated) throw tooLong(engine)
    const what = type === "text/html" || /^\s*</.test(text) ? "a web page" : type || "something"
    const message = `${title} answered with ${what} instead of JSON. ${engine.hint}`
    throw new SuperstepError("SEARCH_FAILED", message, { cause, retryable: false })
  }
  const hits = engine.hits(data)
  if (hits === undefined) {
    const message = `${title} answered with JSON that has no list of results. ${engine.hint}`
    throw new SuperstepError("SEARCH_FAILED", message, { retryable: false })
  }
  return hits.flatMap(toResult)
}

function tooLong({ title }: Engine): SuperstepError {
  const text = `${title} answered with more than ${MAX_BYTES / 1_000_000} MB. Check its address.`
  return new SuperstepError("SEARCH_FAILED", text, { retryable: false })
}

const REASONS: Readonly<Record<number, string>> = {
  401: "the key is refused",
  402: "the plan is used up",
  403: "access is refused",
  429: "too many requests",
}

function answers(status: number, { title, hint }: Engine, text: string): SuperstepError {
  const reason = REASONS[status] ?? (status >= 500 ? "it is out of order" : "it refuses the search")
  const said = saidIn(text)
  const more = said === "" ? "" : ` It says: ${said}`
  const advice = status === 401 || status === 403 ? ` ${hint}` : ""
  return new SuperstepError("SEARCH_FAILED", `${title} answered ${status}: ${reason}.${advice}${more}`, {
    retryable: status === 429 || status >= 500,
  })
}

/** What a body of an error says in words, if it is JSON. */
function saidIn(text: string): string {
  try {
    const data = JSON.parse(text) as Record<string, unknown>
    const detail = data.error ?? data.detail ?? data.message
    const inner =
      typeof detail === "object" && detail !== null ? (detail as Record<string, unknown>) : undefined
    const said = inner === undefined ? detail : (inner.detail ?? inner.error ?? inner.message)
    return typeof said === "string" ? said.slice(0, 200) : ""
  } catch {
    return ""
  }
}

/** Only what has an address on the web. Engines mark the words that were found with tags. */
function toResult({ title, url, snippet }: Hit): WebResult[] {
  if (typeof url !== "string" || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return []
  const plain = (given: unknown) =>
    typeof given === "string" ? cutText(htmlToText(given).text.replace(/\s+/g, " "), LONGEST_TEXT) : ""
  return [{ title: plain(title) || new URL(url).hostname, url, snippet: plain(snippet) }]
}
