/** Tests of finding what one looks for: Home, the palette, and the search of document indexes. */
import { createClient } from "@superstep/client"
import { createKey } from "@superstep/server"
import { expect, onTestFinished, test } from "vitest"
import { open, serve } from "./harness.ts"
import { seededIndexes } from "./seed.ts"

test("Home names budgets that run out and the next schedules, the nearest first", async () => {
  const { url, store } = await serve({ keys: true })
  const admin = await createKey(store, { name: "admin", role: "admin" }, "test")
  const budget = { per: "total", tokens: 1_500 } as const
  const bot = await createKey(store, { name: "support-bot", role: "operator", budget }, "test")
  const client = createClient({ url, key: admin.secret })
  const set = (schedule: string, every: number) =>
    client.request("PUT /v1/schedules/{schedule}", {
      path: { schedule },
      body: { workflow: "indexing", every, input: "Minutes" },
    })
  await set("rarely", 86_400_000)
  await set("often", 3_600_000)
  await set("never", 1_800_000)
  await client.request("POST /v1/schedules/{schedule}/pause", { path: { schedule: "never" } })
  await client.run("indexing", "Minutes")

  const page = await open(`${url}/studio/`)
  await page.getByLabel("API key").fill(admin.secret)
  await page.getByRole("button", { name: "Sign in" }).click()
  const card = (title: string) => page.locator("section", { has: page.getByRole("heading", { name: title }) })
  const schedules = card("Next schedules").getByRole("link", { name: /indexing/ })
  await expect
    .poll(async () => (await schedules.allInnerTexts()).map((text) => text.split("\n")[0]))
    .toEqual(["often", "rarely"])
  // A budget that nobody has touched needs nobody.
  await card("Executing").waitFor()
  expect(await card("Budgets running out").count()).toBe(0)

  // One run takes 1,350 of the 1,500 tokens.
  const run = await createClient({ url, key: bot.secret }).start("support", "My lamp arrived broken.")
  const { requests } = await run.result()
  await card("Waiting for a person")
    .getByRole("link", { name: /call "refund"/ })
    .waitFor()
  await run.respond((requests as { id: string }[])[0]?.id ?? "", { approve: true })
  await run.result()
  await card("Budgets running out")
    .getByRole("link", { name: /support-bot.*90% is spent/ })
    .waitFor()
  await client.request("PATCH /v1/keys/{key}", {
    path: { key: bot.id },
    body: { budget: { per: "total", tokens: 100_000 } },
  })
  await card("Budgets running out").waitFor({ state: "detached" })

  await schedules.first().click()
  await page.getByRole("dialog", { name: "often" }).getByText("Every hour").waitFor()
})

test("the palette goes to any run, workflow and place, by keyboard alone", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  await client.run("indexing", "Needle", { runId: "needle-1" })
  // More than the palette lists before somebody searches.
  for (let i = 0; i < 14; i++) await client.run("indexing", `Minutes ${i}`)
  const page = await open(`${url}/studio/inbox`)
  await page.getByText("Nobody waits for you").waitFor()
  const { keyboard } = page
  const chosen = page.getByRole("option", { selected: true })
  const path = () => new URL(page.url()).pathname.replace("/studio", "")

  await keyboard.press("Control+k")
  await page.locator(":focus").and(page.getByRole("combobox")).waitFor()
  expect(await page.getByRole("option", { name: "needle-1" }).count()).toBe(0)
  await keyboard.type("needle")
  await chosen.and(page.getByRole("option", { name: "needle-1" })).waitFor()
  await keyboard.press("Enter")
  await expect.poll(path).toBe("/runs/needle-1")
  await page.getByRole("dialog").waitFor({ state: "detached" })

  // The second of the entries of a workflow, and back with the arrows.
  await keyboard.press("Control+k")
  await keyboard.type("article")
  await chosen.and(page.getByRole("option", { name: "Start article" })).waitFor()
  await keyboard.press("ArrowDown")
  await chosen.and(page.getByRole("option", { name: "Runs of article" })).waitFor()
  await keyboard.press("ArrowUp")
  await chosen.and(page.getByRole("option", { name: "Start article" })).waitFor()
  await keyboard.press("Enter")
  await expect.poll(path).toBe("/workflows/article")

  await keyboard.press("Control+k")
  await keyboard.type("no such thing")
  await page.getByText("Nothing matches “no such thing”.").waitFor()
  await keyboard.press("Escape")
  await page.getByRole("dialog").waitFor({ state: "detached" })
  expect(path()).toBe("/workflows/article")
  await keyboard.press("Control+k")
  await keyboard.type("know")
  await chosen.and(page.getByRole("option", { name: "Knowledge" })).waitFor()
  await keyboard.press("Enter")
  await expect.poll(path).toBe("/knowledge")
})

test("a search of an index shows chunks with the words that were found; documents are added and removed", async () => {
  const { indexes, close } = await seededIndexes()
  onTestFinished(close)
  const { url } = await serve({ indexes })
  const page = await open(`${url}/studio/knowledge`)
  await page.getByText("2 documents, 3 chunks", { exact: false }).waitFor()
  const found = page.getByRole("region", { name: "Found chunks" })
  const search = async (words: string) => {
    await page.getByLabel("Search this index").fill(words)
    await page.keyboard.press("Enter")
    await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe(words)
  }
  await page.getByText("Try a search").waitFor()
  await search("storks winter")
  await found.getByText(/^2 chunks in /).waitFor()
  const [first, second] = await found.getByRole("listitem").allInnerTexts()
  expect(first).toMatch(/Migration[\s\S]*storks\.md[\s\S]*Most storks spend the winter in Africa/)
  expect(second).toContain("White storks eat frogs")
  expect(await found.locator("mark").allInnerTexts()).toEqual(["storks", "winter", "storks"])
  // The address has the search: whoever opens it sees the same.
  await page.reload()
  await found.getByText(/^2 chunks in /).waitFor()
  await search("cranes")
  await page.getByText("Nothing was found").waitFor()

  await page.getByRole("tab", { name: /^Documents/ }).click()
  await expect.poll(() => page.getByRole("row").count()).toBe(3)
  await page.getByRole("button", { name: "Add a document" }).click()
  await page.getByRole("button", { name: "Add", exact: true }).click()
  await page.getByText("Write a source and the content.").waitFor()
  await page.getByLabel("Source", { exact: true }).fill("cranes.md")
  await page.getByLabel("Text", { exact: true }).fill("Cranes rest in Brandenburg in autumn.")
  await page.getByRole("button", { name: "Add", exact: true }).click()
  await page.getByText("Added 1 chunk.").waitFor()
  await page.getByRole("row", { name: /^cranes\.md 1 / }).waitFor()
  await page.getByRole("tab", { name: "Search" }).click()
  await found.getByText("Cranes rest in Brandenburg").waitFor()

  await page.getByRole("tab", { name: /^Documents/ }).click()
  await page.getByRole("button", { name: "Remove cranes.md" }).click()
  await page.getByRole("button", { name: "Remove", exact: true }).click()
  await page.getByRole("row", { name: /^cranes\.md/ }).waitFor({ state: "detached" })
  await page.getByRole("tab", { name: "Search" }).click()
  await page.getByText("Nothing was found").waitFor()
})
