import { describe, expect, test } from "vitest"
import { pageReader, webSearch } from "../../tools/index.ts"
import { loopbackServer } from "../../tools/loopback-server.test-support.ts"
import type { PageReader, Retriever, WebSearch } from "../ports.ts"
import { scripted, verdict } from "./research.test-support.ts"
import { iterativeResearch } from "./research-loop.ts"
import { documentsTool, excerptOf, pageTool, type ResearchTool, webSearchTool } from "./research-tools.ts"

const call = {
  signal: new AbortController().signal,
  clock: { now: () => 0, setTimer: () => () => undefined },
}
const task = (query: string, website?: string) => ({
  agent: "x",
  query,
  ...(website !== undefined && { entity_website: website }),
})

const search = (count: number): WebSearch => ({
  name: "stub",
  search: async (_, { limit = 10 } = {}) =>
    Array.from({ length: Math.min(limit, count) }, (__, i) => ({
      title: `T${i}`,
      url: `https://t.example/${i}`,
      snippet: `snippet ${i}`,
    })),
})

const reader: PageReader = {
  read: async (url) => {
    if (url.endsWith("/1")) throw new Error("it is down")
    return { url: `${url}/end`, title: "Page", text: `whole text of ${url}` }
  },
}

describe("web search", () => {
  test("returns the results as sources, the best with the text of their pages", async () => {
    const { output, sources } = await webSearchTool({ search: search(9), reader }).run(task("tea"), call)
    expect(sources).toHaveLength(5)
    expect(sources.slice(0, 3)).toEqual([
      { url: "https://t.example/0", title: "T0", text: "whole text of https://t.example/0" },
      // A page that cannot be read leaves the engine's snippet.
      { url: "https://t.example/1", title: "T1", text: "snippet 1" },
      { url: "https://t.example/2", title: "T2", text: "snippet 2" },
    ])
    expect(output).toContain("T2 (https://t.example/2)\nsnippet 2")
  })

  test("reports that nothing was found", async () => {
    expect(await webSearchTool({ search: search(0) }).run(task("tea"), call)).toEqual({
      output: 'Nothing was found on the web for "tea".',
      sources: [],
    })
  })
})

describe("the page reader", () => {
  test("reads entity_website, or an address in the query", async () => {
    const tool = pageTool(reader)
    const of = async (query: ReturnType<typeof task>) => (await tool.run(query, call)).sources[0]?.url
    expect(await of(task("prices", "https://a.example"))).toBe("https://a.example/end")
    expect(await of(task("prices", "a.example"))).toBe("https://a.example/end")
    expect(await of(task("prices", "a.example:8080/x"))).toBe("https://a.example:8080/x/end")
    expect(await of(task("see (https://b.example/x) for it"))).toBe("https://b.example/x/end")
    expect(await of(task("Read https://b.example/x."))).toBe("https://b.example/x/end")
    expect(await tool.run(task("prices"), call)).toMatchObject({ sources: [] })
  })
})

test("authors and dates are part of the sources, those of the page before those of the engine", async () => {
  const dated: WebSearch = {
    name: "dated",
    search: async () => [
      { title: "T", url: "https://t.example/a", snippet: "s", date: "2020" },
      { title: "U", url: "https://t.example/b", snippet: "s", date: "2021" },
    ],
  }
  const stating: PageReader = {
    read: async (url) => ({ url, title: "P", text: "Tea.", author: "Ada", date: "2026-03-14" }),
  }
  const { sources } = await webSearchTool({ search: dated, reader: stating, pages: 1 }).run(task("tea"), call)
  expect(sources).toMatchObject([{ author: "Ada", date: "2026-03-14" }, { date: "2021" }])
  expect((await pageTool(stating).run(task("tea", "https://t.example"), call)).sources).toMatchObject([
    { author: "Ada", date: "2026-03-14" },
  ])
  const notes: Retriever = {
    name: "notes",
    search: async () => [{ text: "Tea.", score: 1, source: "tea.md:1", author: "Grace", date: "2026" }],
  }
  const { options, asked } = scripted({ judge: [{ json: verdict(true) }] }, [
    { ...documentsTool(notes), name: "web_search" },
  ])
  const { outputs } = await iterativeResearch(options).run("What is tea?")
  expect(outputs[0]).toContain("1. tea.md:1, Grace, 2026\n")
  expect(asked("writer")[0]).toContain('author=\\"Grace\\" date=\\"2026\\"')
})

