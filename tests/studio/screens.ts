/**
 * Writes a screenshot of every screen to a folder, in both themes and three widths: with runs, dialogs and menus, and without data,
 * while it loads, when it cannot be had, and when there is very much of it.
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
import { seed, seededIndexes, seedSettings } from "./seed.ts"
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
const { indexes, close } = await seededIndexes()
const options = { runtime, workflows: workflows as never, studio, auth: apiKeys(store), indexes }
const { secret } = await createKey(store, { name: "ada", role: "admin" }, "screens")
const { secret: viewer } = await createKey(store, { name: "eve", role: "viewer" }, "screens")
const server = await listen(createServer(options), { port: 0 })
const runs = await seed(server.url, secret)
await seedSettings(server.url, secret)
/** A server for states without data: nothing in the store, and nobody asks for a key. */
const none = new Runtime({ store: memoryStore(), workflows })
const empty = await listen(createServer({ runtime: none, workflows: workflows as never, studio }), {
  port: 0,
})

/** A server whose model stops in the middle of a sentence: a run that executes. */
const writing = workflowsOf((word) => (word < 14 ? undefined : new Promise(() => undefined)))
const live = new Runtime({ store: memoryStore(), workflows: writing })
const executing = await listen(createServer({ runtime: live, workflows: writing as never, studio }), {
  port: 0,
})
const topic = { topic: "What do storks eat?" }
await createClient({ url: executing.url }).start("article", topic, { runId: "storks-live" })

const run = (id: string, query = "") => `/runs/${id}${query}`
const SCREENS: Readonly<Record<string, string>> = {
  home: "/",
  runs: "/runs",
  "runs-failed": "/runs?status=failed,limit",
  "runs-none": "/runs?text=nothing-like-this",
  "runs-columns": "/runs",
  "runs-selected": "/runs",
  "runs-bulk": "/runs?status=failed",
  "run-graph": run(runs.article),
  "run-task": run(runs.article, "?sel=node:draft"),
  "run-past": run(runs.article, "?at=14&sel=node:draft"),
  "run-timeline": run(runs.payment, "?v=timeline"),
  "run-map": run(runs.digest, "?sel=node:read"),
  "run-map-timeline": run(runs.digest, "?v=timeline"),
  "run-nested": run(runs.indexing),
  "run-why": run(runs.indexing, "?sel=edge:shortening|judge|keep"),
  "run-provenance": run(runs.done),
  "run-menu": run(runs.article),
  "run-events": run(runs.article, "?v=events"),
  "run-event": run(runs.article, "?v=events"),
  "run-chat": run(runs.support, "?v=chat"),
  "run-failed": run(runs.payment, "?sel=node:charge"),
  fork: run(runs.article, "?fork=1"),
  "fork-agent": run(runs.article, "?fork=1"),
  "run-raw": run(runs.support, "?sel=node:helper"),
  compare: `/compare?a=${runs.article}&b=${runs.fork}`,
  inbox: "/inbox",
  "inbox-approval": `/inbox?q=${encodeURIComponent(`${runs.support}/r1`)}`,
  "inbox-pass-on": "/inbox",
  answered: "/inbox?show=answered",
  workflows: "/workflows",
  "workflow-new": "/workflows",
  workflow: "/workflows/article",
  "workflow-code": "/workflows/article?v=definition",
  "definition-overview": "/workflows/order",
  definition: "/workflows/order?v=definition",
  "definition-edited": "/workflows/order?v=definition",
  "definition-problem": "/workflows/order?v=definition",
  "definition-publish": "/workflows/order?v=definition",
  "workflow-chat": "/workflows/support?v=chat",
  "definition-new": "/workflows/hello?v=definition&new=graph",
  "definition-versions": "/workflows/order?v=versions",
  schedules: "/schedules",
  calendar: "/schedules?v=calendar",
  schedule: "/schedules?s=pages",
  "schedule-new": "/schedules",
  "schedule-edit": "/schedules?edit=minutes",
  backfill: "/schedules?backfill=pages",
  costs: "/costs",
  "costs-workflow": "/costs?workflow=article",
  "costs-nodes": "/costs?by=node",
  "costs-raise": "/costs",
  knowledge: "/knowledge",
  "knowledge-search": "/knowledge?q=where+do+storks+spend+the+winter",
  "knowledge-none": "/knowledge?q=submarine",
  "knowledge-documents": "/knowledge?v=documents",
  "knowledge-add": "/knowledge?v=documents",
  settings: "/settings",
  "settings-key": "/settings",
  "settings-rotate": "/settings",
  "settings-webhooks": "/settings?tab=webhooks",
  "settings-webhook": "/settings?tab=webhooks",
  "settings-webhook-new": "/settings?tab=webhooks",
  "settings-hooks": "/settings?tab=hooks",
  "settings-hook-new": "/settings?tab=hooks",
  "settings-storage": "/settings?tab=storage",
  "settings-audit": "/settings?tab=audit",
  "settings-studio": "/settings?tab=studio",
  missing: "/runs/no-such-run",
  "missing-page": "/nowhere",
}
/** Screens that differ for somebody who may only look. */
const VIEWER: readonly string[] = [
  "run-graph",
  "inbox",
  "workflow",
  "schedules",
  "knowledge-documents",
  "settings",
]

