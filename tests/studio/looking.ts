/** Looking at runs: long ones, lists of them, and what leaves the studio as files. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AxeBuilder } from "@axe-core/playwright"
import { createClient } from "@superstep/client"
import type { Page } from "playwright-core"
import { expect, onTestFinished, test } from "vitest"
import { browser, open, serve } from "./harness.ts"

test("a long run opens around a point: no screen reads its whole history", async () => {
  const { url } = await serve()
  const run = await createClient({ url }).start("digest", 1_500, { runId: "long" })
  await run.result()
  const page = await open(`${url}/studio/runs`)
  const asked: string[] = []
  let bytes = 0
  page.on("response", async (response) => {
    if (!response.url().includes("/v1/runs/long")) return
    asked.push(response.url())
    bytes += (await response.body().catch(() => Buffer.alloc(0))).length
  })
  await page.getByRole("link", { name: "long", exact: true }).click()
  await page.getByRole("button", { name: /^read, node: failed, 1500 times/ }).waitFor({ state: "attached" })
  await page.getByText("event 3,013 / 3,013").waitFor()

  // The middle of the run, while everything moves together.
  await page.goto(`${url}/studio/runs/long?at=1500&sel=node:read`)
  await page.getByText("event 1,500 / 3,013").waitFor()
  await page.getByRole("button", { name: "report, node: not reached" }).waitFor({ state: "attached" })
  const tasks = page.getByRole("list", { name: "Tasks of read" })
  await tasks.getByText("page 7 has no text layer", { exact: true }).waitFor()

  // A failed one, by its link; its events are read for it alone.
  await tasks
    .getByRole("button", { name: /failed/ })
    .last()
    .click()
  await expect.poll(() => new URL(page.url()).searchParams.get("sel")).toMatch(/^task:\d+$/)
  await page
    .getByRole("region", { name: "Details of the task" })
    .getByText("page 7", { exact: true })
    .waitFor()
  await page.getByRole("tab", { name: "Events" }).click()
  await page.getByRole("button", { name: /^1500 / }).waitFor()
  await page.getByLabel("Search events").fill("page 1497 has")
  await page.getByRole("button", { name: /page 1497 has no text layer/ }).waitFor()
  await page.getByRole("tab", { name: "Timeline" }).click()
  // One bar or many: tasks share a bar only where they executed close together.
  await page
    .getByRole("button", { name: /^(\d+ tasks of read|read, task )/ })
    .first()
    .waitFor()

  // Dragging over a part of it zooms in, and Escape shows all of it again.
  const timeline = page.getByRole("region", { name: "Timeline" })
  const box = (await timeline.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  const y = box.y + box.height - 10
  await page.mouse.move(box.x + 300, y)
  await page.mouse.down()
  await page.mouse.move(box.x + 360, y, { steps: 4 })
  await page.mouse.up()
  const part = page.getByRole("slider", { name: "Part of the timeline" })
  await part.waitFor()
  await timeline.press("Escape")
  await part.waitFor({ state: "detached" })
  await page.getByRole("button", { name: "First event (Home)" }).click()
  await page.getByText("event 0 / 3,013").waitFor()

  expect(asked.filter((address) => /\/events(\?|$)/.test(address))).toEqual([])
  const whole = (await (await fetch(`${url}/v1/runs/long/events`)).text()).length
  expect(bytes).toBeLessThan(whole)
})

test("the list says what runs cost and where they are, keeps its columns in the address, and does not jump", async () => {
  const { url, write } = await serve({ gated: true })
  const client = createClient({ url })
  write(1_000)
  const waiting = await client.start(
    "article",
    { topic: "storks" },
    { runId: "storks", labels: { desk: "nature" } },
  )
  await waiting.result()
  write(0)
  await client.start("article", { topic: "cranes" }, { runId: "cranes" })
  const page = await open(`${url}/studio/runs`)
  const row = page.getByRole("row", { name: /storks/ })
  await row.getByText("waits for “editor”: Publish the article about storks?").waitFor()
  await row.getByText(/^\$0\.00\d+$/).waitFor()
  await row.getByText("496", { exact: true }).waitFor()
  await page
    .getByRole("row", { name: /cranes/ })
    .getByText("executes draft")
    .waitFor()

  await page.getByText("Columns", { exact: true }).click()
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])
  await page.getByRole("checkbox", { name: "Tokens" }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get("cols")).toBe("-tokens")
  await page.getByRole("columnheader", { name: "Tokens" }).waitFor({ state: "detached" })

  await client.start("article", { topic: "herons" }, { runId: "herons" })
  await page.getByRole("button", { name: "1 new run. Show" }).waitFor()
  expect(await page.getByRole("row", { name: /herons/ }).count()).toBe(0)
  await page.getByRole("button", { name: "1 new run. Show" }).click()
  await page.getByRole("row", { name: /herons/ }).waitFor()
  await page.getByLabel(/Search runs/).fill("desk=nature")
  await page.keyboard.press("Enter")
  await expect.poll(() => page.getByRole("row").count()).toBe(2)

  // All were created within the hour; none was before 2020. A view keeps the time.
  await page.getByLabel("Created", { exact: true }).selectOption("Last hour")
  await expect.poll(() => new URL(page.url()).searchParams.get("since")).toBe("1h")
  await page.getByRole("button", { name: "Save view" }).click()
  await page.getByRole("link", { name: "desk=nature, last 1h" }).waitFor()
  await page.getByRole("row", { name: /storks/ }).waitFor()
  await page.getByLabel("Created", { exact: true }).selectOption("Between…")
  await page.getByLabel("Created from").fill("2019-01-01T00:00")
  await page.getByLabel("Created before").fill("2020-01-01T00:00")
  await page.getByText("No run matches these filters").waitFor()
})

test("a fork answers a question another way, and the timeline shows its supersteps", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  const run = await client.start("article", { topic: "storks" }, { runId: "storks" })
  const { requests } = await run.result()
  await run.respond((requests as { id: string }[])[0]?.id ?? "", "publish", { by: "ada" })
  await run.result()
  const page = await open(`${url}/studio/runs/storks?v=timeline&fork=1`)
  await page.getByTitle("Superstep 1 is committed").waitFor()
  const from = page.getByLabel("From", { exact: true })
  await from.selectOption({ label: "Another answer to “Publish the article about storks?”" })
  await page.getByLabel("Answer", { exact: true }).fill('"discard"')
  await page.getByLabel("Change an agent").selectOption("draft")
  await page.getByLabel("Instructions", { exact: true }).fill("Write a poem.")
  await page.getByLabel("Model settings").fill("0.5")
  await page.getByText("The settings are a JSON object", { exact: false }).waitFor()
  expect(await page.getByRole("button", { name: "Fork here" }).isDisabled()).toBe(true)
  await page.getByLabel("Model settings").fill('{ "temperature": 0.5 }')
  await page.getByRole("button", { name: "Fork here" }).click()
  await page.getByText("Fork of").waitFor()
  await page.getByText("The article was discarded.").first().waitFor()
  const forked = await fetch(
    `${url}/v1/runs/${new URL(page.url()).pathname.split("/").at(-1)}/events?types=run.forked`,
  )
  expect(await forked.text()).toContain(
    '"agents":{"draft":{"instructions":"Write a poem.","settings":{"temperature":0.5}}}',
  )
  await page.getByRole("button", { name: "who wrote the output?" }).click()
  await page.getByRole("button", { name: /^publish, task \d+$/ }).waitFor()
  await page.getByRole("tab", { name: "Timeline" }).click()
  await page.getByRole("button", { name: "Zoom in", exact: true }).click()
  await page.getByRole("slider", { name: "Part of the timeline" }).waitFor()
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])

  await page.getByRole("link", { name: "Home", exact: true }).click()
  await page.getByText(/^\$0\.00\d+$/).waitFor()
})

test("a workflow unfolds where it is; what the keyboard reaches comes into view, a drag moves the graph and selects nothing", async () => {
  const { url } = await serve()
  const run = await createClient({ url }).start("indexing", "Storks", { runId: "nested" })
  await run.result()
  const page = await open(`${url}/studio/runs/nested`)
  const corner = async (name: string | RegExp) => {
    const box = await page.getByRole("button", { name }).boundingBox()
    if (box === null) throw new Error(`${name} is not on the screen`)
    return box
  }
  const before = await corner("shortening, workflow: done")
  await page.getByRole("button", { name: "Unfold shortening" }).focus()
  await page.keyboard.press("Enter")
  await page.getByRole("button", { name: /^judge, node: done, \d times$/ }).waitFor()
  // The name of the frame is at the corner where the node was, a few pixels inside.
  const after = await corner("shortening, workflow: done")
  expect(Math.abs(after.x - before.x)).toBeLessThan(24)
  expect(Math.abs(after.y - before.y)).toBeLessThan(24)
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])

  await page.getByRole("button", { name: /^Why judge → keep/ }).focus()
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "judge → keep" }).waitFor()
  await page.getByRole("button", { name: "Fold shortening" }).focus()
  await page.keyboard.press("Enter")
  await page.getByRole("button", { name: "Unfold shortening" }).waitFor()

  const { x, y } = await corner("index, node: done")
  await page.mouse.move(x + 20, y + 20)
  await page.mouse.down()
  await page.mouse.move(x + 20, y)
  await page.mouse.move(x + 20, 60)
  await page.mouse.up()
  await expect.poll(async () => (await corner("load, node: done")).y).toBeLessThan(60)
  expect(new URL(page.url()).searchParams.get("sel")).toBe("edge:shortening|judge|keep")
  // From the node under the mouse back to the first one.
  for (let i = 0; i < 3; i++) await page.keyboard.press("Shift+Tab")
  await expect.poll(async () => (await corner("load, node: done")).y).toBeGreaterThan(60)
  await page.keyboard.press("Enter")
  await expect.poll(() => new URL(page.url()).searchParams.get("sel")).toBe("node:load")
})

async function exported(page: Page, what: string): Promise<string> {
  await page.getByRole("button", { name: "More actions" }).click()
  const saved = page.waitForEvent("download")
  await page.getByRole("menuitem", { name: what }).click()
  return readFileSync(await (await saved).path(), "utf8")
}

test("a run is exported as a page that makes no request, runs no script and has no secrets, and as a test", async () => {
  const { url } = await serve()
  const hostile = `</pre><script>document.title = "owned"</script><img src="https://example.com/x" onerror="document.title='owned'">`
  const input = { topic: hostile, apiKey: "sk-live-0123456789abcdef0123" }
  const run = await createClient({ url }).start("article", input, { runId: "hostile" })
  await run.result()
  const page = await open(`${url}/studio/runs/hostile`)
  await page.getByRole("button", { name: /^publish, node: waiting/ }).waitFor({ state: "attached" })
  const text = await exported(page, "Export as one HTML file")
  expect(text).not.toContain("0123456789abcdef")
  expect(text).toContain("[secret]")
  const source = await exported(page, "Export as a test")
  expect(source).toContain('import { article } from "./article.ts"')
  expect(source).toContain("await expectReplay(article, fixture)")

  const folder = mkdtempSync(join(tmpdir(), "studio-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "run.html")
  writeFileSync(file, text)
  const context = await browser.newContext({ locale: "en-US", colorScheme: "dark" })
  onTestFinished(() => context.close())
  const offline = await context.newPage()
  const asked: string[] = []
  offline.on("request", (request) => asked.push(request.url()))
  await offline.goto(`file://${file}`)
  await offline.getByRole("heading", { name: "Graph" }).waitFor()
  await offline.getByText("document.title", { exact: false }).first().waitFor()
  expect(await offline.title()).toBe("article hostile")
  expect(await offline.locator("script, img, iframe, link").count()).toBe(0)
  expect(asked).toEqual([`file://${file}`])
})
