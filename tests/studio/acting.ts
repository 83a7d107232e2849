/** Tests of what is done to many runs, what is copied out, and what is sent to other services. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createClient } from "@superstep/client"
import { expect, onTestFinished, test } from "vitest"
import { open, serve } from "./harness.ts"

test("an action on all runs that match lists them first; a run is copied as curl, as code and as a command", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  for (const runId of ["paid-1", "paid-2"])
    await (await client.start("payment", { card: "…4242" }, { runId })).result()
  await (await client.start("indexing", "It's done", { runId: "minutes" })).result()
  const left = async () => (await client.request("GET /v1/runs", {})).data.runs.map(({ id }) => id)

  const page = await open(`${url}/studio/runs?status=failed`, {
    permissions: ["clipboard-read", "clipboard-write"],
  })
  await page.getByRole("button", { name: "Act on all that match" }).click()
  await page.getByRole("dialog").getByLabel("Action", { exact: true }).selectOption("Delete")
  const found = page.getByRole("list", { name: "Runs that the action applies to" }).getByRole("listitem")
  await expect
    .poll(async () => (await found.allInnerTexts()).toSorted())
    .toEqual(["paid-1 payment", "paid-2 payment"])
  expect(await left()).toHaveLength(3)
  await page.getByRole("button", { name: "Delete: 2 runs" }).click()
  await page.getByText("2 runs done").waitFor()
  expect(await left()).toEqual(["minutes"])
  await page.getByRole("button", { name: "Done" }).click()
  await page.getByText("No run matches these filters").waitFor()

  await page.goto(`${url}/studio/runs/minutes`)
  const copied = async (what: string) => {
    await page.getByRole("button", { name: "More actions" }).click()
    await page.getByRole("menuitem", { name: what }).click()
    return expect.poll(() => page.evaluate("navigator.clipboard.readText()"))
  }
  await (await copied("Copy as curl")).toContain(`'{"input":"It'\\''s done"}'`)
  await (await copied("Copy as TypeScript")).toContain(`await client.start("indexing", "It's done")`)
  await (await copied("Copy as a command")).toBe("superstep runs show minutes")
})

test("runs are cancelled, retried and run again together: first the list of what would happen, then the deed", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  for (const id of ["1", "2"]) {
    await (await client.start("article", { topic: "storks" }, { runId: `asks-${id}` })).result()
    await (await client.start("payment", { card: "…4242" }, { runId: `paid-${id}` })).result()
  }
  const runs = async () => (await client.request("GET /v1/runs", {})).data.runs
  const statuses = async (prefix: string) =>
    (await runs()).flatMap(({ id, status }) => (id.startsWith(prefix) ? [status] : []))

  const page = await open(`${url}/studio/runs?status=waiting`)
  const dialog = page.getByRole("dialog")
  const action = dialog.getByLabel("Action", { exact: true })
  const listed = dialog.getByRole("list", { name: "Runs that the action applies to" }).getByRole("listitem")
  const offered = async () => await action.locator("option").allInnerTexts()
  const names = async () => (await listed.allInnerTexts()).toSorted()
  await page.getByRole("button", { name: "Act on all that match" }).click()
  expect(await offered()).toEqual(["Cancel", "Pause"])
  await expect.poll(names).toEqual(["asks-1 article", "asks-2 article"])
  expect(await statuses("asks")).toEqual(["waiting", "waiting"])
  await page.getByRole("button", { name: "Cancel: 2 runs" }).click()
  await page.getByText("2 runs done").waitFor()
  await expect.poll(() => statuses("asks")).toEqual(["cancelled", "cancelled"])

  await page.goto(`${url}/studio/runs?status=failed,quarantined`)
  await page.getByRole("button", { name: "Act on all that match" }).click()
  await action.selectOption("Retry from the failure")
  await expect.poll(names).toEqual(["paid-1 payment", "paid-2 payment"])
  expect(await runs()).toHaveLength(4)
  await page.getByRole("button", { name: "Retry from the failure: 2 runs" }).click()
  await page.getByText("2 runs done").waitFor()
  await expect.poll(async () => (await runs()).length).toBe(6)

  // Of chosen rows, those that the action is for.
  await page.goto(`${url}/studio/runs`)
  await page
    .getByRole("row", { name: /paid-1/ })
    .getByRole("checkbox")
    .check()
  await page
    .getByRole("row", { name: /asks-2/ })
    .getByRole("checkbox")
    .check()
  await page.getByRole("button", { name: "Act on 2 runs" }).click()
  await action.selectOption("Retry from the failure")
  await expect.poll(names).toEqual(["paid-1 payment"])
  await action.selectOption("Run again from the start")
  await expect.poll(names).toEqual(["asks-2 article", "paid-1 payment"])
  expect(await runs()).toHaveLength(6)
  await page.getByRole("button", { name: "Run again from the start: 2 runs" }).click()
  await page.getByText("2 runs done").waitFor()
  expect(await runs()).toHaveLength(8)
})

test("the calendar opens a schedule, a backfill creates the runs it lists, and a delivery is sent again", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  await client.request("PUT /v1/schedules/{schedule}", {
    path: { schedule: "hourly" },
    body: { workflow: "indexing", cron: "0 * * * *", timeZone: "UTC", input: "Minutes" },
  })
  const page = await open(`${url}/studio/schedules?v=calendar`, { timezoneId: "UTC" })
  await page
    .getByRole("button", { name: /hourly/ })
    .last()
    .click()
  await page.getByRole("button", { name: "Backfill" }).click()
  await page.getByLabel("From", { exact: true }).fill("2020-01-01T00:30")
  await page.getByLabel("To", { exact: true }).fill("2020-01-01T03:30")
  await page.getByText("2020-01-01 03:00").waitFor()
  await page.getByRole("button", { name: "Create 3 runs" }).click()
  await page.getByText("Asked for 3 runs of hourly.").waitFor()
  await expect.poll(async () => (await client.request("GET /v1/runs", {})).data.runs.length).toBe(3)

  const received: string[] = []
  const service = createServer((request, response) => {
    received.push(String(request.headers["webhook-id"]))
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>((done) => service.listen(0, "127.0.0.1", done))
  onTestFinished(() => void service.close())
  const address = `http://127.0.0.1:${(service.address() as AddressInfo).port}/events`
  // An event that no run here has: what arrives is the ping alone, whenever the runs of the backfill end.
  const body = { url: address, events: ["run.quarantined" as const] }
  await client.request("POST /v1/webhooks", { body })
  await page.goto(`${url}/studio/settings?tab=webhooks`)
  await page.getByRole("button", { name: address }).click()
  await page.getByRole("button", { name: "Send a ping" }).click()
  await page.getByRole("button", { name: /^delivered ping/ }).click()
  await page.getByRole("button", { name: "Redeliver" }).click()
  await expect.poll(() => page.getByRole("button", { name: /^delivered ping/ }).count()).toBe(2)
  expect(received).toHaveLength(2)
  expect(new Set(received).size).toBe(1)
})