const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click()
/** What somebody does on a screen before its screenshot is taken. */
const STEPS: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  "fork-agent": async (page) => {
    await page.getByLabel("Change an agent").selectOption("draft")
    await page.getByLabel("Model settings").scrollIntoViewIfNeeded()
  },
  "run-raw": press("Raw"),
  "run-provenance": press("who wrote the output?"),
  "run-menu": press("More actions"),
  "run-event": press(/^5 /),
  "runs-columns": (page) => page.getByText("Columns", { exact: true }).click(),
  "runs-selected": async (page) => {
    // A narrow list has no room for boxes: there, actions are for all that match.
    if ((page.viewportSize()?.width ?? 0) < 900) return
    for (const nth of [1, 2, 3]) await page.getByRole("checkbox").nth(nth).check()
  },
  "runs-bulk": press("Act on all that match"),
  "inbox-pass-on": press(/^Pass on/),
  "workflow-new": press("New workflow"),
  "definition-edited": async (page) => {
    await page.getByText("No problems").waitFor()
    await page.locator("[data-node=confirm]").click()
  },
  "definition-problem": async (page) => {
    await page.getByText("No problems").waitFor()
    await page.getByRole("textbox", { name: "Definition of order" }).focus()
    await page.keyboard.press("Control+a")
    await page.keyboard.insertText("name: order\nworkflow:\n  - id: confirm\n    type: humann\n")
    await page.getByRole("button", { name: /^Line 4/ }).waitFor()
  },
  "definition-publish": async (page) => {
    await press("Publish…")(page)
    await page.getByText("would behave differently", { exact: false }).waitFor()
  },
  "schedule-new": press("New schedule"),
  "costs-raise": press(/^Raise the budget of/),
  "knowledge-add": press("Add a document"),
  "settings-key": press("New key"),
  "settings-rotate": press(/^Rotate/),
  "settings-webhook": press("https://example.com/superstep"),
  "settings-webhook-new": press("New webhook"),
  "settings-hook-new": press("New hook"),
}

/** Screens with data of which there may be none, very much, or none to be had. */
const STATES: Readonly<Record<string, string>> = {
  home: "/",
  runs: "/runs",
  run: "/runs/storks-1",
  compare: "/compare?a=storks-1&b=storks-2",
  inbox: "/inbox",
  answered: "/inbox?show=answered",
  workflows: "/workflows",
  workflow: "/workflows/article",
  definition: "/workflows/order?v=definition",
  versions: "/workflows/order?v=versions",
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

/** Those of which there may be very much. */
const MANY = ["home", "runs", "inbox", "answered", "schedules", "calendar", "costs", "storage"] as const

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
      if ((onlySize ?? size) === size && (onlyTheme ?? theme) === theme) await takeAll(theme, size, viewport)
    }
  }
