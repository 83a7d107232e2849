/**
 * The studio in a real browser, against a real server: what people do with it first, and what it must never need. The rest of it is in
 * the long tests.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { createClient } from "@superstep/client"
import { createKey } from "@superstep/server"
import { describe, expect, test } from "vitest"
import { superstep, testIo } from "../../packages/superstep/src/command/test-io.test-support.ts"
import { folder, open, serve } from "./harness.ts"

const MAX_FIRST_ROUTE = 140_000

test("the first route takes less than 140 KB, graphs and the editor come later", () => {
  const page = readFileSync(join(folder, "index.html"), "utf8")
  const files = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, file]) => file as string)
  expect(files.length).toBeGreaterThan(1)
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0)
  expect(bytes).toBeLessThan(MAX_FIRST_ROUTE)
  const text = files
    .filter((file) => file.endsWith(".js"))
    .map((file) => readFileSync(join(folder, file), "utf8"))
  expect(text.join("")).not.toContain("Nodes of the graph")
  expect(text.join("")).not.toContain("cm-editor")
  expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/)
  expect(readdirSync(folder)).toContain("icon.svg")
})

test("starts a workflow, shows the text as it is written, takes an answer, steps back, forks and compares", async () => {
  const { url, write } = await serve({ gated: true })
  const page = await open(`${url}/`)
  await page.getByRole("link", { name: "Open workflows" }).click()
  await page.getByRole("link", { name: "article", exact: true }).click()
  await page.getByLabel("topic").fill("What do storks eat?")
  await page.getByRole("button", { name: "Start", exact: true }).click()
  // The page of the workflow has a tab with this name, too.
  await page.waitForURL(/\/runs\//)
  await page.getByRole("tab", { name: "Chat" }).click()

  write(4)
  await page.getByText("White storks eat frogs,", { exact: false }).waitFor()
  expect(await page.getByText("mice, insects", { exact: false }).count()).toBe(0)
  write(6)
  await page.getByText("White storks eat frogs, mice, insects", { exact: false }).waitFor()
  write(1_000)

  await page.getByRole("button", { name: "publish" }).click()
  await page.getByText("The article was published.").first().waitFor()
  await page.getByRole("tab", { name: "Graph" }).click()
  await page.getByRole("button", { name: "publish, node: done" }).waitFor({ state: "attached" })

  // Back in time, by keyboard: the last node was not reached then.
  const at = () => new URL(page.url()).searchParams.get("at")
  await page.getByRole("button", { name: "Superstep before (←)" }).click()
  await expect.poll(at).not.toBeNull()
  const before = Number(at())
  await page.keyboard.press("ArrowLeft")
  await expect.poll(() => Number(at())).toBeLessThan(before)
  await page.getByRole("button", { name: "publish, node: not reached" }).waitFor({ state: "attached" })
  await page.keyboard.press("End")

  await page.getByRole("button", { name: "Fork" }).click()
  await page.getByLabel("From", { exact: true }).selectOption({ label: "After superstep 1" })
  const state = page.getByLabel("State at this point")
  await expect.poll(() => state.inputValue()).toContain("planned")
  await state.fill((await state.inputValue()).replace("planned", "rewritten"))
  await page.getByText("Changes status.").waitFor()
  await page.getByRole("button", { name: "Fork here" }).click()
  await page.getByText("Fork of").waitFor()
  await page.getByRole("link", { name: "compare", exact: true }).click()
  await page.getByText("they part here").waitFor()
  await page.getByText("rewritten").first().waitFor()
})

test("an approval can be changed before it is allowed, for the whole run too, by keyboard", async () => {
  const { url } = await serve()
  const run = await createClient({ url }).start("support", "My lamp is broken.", { runId: "ticket" })
  await run.result()
  const page = await open(`${url}/studio/inbox`)
  await page.getByRole("heading", { name: /call "refund"/ }).waitFor()
  await page.keyboard.press("Enter")
  await page.locator(":focus").and(page.getByLabel("order")).waitFor()
  await page.getByLabel("amount").fill("40")
  await page.getByLabel("Always allow refund in this run").press("Space")
  await page.getByLabel("amount").press("Control+Enter")
  await page.getByText("Nobody waits for you").waitFor()
  const { outputs } = await run.result()
  expect(outputs).toEqual(["Your refund of 48.50 EUR is on its way."])
  const events = await (await fetch(`${url}/v1/runs/ticket/events?types=step.recorded`)).text()
  expect(events).toContain("Refunded 40 EUR for A-17.")
  const answered = await (await fetch(`${url}/v1/runs/ticket/events?types=request.answered`)).text()
  expect(answered).toContain('"always":true')
})

test("superstep studio starts over an empty store, with an example that one press starts", async () => {
  const io = testIo()
  const ended = superstep(["studio", "--port", "0", "--json"], io)
  await Promise.race([io.seen('"type":"listening"'), ended])
  const address = /"studio":"([^"]+)"/.exec(io.written.stdout)?.[1]
  if (address === undefined) throw new Error(io.written.stderr)
  const page = await open(address)
  await page.getByRole("button", { name: "Start the example" }).click()
  await page.getByText("Publish it?", { exact: false }).first().waitFor()
  await page.getByRole("button", { name: "discard" }).click()
  await page.getByText("completed").first().waitFor()
  await page.close()
  io.interrupt()
  expect((await ended).code).toBe(0)
})

describe("with authentication", () => {
  test("asks for a key, keeps it in the tab only, and offers what the role may do", async () => {
    const { url, store } = await serve({ keys: true })
    const admin = await createKey(store, { name: "admin", role: "operator" }, "test")
    const viewer = await createKey(store, { name: "viewer", role: "viewer" }, "test")
    const client = createClient({ url, key: admin.secret })
    await (await client.start("article", { topic: "x" }, { runId: "storks" })).result()

    const page = await open(`${url}/studio/runs/storks`)
    await page.getByLabel("API key").fill("ss_wrong")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByText("This key is not valid", { exact: false }).waitFor()
    await page.getByLabel("API key").fill(viewer.secret)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByText("Publish the article about storks?").first().waitFor()
    await page.getByText("Your role is viewer. To answer questions you need the role operator.").waitFor()
    expect(await page.getByRole("button", { name: "Fork" }).count()).toBe(0)
    expect(await page.getByRole("button", { name: "publish", exact: true }).count()).toBe(0)
    const kept = await page.evaluate("[JSON.stringify(localStorage), document.cookie]")
    expect(JSON.stringify(kept)).not.toContain("ss_")
    expect(page.url()).not.toContain("ss_")
  })
})