test("own documents are found with their positions", async () => {
  const documents: Retriever = {
    name: "handbook",
    search: async (query, { limit } = {}) =>
      query === "tea" ? [{ text: `tea, ${limit}`, score: 1, source: "tea.md:3", title: "Tea" }] : [],
  }
  const tool = documentsTool(documents)
  expect(await tool.run(task("tea"), call)).toEqual({
    output: "Tea (tea.md:3)\ntea, 8",
    sources: [{ url: "tea.md:3", title: "Tea", text: "tea, 8" }],
  })
  expect((await tool.run(task("rye"), call)).output).toBe('Nothing was found in handbook for "rye".')
})

test("an excerpt has the paragraphs that match the question, in order, and is never too long", () => {
  const text = `${"About rye. ".repeat(30)}\n\nTea grows in China.\n\n${"About oats. ".repeat(30)}\n\nTea is drunk hot.`
  const excerpt = excerptOf(text, "where does tea grow", 150)
  expect(excerpt).toContain("Tea grows in China.\n\n")
  expect(excerpt.endsWith("Tea is drunk hot.")).toBe(true)
  expect(excerpt.length).toBeLessThanOrEqual(150)
  expect(excerptOf("short", "x", 10)).toBe("short")
  expect(excerptOf("x".repeat(1_000), "y", 90).length).toBeLessThanOrEqual(90)
  const cups = excerptOf(`x${"🍵".repeat(1_000)}`, "y", 90)
  expect([cups.length <= 90, /\p{Surrogate}/u.test(cups)]).toEqual([true, false])
})

describe("a research over a search engine on this machine", () => {
  const research = async (engine: ResearchTool) => {
    const { options, asked } = scripted({ judge: [{ json: verdict(true) }] }, [engine])
    const { status, state, outputs } = await iterativeResearch(options).run("What is tea?")
    return { status, state, report: outputs[0], asked }
  }

  test("cites the pages that it found", async () => {
    const server = await loopbackServer(({ url }, response) => {
      const own = `http://127.0.0.1:${server.port}`
      if (!url.startsWith("/search")) {
        return response.writeHead(200, { "content-type": "text/html" }).end("<p>Tea is made of leaves.</p>")
      }
      response.setHeader("content-type", "application/json")
      return response.end(
        JSON.stringify({ results: [{ title: "Tea", url: `${own}/tea`, content: "short" }] }),
      )
    })
    const engine = webSearch("searxng", { url: `http://127.0.0.1:${server.port}` })
    const tool = webSearchTool({ search: engine, reader: pageReader({ allowPrivate: ["127.0.0.1"] }) })
    const { report, asked } = await research(tool)
    await server.close()
    expect(asked("writer")[0]).toContain("Tea is made of leaves.")
    expect(report).toContain(`1. [Tea](<http://127.0.0.1:${server.port}/tea>)`)
  })

  test("uses the engine's snippet for pages that cannot be read: a PDF, an error, a private address", async () => {
    const server = await loopbackServer(({ url }, response) => {
      if (url === "/pdf") return response.writeHead(200, { "content-type": "text/html" }).end("%PDF-1.7")
      if (url === "/gone") return response.writeHead(404).end()
      if (url === "/keys") return response.writeHead(302, { location: "http://169.254.169.254/latest" }).end()
      const results = ["pdf", "gone", "keys"].map((name) => ({
        title: name,
        url: `http://127.0.0.1:${server.port}/${name}`,
        content: `Says ${name}.`,
      }))
      return response.end(JSON.stringify({ results }))
    })
    const engine = webSearch("searxng", { url: `http://127.0.0.1:${server.port}` })
    const pages = pageReader({ allowPrivate: ["127.0.0.1"] })
    const { state, status } = await research(webSearchTool({ search: engine, reader: pages, pages: 3 }))
    await server.close()
    expect(status).toBe("completed")
    expect(state.evidence).toMatchObject([
      { title: "pdf", text: "Says pdf." },
      { title: "gone", text: "Says gone." },
      { title: "keys", text: "Says keys." },
    ])
  })

  test.each([
    ["500", 500, "oops", "SearXNG answered 500: the service failed."],
    ["429", 429, "{}", "SearXNG answered 429: too many requests."],
    ["HTML", 200, "<html>hello", "SearXNG answered with a web page instead of JSON."],
  ])("continues when that answers with %s, and reports the problem", async (_, status, body, message) => {
    const server = await loopbackServer((__, response) => response.writeHead(status).end(body))
    const result = await research(
      webSearchTool({ search: webSearch("searxng", { url: `http://127.0.0.1:${server.port}` }) }),
    )
    await server.close()
    expect(result.status).toBe("completed")
    expect(JSON.stringify(result.state.conversation)).toContain(`web_search failed: ${message}`)
    expect(result.asked("writer")[0]).toContain(message)
  })
})