await browser.close()
await close()
// Runs that wait keep a process alive.
process.exit()

async function takeAll(
  theme: "light" | "dark",
  size: string,
  viewport: { readonly width: number; readonly height: number },
): Promise<void> {
  const context = await browser.newContext({
    viewport,
    colorScheme: theme,
    locale: "en-US",
    reducedMotion: "reduce",
  })
  context.setDefaultTimeout(30_000)
  /** A page of somebody with this key. */
  const pageOf = async (key = "") => {
    const page = await context.newPage()
    await page.addInitScript(`sessionStorage.setItem("superstep.key", ${JSON.stringify(key)})`)
    page.on("console", (message) => message.type() === "error" && console.log(message.text()))
    page.on("pageerror", (error) => console.log(`page: ${error.stack}`))
    return page
  }
  const page = await pageOf(secret)
  const isWanted = (name: string) => only?.split(",").some((one) => name.startsWith(one)) ?? true
  const shoot = async (name: string, at = page) => {
    await at.screenshot({ path: join(folder, `${name}-${theme}-${size}.png`) })
  }
  const take = async (name: string, url: string, wait = settled, at = page) => {
    if (!isWanted(name)) return
    try {
      await at.goto(url)
      await wait(at)
    } catch (error) {
      console.log(`${name}, ${theme}, ${size}: ${error}`)
      process.exitCode = 1
    }
    await shoot(name, at)
  }
  const takeStates = async (state: string, wait = settled) => {
    for (const [name, path] of Object.entries(STATES))
      await take(`${state}-${name}`, `${empty.url}/studio${path}`, wait)
  }
  for (const [name, path] of Object.entries(SCREENS)) {
    await take(name, `${server.url}/studio${path}`, async (at) => {
      await settled(at)
      await STEPS[name]?.(at)
      if (name in STEPS) await settled(at)
    })
  }
  const visitor = await pageOf(viewer)
  for (const name of VIEWER)
    await take(`viewer-${name}`, `${server.url}/studio${SCREENS[name]}`, settled, visitor)
  await take(
    "sign-in",
    `${server.url}/studio/runs`,
    (at) => at.getByLabel("API key").waitFor(),
    await pageOf(),
  )
  for (const view of ["graph", "timeline", "events", "chat"])
    await take(`live-${view}`, `${executing.url}/studio/runs/storks-live?v=${view}`)

  await takeStates("empty")
  for (const name of MANY) {
    if (isWanted(`many-${name}`)) await take(`many-${name}`, `${(await many()).url}/studio${STATES[name]}`)
  }
  const api = (url: URL) => url.pathname.startsWith("/v1/")
  await page.route(api, (route) => route.abort())
  await takeStates("gone")
  await page.unroute(api)
  await page.route(api, () => undefined)
  await takeStates("loading", (at) => at.locator("h1").first().waitFor())
  await page.unroute(api)
  const detail = "Your key is for a part of the store."
  const refused = { status: 403, json: { status: 403, code: "NOT_ALLOWED", title: "Not allowed", detail } }
  await page.route(api, (route) =>
    new URL(route.request().url()).pathname === "/v1/me" ? route.continue() : route.fulfill(refused),
  )
  await takeStates("refused")
  await page.unroute(api)

  if (isWanted("palette")) {
    await page.goto(`${server.url}/studio/runs`)
    await settled(page)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("art")
    await settled(page)
    await shoot("palette")
  }
  if (isWanted("outage")) {
    await page.goto(`${server.url}/studio/runs`)
    await settled(page)
    await context.route(api, (route) => route.abort())
    await page.getByText("The server does not answer.", { exact: false }).waitFor()
    await shoot("outage")
    await context.route(/\/assets\//, (route) => route.abort())
    await page.getByRole("link", { name: "Schedules", exact: true }).click()
    await page.getByText("This screen could not be shown").waitFor()
    await shoot("outage-screen")
  }
  await context.close()
}

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
    await STEPS[screen]?.(page)
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
