/** The search engines that are known: how each is asked, and where its answer has the results. */
import type { GuardedRequest } from "./guarded-request.ts"

export type WebSearchEngine = "searxng" | "brave" | "tavily" | "serper"

export interface Engine {
  readonly title: string
  /** The environment variable with its key; with its address where it needs no key. */
  readonly variable: string
  readonly needsKey: boolean
  /** Empty where everybody has their own. */
  readonly url: string
  /** What to look at when it does not answer as it should. */
  readonly hint: string
  request(asked: Asked): GuardedRequest
  /** Undefined when the answer is not of its form. */
  hits(data: unknown): readonly Hit[] | undefined
}

interface Asked {
  readonly base: URL
  readonly key: string
  readonly query: string
  readonly count: number
}

/** As a stranger sent it. */
export interface Hit {
  readonly title?: unknown
  readonly url?: unknown
  readonly snippet?: unknown
}

export const ENGINES: Readonly<Record<WebSearchEngine, Engine>> = {
  searxng: {
    title: "SearXNG",
    variable: "SEARXNG_URL",
    needsKey: false,
    url: "",
    hint: "Its settings.yml must have json among search.formats.",
    request: ({ base, query }) => ({
      url: `${base.href.replace(/\/$/, "")}/search?${new URLSearchParams({ q: query, format: "json" })}`,
      headers: { accept: "application/json" },
    }),
    hits: (data) =>
      listIn(data, "results")?.map(({ title, url, content }) => ({ title, url, snippet: content })),
  },
  brave: {
    title: "Brave Search",
    variable: "BRAVE_API_KEY",
    needsKey: true,
    url: "https://api.search.brave.com/res/v1/web/search",
    hint: "Check BRAVE_API_KEY.",
    request: ({ base, key, query, count }) => ({
      // It gives 20 at the most.
      url: `${base.href}?${new URLSearchParams({ q: query, count: String(Math.min(20, count)) })}`,
      headers: { accept: "application/json", "x-subscription-token": key },
    }),
    // Without a single result there is no `web`.
    hits: (data) =>
      isRecord(data) && data.web === undefined && data.type === "search"
        ? []
        : listIn(isRecord(data) ? data.web : undefined, "results")?.map(({ title, url, description }) => ({
            title,
            url,
            snippet: description,
          })),
  },
  tavily: {
    title: "Tavily",
    variable: "TAVILY_API_KEY",
    needsKey: true,
    url: "https://api.tavily.com/search",
    hint: "Check TAVILY_API_KEY.",
    request: ({ base, key, query, count }) => ({
      url: base.href,
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      // It gives 20 at the most.
      body: JSON.stringify({ query, max_results: Math.min(20, count) }),
    }),
    hits: (data) =>
      listIn(data, "results")?.map(({ title, url, content }) => ({ title, url, snippet: content })),
  },
  serper: {
    title: "Serper",
    variable: "SERPER_API_KEY",
    needsKey: true,
    url: "https://google.serper.dev/search",
    hint: "Check SERPER_API_KEY.",
    request: ({ base, key, query, count }) => ({
      url: base.href,
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ q: query, num: count }),
    }),
    hits: (data) =>
      listIn(data, "organic")?.map(({ title, link, snippet }) => ({ title, url: link, snippet })),
  },
}

function listIn(data: unknown, field: string): Record<string, unknown>[] | undefined {
  const list = isRecord(data) ? data[field] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
