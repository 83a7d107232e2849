import type { ServerResponse } from "node:http"
import { afterEach, describe, expect, test } from "vitest"
import { type Answer, type LoopbackServer, loopbackServer } from "../loopback-server.test-support.ts"
import type { WebSearchEngine } from "./web-search.ts"
import { webSearch, webSearchFromEnv } from "./web-search.ts"

let server: LoopbackServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

const json = (response: ServerResponse, data: unknown, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(data))

const KEYS = { BRAVE_API_KEY: "brave-key", TAVILY_API_KEY: "tavily-key", SERPER_API_KEY: "serper-key" }

async function engineAt(engine: WebSearchEngine, answer: Answer, path = "") {
  server = await loopbackServer(answer)
  const url = `http://127.0.0.1:${server.port}${path}`
  return webSearch(engine, { url, env: KEYS })
}

const FOUND = [
  { title: "Tea", url: "https://t.example/tea", snippet: "Tea is a drink." },
  { title: "t.example", url: "https://t.example/rye", snippet: "" },
]

describe("a search", () => {
  test("asks SearXNG for JSON", async () => {
    const searxng = await engineAt(
      "searxng",
      (_, response) =>
        json(response, {
          results: [
            { title: "Tea", url: "https://t.example/tea", content: "Tea is a drink." },
            { url: "https://t.example/rye" },
            { title: "no address" },
            { title: "bad", url: "javascript:alert(1)" },
          ],
        }),
      "/sub/",
    )
    expect(await searxng.search("what is tea?")).toEqual(FOUND)
    expect(server?.asked[0]?.url).toBe("/sub/search?q=what+is+tea%3F&format=json")
  })

  test.each([
    ["searxng", "publishedDate", (result: object) => ({ results: [result] })],
    ["brave", "page_age", (result: object) => ({ web: { results: [result] } })],
    ["tavily", "published_date", (result: object) => ({ results: [{ ...result, date: 7 }] })],
    ["serper", "date", (result: object) => ({ organic: [{ ...result, link: "https://t.example/tea" }] })],
  ] as const)("has the date of a page where %s knows it", async (name, field, answer) => {
    const result = { title: "Tea", url: "https://t.example/tea" }
    const engine = await engineAt(name, (_, response) =>
      json(response, answer({ ...result, [field]: "2026-03-14T10:00:00" })),
    )
    expect(await engine.search("tea")).toEqual([{ ...result, snippet: "", date: "2026-03-14" }])
  })

  test("sends Brave its key in a header, and removes highlighting from the results", async () => {
    const brave = await engineAt("brave", (_, response) =>
      json(response, {
        type: "search",
        web: {
          results: [
            { title: "Tea", url: "https://t.example/tea", description: "<strong>Tea</strong> is a drink." },
            { url: "https://t.example/rye" },
          ],
        },
      }),
    )
    expect(await brave.search("tea", { limit: 30 })).toEqual(FOUND)
    const [asked] = server?.asked ?? []
    expect([asked?.url, asked?.headers["x-subscription-token"]]).toEqual(["/?q=tea&count=20", "brave-key"])
  })

  test("sends Tavily and Serper a body", async () => {
    const tavily = await engineAt("tavily", (_, response) =>
      json(response, {
        results: [{ title: "Tea", url: "https://t.example/tea", content: "Tea is a drink." }],
      }),
    )
    expect(await tavily.search("tea", { limit: 3 })).toEqual(FOUND.slice(0, 1))
    expect(server?.asked[0]).toMatchObject({ method: "POST", body: '{"query":"tea","max_results":3}' })
    expect(server?.asked[0]?.headers.authorization).toBe("Bearer tavily-key")
    await server?.close()
    const serper = await engineAt("serper", (_, response) =>
      json(response, {
        organic: [{ title: "Tea", link: "https://t.example/tea", snippet: "Tea is a drink." }],
      }),
    )
    expect(await serper.search("tea", { limit: 3 })).toEqual(FOUND.slice(0, 1))
    expect(server?.asked[0]).toMatchObject({ method: "POST", body: '{"q":"tea","num":3}' })
    expect(server?.asked[0]?.headers["x-api-key"]).toBe("serper-key")
  })

  test("returns nothing if nothing is found, and at most the limit", async () => {
    const brave = await engineAt("brave", (_, response) => json(response, { type: "search" }))
    expect(await brave.search("tea")).toEqual([])
    await server?.close()
    const results = Array.from({ length: 9 }, (_, i) => ({ title: "t", url: `https://t.example/${i}` }))
    const searxng = await engineAt("searxng", (_, response) => json(response, { results }))
    expect(await searxng.search("tea", { limit: 2 })).toHaveLength(2)
    expect(await searxng.search("tea", { limit: Number.NaN })).toHaveLength(9)
  })
})

