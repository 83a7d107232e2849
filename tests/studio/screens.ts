/**
 * Writes a screenshot of every screen to a folder: both themes, wide and narrow, with runs and empty.
 * `npm run studio:screens -- FOLDER [SCREENS] [SIZE] [THEME]`, where SCREENS begin names, with commas between them, or `-- --docs` for those of the documentation.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { createClient } from "@superstep/client"
import { apiKeys, createKey, createServer, listen } from "@superstep/server"
import { loadStudio } from "@superstep/studio"
import type { Page } from "playwright-core"
import { memoryStore, Runtime } from "superstep"
import { builtStudio, openBrowser } from "./browser.ts"
import { seed, seedSettings } from "./seed.ts"
import { workflowsOf } from "./world.ts"

const SIZES = {
  wide: { width: 1280, height: 800 },
  huge: { width: 2560, height: 1300 },
  narrow: { width: 390, height: 844 },
}
/** The images of README.md and docs/studio.md. */
const DOCS = {
  "studio-run": ["run-graph", "light"],
  "studio-runs": ["runs", "dark"],
  "studio-definition": ["definition-edited", "light"],
  "studio-costs": ["costs-workflow", "light"],
} as const
const isDocs = process.argv[2] === "--docs"
const folder = isDocs ? "docs/images" : (process.argv[2] ?? "studio-screens")
const only = isDocs ? undefined : process.argv[3]
/** One of the sizes and themes, to look at a change. */
const [onlySize, onlyTheme] = [process.argv[4], process.argv[5]]
mkdirSync(folder, { recursive: true })

const studio = loadStudio(await builtStudio())
const workflows = workflowsOf()
const store = memoryStore()
const runtime = new Runtime({ store, workflows })
const options = { runtime, workflows: workflows as never, studio, auth: apiKeys(store) }
const { secret } = await createKey(store, { name: "ada", role: "admin" }, "screens")
const server = await listen(createServer(options), { port: 0 })
const runs = await seed(server.url, secret)
await seedSettings(server.url, secret)
/** A server for states without data: nothing in the store, and nobody asks for a key. */
const none = new Runtime({ store: memoryStore(), workflows })
const empty = await listen(createServer({ runtime: none, workflows: workflows as never, studio }), {
  port: 0,
})

const run = (id: string, query = "") => `/runs/${id}${query}`
const SCREENS: Readonly<Record<string, string>> = {
  home: "/",
  runs: "/runs",
  "runs-failed": "/runs?status=failed,limit",
  "runs-none": "/runs?text=nothing-like-this",
  "run-graph": run(runs.article),
  "run-task": run(runs.article, "?sel=node:draft"),
  "run-past": run(runs.article, "?at=14&sel=node:draft"),
  "run-timeline": run(runs.payment, "?v=timeline"),
  "run-map": run(runs.digest, "?sel=node:read"),
  "run-map-timeline": run(runs.digest, "?v=timeline"),
  "run-nested": run(runs.indexing),
  "run-events": run(runs.article, "?v=events"),
  "run-chat": run(runs.support, "?v=chat"),
  "run-failed": run(runs.payment, "?sel=node:charge"),
  fork: run(runs.article, "?fork=1"),
  "fork-agent": run(runs.article, "?fork=1"),
  "run-raw": run(runs.support, "?sel=node:helper"),
  compare: `/compare?a=${runs.article}&b=${runs.fork}`,
  inbox: "/inbox",
  "inbox-approval": `/inbox?q=${encodeURIComponent(`${runs.support}/r1`)}`,
  answered: "/inbox?show=answered",
  workflows: "/workflows",
  workflow: "/workflows/article",
  "workflow-code": "/workflows/article?v=definition",
  "definition-overview": "/workflows/order",
  definition: "/workflows/order?v=definition",
  "definition-edited": "/workflows/order?v=definition",
  "workflow-chat": "/workflows/support?v=chat",
  "definition-new": "/workflows/hello?v=definition&new=graph",
  "definition-versions": "/workflows/order?v=versions",
  schedules: "/schedules",
  calendar: "/schedules?v=calendar",
  schedule: "/schedules?s=pages",
  "schedule-edit": "/schedules?edit=minutes",
  backfill: "/schedules?backfill=pages",
  costs: "/costs",
  "costs-workflow": "/costs?workflow=article",
  knowledge: "/knowledge",
  settings: "/settings",
  "settings-webhooks": "/settings?tab=webhooks",
  "settings-hooks": "/settings?tab=hooks",
  "settings-storage": "/settings?tab=storage",
  "settings-audit": "/settings?tab=audit",
  "settings-studio": "/settings?tab=studio",
  missing: "/runs/no-such-run",
}

/** What somebody does on a screen before its screenshot is taken. */
const STEPS: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  "fork-agent": async (page) => {
    await page.getByLabel("Change an agent").selectOption("draft")
    await page.getByLabel("Model settings").scrollIntoViewIfNeeded()
  },
  "run-raw": (page) => page.getByRole("button", { name: "Raw" }).first().click(),
}

/** Screens with data of which there may be none, very much, or none to be had. */
const STATES: Readonly<Record<string, string>> = {
  home: "/",
  runs: "/runs",
  inbox: "/inbox",
  answered: "/inbox?show=answered",
  workflows: "/workflows",
  workflow: "/workflows/article",
  schedules: "/schedules",
  calendar: "/schedules?v=calendar",
  costs: "/costs",
  knowledge: "/knowledge",
  keys: "/settings",
  webhooks: "/settings?tab=webhooks",
  hooks: "/settings?tab=hooks",
  storage: "/settings?tab=storage",
  audit: "/settings?tab=audit",
}

