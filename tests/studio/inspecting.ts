/** Tests of understanding a run: why an edge was taken, what a fork does again, playing it, large values, and calm screens. */
import { readFileSync } from "node:fs"
import { createClient } from "@superstep/client"
import { expect, test } from "vitest"
import { LOADING, open, serve } from "./harness.ts"

const PARCEL = `name: parcel
workflow:
  - id: weigh
    type: condition
    condition: $input.weight > 20 && $input.country == "DE"
    true: [{ id: truck, type: human, prompt: "By truck?" }]
    false: [{ id: bike, type: human, prompt: "By bike?" }]
`

test("Why shows the condition with the values of its operands, and why the other edge was not taken", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  const path = { definition: "parcel" }
  await client.request("POST /v1/definitions/{definition}/versions", { path, body: { text: PARCEL } })
  await client.request("POST /v1/definitions/{definition}/publish", { path, body: {} })
  const run = await client.start("parcel", { weight: 31, country: "FR" }, { runId: "parcel-1" })
  await run.result()
  const page = await open(`${url}/studio/runs/parcel-1`)
  await page.getByRole("button", { name: /^Why weigh → bike/ }).press("Enter")
  const why = page.getByRole("region", { name: "Why" })
  await why.getByText('$input.weight > 20 && $input.country == "DE"').first().waitFor()
  await why.getByText("does not hold").first().waitFor()
  const operands = await why.locator("dl > div").allInnerTexts()
  expect(operands.map((text) => text.replace(/\s+/g, " "))).toEqual(
    expect.arrayContaining(["$input.weight 31", "$input.country FR", '$input.country == "DE" false']),
  )
  const verdicts = await why.getByRole("listitem").allInnerTexts()
  expect(verdicts.find((text) => text.startsWith("truck"))).toContain("did not hold")
})

test("a fork names the effects that happen again, and gives an agent another model", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  const run = await client.start("article", { topic: "storks" }, { runId: "storks" })
  const { requests } = await run.result()
  await run.respond((requests as { id: string }[])[0]?.id ?? "", "publish")
  await run.result()
  const page = await open(`${url}/studio/runs/storks?fork=1`)
  const from = page.getByLabel("From", { exact: true })
  const drawer = page.getByRole("dialog", { name: "Fork storks" })
  const again = async () =>
    (await drawer.locator("section", { hasText: "Happens again" }).getByRole("listitem").allInnerTexts()).map(
      (text) => text.replace(/\s+/g, " "),
    )
  await from.selectOption({ label: "After superstep 3" })
  await expect.poll(again).toEqual(["publish question Publish the article about storks?"])
  await from.selectOption({ label: "The start, with another input" })
  await expect
    .poll(again)
    .toEqual([expect.stringMatching(/^draft model /), "publish question Publish the article about storks?"])
  await page.getByLabel("Input", { exact: true }).fill('{ "topic": "herons" }')
  await page.getByLabel("Change an agent").selectOption("draft")
  await page.getByLabel("Model", { exact: true }).fill("offline")
  await page.getByRole("button", { name: "Fork here" }).click()
  await page.getByText("Fork of").waitFor()
  const id = new URL(page.url()).pathname.split("/").at(-1)
  await page.getByRole("button", { name: "publish", exact: true }).click()
  await page.getByText("The article was published.").first().waitFor()
  const models = async (of: string | undefined) => {
    const events = await (await fetch(`${url}/v1/runs/${of}/events?types=usage.recorded`)).text()
    return [...events.matchAll(/"model":"([^"]+)"/g)].map(([, model]) => model)
  }
  expect(await models(id)).toEqual(["offline/offline"])
  expect(await models("storks")).toEqual(["demo/writer"])
  await page.getByText("herons").first().waitFor()
})