describe("an engine that fails", () => {
  test.each<[string, WebSearchEngine, Answer, string]>([
    [
      "429",
      "brave",
      (_, response) => json(response, { error: { detail: "slow down" } }, 429),
      "Brave Search answered 429: too many requests. It says: slow down",
    ],
    [
      "500",
      "serper",
      (_, response) => response.writeHead(500).end("oops"),
      "Serper answered 500: the service failed.",
    ],
    [
      "401",
      "tavily",
      (_, response) => json(response, { detail: { error: "no such key: tavily-key" } }, 401),
      "Tavily answered 401: the key was rejected. Check TAVILY_API_KEY. It says: no such key: [secret]",
    ],
    [
      "403 of SearXNG",
      "searxng",
      (_, response) => response.writeHead(403).end("<html>Forbidden"),
      "SearXNG answered 403: access was denied. Its settings.yml must have json among search.formats.",
    ],
    [
      "a web page",
      "searxng",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>hello"),
      "SearXNG answered with a web page instead of JSON. Its settings.yml must have json among search.formats.",
    ],
    [
      "other JSON",
      "serper",
      (_, response) => json(response, [1, 2]),
      "Serper answered with JSON that has no list of results. Check SERPER_API_KEY.",
    ],
    [
      "5 MB",
      "tavily",
      (_, response) => json(response, { results: ["x".repeat(5_000_000)] }),
      "Tavily answered with more than 4 MB. Check its address.",
    ],
  ])("is reported: %s", async (_, engine, answer, message) => {
    const search = await engineAt(engine, answer)
    await expect(search.search("tea")).rejects.toMatchObject({ code: "SEARCH_FAILED", message })
  })

  test("can be self-hosted, and its redirects obey the network rules", async () => {
    const searxng = await engineAt("searxng", (_, response) =>
      response.writeHead(302, { location: "http://169.254.169.254/latest" }).end(),
    )
    await expect(searxng.search("tea")).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  })

  test("or does not answer is abandoned, and its connection is closed", async () => {
    const stop = new AbortController()
    let closed: () => void = () => undefined
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const searxng = await engineAt("searxng", (_, response) => {
      response.on("close", closed)
      stop.abort(new Error("enough"))
    })
    await expect(searxng.search("tea", { signal: stop.signal })).rejects.toThrow("enough")
    await isClosed
  })

  test("without its key is reported with the missing variable", async () => {
    await expect(webSearch("brave", { env: {} }).search("tea")).rejects.toThrow("BRAVE_API_KEY")
    await expect(webSearch("searxng", { env: { SEARXNG_URL: "nowhere" } }).search("tea")).rejects.toThrow(
      'SearXNG is not at "nowhere": write https://host.',
    )
    expect(() => webSearch("bing" as never)).toThrow('Unknown search engine "bing"')
  })
})

test("the engine is chosen by the environment", () => {
  expect(webSearchFromEnv({})).toBeUndefined()
  expect(webSearchFromEnv({ SERPER_API_KEY: "k" })?.name).toBe("serper")
  expect(webSearchFromEnv({ SERPER_API_KEY: "k", SEARXNG_URL: "http://localhost:8080" })?.name).toBe(
    "searxng",
  )
})