let crowd: Promise<{ readonly url: string }> | undefined
/** A server with 10,000 runs, 1,000 questions and 300 schedules. */
function many(): Promise<{ readonly url: string }> {
  crowd ??= (async () => {
    const crowded = new Runtime({ store: memoryStore(), workflows })
    const [article, , , , indexing] = workflows
    for (let i = 0; i < 10_000; i += 100) {
      const started = Array.from({ length: 100 }, (_, k) => {
        const isQuestion = k % 10 === 0
        const name = `${isQuestion ? "question" : "minutes"}-${i + k}`
        return isQuestion
          ? crowded.start(article as never, { topic: name } as never, { runId: name })
          : crowded.start(indexing as never, name as never, { runId: name })
      })
      await Promise.all(started.map((one) => one.result))
    }
    const options = { runtime: crowded, workflows: workflows as never, studio }
    const listening = await listen(createServer(options), { port: 0 })
    const client = createClient({ url: listening.url })
    for (let i = 0; i < 300; i++) {
      await client.request("PUT /v1/schedules/{schedule}", {
        path: { schedule: `report-${i}` },
        body: { workflow: "indexing", every: 3_600_000, input: "x" },
      })
    }
    return listening
  })()
  return crowd
}

const browser = await openBrowser()
if (isDocs) await takeDocs()
else
  for (const theme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      if ((onlySize ?? size) !== size || (onlyTheme ?? theme) !== theme) continue
      const context = await browser.newContext({
        viewport,
        colorScheme: theme,
        locale: "en-US",
        reducedMotion: "reduce",
      })
      await context.addInitScript(`sessionStorage.setItem("superstep.key", ${JSON.stringify(secret)})`)
      context.setDefaultTimeout(120_000)
      const page = await context.newPage()
      page.on("console", (message) => message.type() === "error" && console.log(`${message.text()}`))
      page.on("pageerror", (error) => console.log(`page: ${error.stack}`))
      const take = async (name: string, url: string, isLoading = false) => {
        if (only !== undefined && !only.split(",").some((one) => name.startsWith(one))) return
        await page.goto(url)
        await (isLoading ? page.locator("h1").first().waitFor() : settled(page))
        await STEPS[name]?.(page)
        await page.screenshot({ path: join(folder, `${name}-${theme}-${size}.png`) })
      }
      for (const [name, path] of Object.entries(SCREENS)) await take(name, `${server.url}/studio${path}`)
      for (const [name, path] of Object.entries(STATES)) {
        await take(`empty-${name}`, `${empty.url}/studio${path}`)
        await take(`many-${name}`, `${(await many()).url}/studio${path}`)
      }
      const api = (url: URL) => url.pathname.startsWith("/v1/")
      await page.route(api, (route) => route.abort())
      for (const [name, path] of Object.entries(STATES))
        await take(`gone-${name}`, `${empty.url}/studio${path}`)
      await page.unroute(api)
      await page.route(api, () => undefined)
      for (const [name, path] of Object.entries(STATES)) {
        await take(`loading-${name}`, `${empty.url}/studio${path}`, true)
      }
      await page.unroute(api)
      const refused = {
        status: 403,
        json: {
          status: 403,
          code: "NOT_ALLOWED",
          title: "Not allowed",
          detail: "Your key is for a part of the store.",
        },
      }
      await page.route(api, (route) =>
        new URL(route.request().url()).pathname === "/v1/me" ? route.continue() : route.fulfill(refused),
      )
      for (const [name, path] of Object.entries(STATES)) {
        await take(`refused-${name}`, `${empty.url}/studio${path}`)
      }
      await page.unroute(api)
      if (only === undefined || "palette".startsWith(only)) {
        await page.goto(`${server.url}/studio/runs`)
        await settled(page)
        await page.keyboard.press("Control+k")
        await page.keyboard.type("art")
        await settled(page)
        await page.screenshot({ path: join(folder, `palette-${theme}-${size}.png`) })
      }
      await context.close()
    }
  }
await browser.close()
// Runs that wait keep a process alive.
process.exit(0)

/** The page has what it asked for, and has drawn it. */
async function settled(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor()
  await page.locator("[role=status][aria-label^=Loading]").first().waitFor({ state: "detached" })
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 350)))
}

async function takeDocs(): Promise<void> {
  for (const [file, [screen, colorScheme]] of Object.entries(DOCS)) {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme,
      locale: "en-US",
      reducedMotion: "reduce",
    })
    await context.addInitScript(`sessionStorage.setItem("superstep.key", ${JSON.stringify(secret)})`)
    const page = await context.newPage()
    await page.goto(`${server.url}/studio${SCREENS[screen]}`)
    await settled(page)
    if (screen === "definition-edited") {
      await page.getByText("No problems").waitFor()
      await page.locator("[data-node=confirm]").click()
    }
    if (screen === "costs-workflow") {
      await page.getByRole("button", { name: "Time", exact: true }).click()
      await page
        .getByText("Nodes of article")
        .evaluate((title) => (title as unknown as { scrollIntoView(): void }).scrollIntoView())
    }
    await settled(page)
    await page.screenshot({ path: join(folder, `${file}.png`) })
    await context.close()
  }
}