test("playing goes through the supersteps from the beginning, pauses, and stops at the end", async () => {
  const { url } = await serve()
  const run = await createClient({ url }).start("indexing", "Storks", { runId: "played" })
  await run.result()
  const page = await open(`${url}/studio/`)
  // The test moves the time of the page: what plays stands still in between.
  await page.clock.install()
  await page.goto(`${url}/studio/runs/played`)
  const slider = page.getByRole("slider", { name: "Event", exact: true })
  const point = async () => Number(await slider.inputValue())
  await page.getByRole("button", { name: "index, node: done" }).waitFor({ state: "attached" })
  const end = await point()
  await page.locator("body").press("Space")
  await expect.poll(point).toBe(0)
  const seen = [0]
  const next = async () => {
    await page.clock.runFor(350)
    await expect.poll(point).toBeGreaterThan(seen.at(-1) ?? 0)
    seen.push(await point())
  }
  await next()
  await page.getByRole("button", { name: "load, node: done" }).waitFor({ state: "attached" })
  await page.getByRole("button", { name: "index, node: not reached" }).waitFor({ state: "attached" })
  await page.getByRole("button", { name: "Pause (Space)" }).click()
  await page.getByRole("button", { name: "Play (Space)" }).waitFor()
  await page.clock.runFor(3_500)
  expect(await point()).toBe(seen.at(-1))
  await page.getByRole("button", { name: "Play (Space)" }).click()
  while (seen.at(-1) !== end) await next()
  await page.clock.runFor(350)
  await page.getByRole("button", { name: "Play (Space)" }).waitFor()
  expect(seen.length).toBeGreaterThanOrEqual(4)
  await page.getByRole("button", { name: "index, node: done" }).waitFor({ state: "attached" })
})

test("a large value is folded, searched and downloaded; the page has few of its parts", async () => {
  const { url } = await serve()
  const run = await createClient({ url }).start("digest", 1_200, { runId: "digest" })
  const { outputs } = await run.result()
  const page = await open(`${url}/studio/runs/digest`)
  const tree = page.getByRole("tree", { name: "output-1" })
  await tree.getByText("[ 1,200 ]").waitFor()
  expect(await tree.getByRole("treeitem").count()).toBeLessThan(10)
  await tree.getByText("[ 1,200 ]").click()
  await tree.getByText(/^[\d,]+ more…$/).waitFor()
  expect(await tree.getByRole("treeitem").count()).toBeLessThan(300)

  // Far behind what is shown, at a path that only the search opens.
  await page.getByLabel("Search in output-1").fill("page 1147 has no")
  await page.getByText("1 found").waitFor()
  await tree.getByText("page 1147 has no text layer", { exact: false }).waitFor()
  const saved = page.waitForEvent("download")
  await page.getByRole("button", { name: "Download output-1" }).click()
  const download = await saved
  expect(download.suggestedFilename()).toBe("output-1.json")
  expect(JSON.parse(readFileSync(await download.path(), "utf8"))).toEqual(outputs[0])
})

test("nothing moves for those who want no motion", async () => {
  const { url, write } = await serve({ gated: true })
  write(3)
  const run = await createClient({ url }).start("article", { topic: "storks" }, { runId: "storks" })
  const address = `${url}/studio/runs/storks?v=graph`
  const moving = await open(address, { reducedMotion: "no-preference" })
  const calm = await open(address)
  const animations = (page: typeof calm) => page.evaluate("document.getAnimations().length")
  for (const page of [moving, calm])
    await page.getByRole("button", { name: /^draft, agent: running/ }).waitFor({ state: "attached" })
  await expect.poll(() => animations(moving)).toBeGreaterThan(0)
  expect(await animations(calm)).toBe(0)
  await calm.getByRole("tab", { name: "Chat" }).click()
  await calm.getByText("White storks eat", { exact: false }).waitFor()
  await calm.getByRole("button", { name: "Fork" }).hover()
  expect(await animations(calm)).toBe(0)
  // While a screen loads, too.
  await calm.route(/\/v1\//, () => undefined)
  await calm.goto(`${url}/studio/schedules`)
  await calm.locator(LOADING).first().waitFor()
  expect(await animations(calm)).toBe(0)
  await run.cancel()
})
