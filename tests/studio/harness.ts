/** One browser and one build of the studio for all its tests, and servers for them. */
import { apiKeys, createServer, type Listening, listen, type ServedIndexes } from "@superstep/server"
import { loadStudio, type Studio } from "@superstep/studio"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { memoryStore, Runtime } from "superstep"
import { afterAll, beforeAll, expect, onTestFinished, vi } from "vitest"
import { builtStudio, openBrowser } from "./browser.ts"
import { workflowsOf } from "./world.ts"

// For a test that hangs, not for one that is slow.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** What is shown before data has arrived. */
export const LOADING = "[role=status][aria-label^=Loading]"

export let browser: Browser
export let folder: string
let studio: Studio
beforeAll(async () => {
  folder = await builtStudio()
  studio = loadStudio(folder)
  browser = await openBrowser()
})
afterAll(() => browser?.close())

interface World {
  readonly url: string
  readonly runtime: Runtime
  /** Lets the model write: a number of words, or all. */
  readonly write: (words: number) => void
}

/** A server with the workflows of the world, whose model stops after each word that it may not write yet. */
export async function serve(
  options: { readonly keys?: boolean; readonly gated?: boolean; readonly indexes?: ServedIndexes } = {},
): Promise<World & { store: ReturnType<typeof memoryStore> }> {
  let allowed = options.gated === true ? 0 : Number.POSITIVE_INFINITY
  const paused = new Set<() => void>()
  const wake = () => {
    for (const resume of paused) resume()
    paused.clear()
  }
  const pause = async (word: number) => {
    while (word >= allowed) await new Promise<void>((done) => paused.add(done))
  }
  const workflows = workflowsOf(options.gated === true ? pause : undefined)
  const store = memoryStore()
  const runtime = new Runtime({ store, workflows })
  const auth = options.keys === true ? apiKeys(store) : undefined
  const server: Listening = await listen(
    createServer({
      runtime,
      workflows: workflows as never,
      studio,
      auth,
      ...(options.indexes !== undefined && { indexes: options.indexes }),
      webhooks: { allow: ["127.0.0.1"] },
    }),
    { port: 0 },
  )
  onTestFinished(async () => {
    allowed = Number.POSITIVE_INFINITY
    wake()
    await server.close({ grace: 100 })
    await runtime.close()
  })
  return {
    url: server.url,
    runtime,
    store,
    write: (words) => {
      allowed = words
      wake()
    },
  }
}

/** A page that fails the test for every error that it reports. */
export async function open(url: string, more: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: "en-US",
    reducedMotion: "reduce",
    ...more,
  })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(90_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on("pageerror", (error) => problems.push(String(error)))
  page.on("console", (message) => {
    // What the browser says about the policy is a violation of it; what it says about a failed request is not.
    if (message.type() === "error" && /policy|Uncaught/i.test(message.text())) problems.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith("blob:"))
      problems.push(`asks ${request.url()}`)
  })
  onTestFinished(() => expect(problems).toEqual([]))
  await page.goto(url)
  return page
}
