/** Tests of what operators and administrators do: schedules, costs, keys, storage. */
import { createClient } from "@superstep/client"
import { createKey } from "@superstep/server"
import { expect, test } from "vitest"
import { open, serve } from "./harness.ts"

test("a schedule is created and triggered, its cost is counted, and a key is created and revoked", async () => {
  const { url, store } = await serve({ keys: true })
  const admin = await createKey(store, { name: "admin", role: "admin" }, "test")
  const page = await open(`${url}/studio/schedules`)
  await page.getByLabel("API key").fill(admin.secret)
  await page.getByRole("button", { name: "Sign in" }).click()

  await page.getByRole("button", { name: "New schedule" }).click()
  await page.getByLabel("Name", { exact: true }).fill("morning")
  await page.getByLabel("Workflow", { exact: true }).selectOption("support")
  await page.getByLabel("Pattern", { exact: true }).fill("0 7 * * *")
  await page.getByText("Every day at 07:00").waitFor()
  await expect
    .poll(() => page.getByRole("region", { name: "Next times" }).getByRole("listitem").count())
    .toBe(5)
  await page.getByLabel("Input of each run").fill("My lamp A-17 arrived broken.")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  await page.getByRole("button", { name: "Trigger now" }).click()
  await page.getByRole("link", { name: "Runs of this schedule" }).click()
  await page.getByText("waits for", { exact: false }).waitFor()

  // The run that the schedule started waits for an approval; when it has ended, its cost is counted.
  const client = createClient({ url, key: admin.secret })
  for await (const request of client.requests({ outcome: "open" })) {
    await client.get(request.run).respond(request.id, { approve: true })
    await client.get(request.run).result()
  }
  await page.getByRole("link", { name: "Costs" }).click()
  const row = page.getByRole("row", { name: /^support / })
  await row.getByText(/^\$0\.0\d+$/).waitFor()
  await row.getByText("100%").waitFor()
  await row.getByRole("button", { name: "support" }).click()
  await page.getByRole("row", { name: /^helper / }).waitFor()
  expect(new URL(page.url()).searchParams.get("workflow")).toBe("support")

  await page.getByRole("link", { name: "Settings" }).click()
  await page.getByRole("row", { name: /^admin this session/ }).waitFor()
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name", { exact: true }).fill("ci")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  const secret = (await page.locator("[data-secret]").textContent()) ?? ""
  const status = async () =>
    (await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${secret}` } })).status
  expect(await status()).toBe(200)
  await page.getByRole("button", { name: "I have stored it" }).click()
  await expect.poll(() => page.content()).not.toContain(secret)
  await page.getByRole("button", { name: "Revoke ci" }).click()
  await page.getByRole("button", { name: "Revoke", exact: true }).click()
  await page.getByRole("row", { name: /ci.*revoked/ }).waitFor()
  expect(await status()).toBe(401)

  await page.getByRole("tab", { name: "Audit log" }).click()
  // By the name of the key, not by its id.
  await page.getByRole("row", { name: /admin PUT \/v1\/schedules\/morning/ }).waitFor()
})

test("a budget is raised, a key paused and resumed, finished runs are deleted after a dry run, and a hook is created", async () => {
  const { url, store } = await serve({ keys: true })
  const admin = await createKey(store, { name: "admin", role: "admin" }, "test")
  const bot = await createKey(
    store,
    { name: "bot", role: "operator", budget: { per: "total", tokens: 100 } },
    "test",
  )
  const spend = async () => {
    const client = createClient({ url, key: bot.secret })
    const run = await client.start("support", "My lamp A-17 arrived broken.")
    const { requests } = await run.result()
    await run.respond((requests as { id: string }[])[0]?.id ?? "", { approve: true })
    await run.result()
  }
  const page = await open(`${url}/studio/costs`)
  await page.getByLabel("API key").fill(admin.secret)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("Nothing was spent in these days").waitFor()
  // Counting begins with the first look at the budget.
  await createClient({ url, key: admin.secret }).request("GET /v1/keys/{key}", { path: { key: bot.id } })
  await spend()
  await page.getByText("used up", { exact: true }).waitFor()
  await page.getByRole("img", { name: "Burn-down of bot. Used up." }).waitFor()
  await expect(spend()).rejects.toMatchObject({ code: "KEY_BUDGET_USED_UP" })
  await page.getByRole("button", { name: "Raise the budget of bot" }).click()
  await page.getByLabel("Tokens in total").fill("100000")
  await page.getByRole("button", { name: "Change", exact: true }).click()
  await page.getByText("within", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Pause bot" }).click()
  await page.getByRole("button", { name: "Resume bot" }).waitFor()
  await expect(spend()).rejects.toMatchObject({ code: "KEY_PAUSED" })
  await page.getByRole("button", { name: "Resume bot" }).click()
  await page.getByRole("button", { name: "Pause bot" }).waitFor()
  await spend()

  await page.getByRole("tab", { name: "By node" }).click()
  await page.getByRole("row", { name: /^support › helper/ }).waitFor()
  await page.goto(`${url}/studio/costs?workflow=support`)
  await page.getByRole("button", { name: "Failures" }).click()
  await page.getByText("none of 2 failed", { exact: true }).waitFor()

  await page.goto(`${url}/studio/settings?tab=storage`)
  await page.getByLabel("Ended longer ago than, in days").fill("")
  await page.getByLabel("Keep the newest of each workflow").fill("1")
  expect(await page.getByRole("button", { name: "Delete…" }).isDisabled()).toBe(true)
  await page.getByRole("button", { name: "Dry run" }).click()
  await page.getByText(/^1 run with .* would be deleted\.$/).waitFor()
  await page.getByRole("button", { name: "Store as policy…" }).click()
  await page.getByRole("button", { name: "Store", exact: true }).click()
  await page.getByText(/^Servers and workers delete all but the newest 1 of each workflow, set by /).waitFor()
  await page.getByRole("button", { name: "Remove the policy" }).click()
  await page.getByText("This server deletes nothing by itself").waitFor()
  await page.getByRole("button", { name: "Delete…" }).click()
  await page.getByRole("button", { name: "Delete", exact: true }).click()
  await page.getByText(/^Deleted 1 run/).waitFor()
  await page.getByText("1 completed").waitFor()

  await page.getByRole("tab", { name: "Hooks", exact: true }).click()
  await page.getByRole("button", { name: "New hook" }).click()
  await page.getByLabel("Name", { exact: true }).fill("orders")
  await page.getByLabel("Workflow", { exact: true }).selectOption("payment")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  await page.getByRole("button", { name: "I have stored it" }).click()
  await page.getByRole("row", { name: /orders.*enabled payment/ }).waitFor()
  await page.getByRole("button", { name: "Delete orders" }).click()
  await page.getByRole("button", { name: "Delete", exact: true }).click()
  await page.getByText("No hooks yet").waitFor()
})

const DESK = `id: desk
isConversational: true
entrypointNodeId: person
nodes:
  - { id: person, workflowId: desk, nodeType: HUMAN_HANDOFF, nodeName: Person, agentId: null }
  - { id: billing, workflowId: desk, nodeType: AGENT, nodeName: Billing, agentId: clerk }
edges:
  - { id: e1, workflowId: desk, sourceNodeId: person, targetNodeId: billing, conditionType: CONDITIONAL, conditionValue: Billing }
  - { id: e2, workflowId: desk, sourceNodeId: billing, targetNodeId: null, conditionType: ALWAYS, conditionValue: null }
agents:
  clerk: { model: offline, instruction: "Answer questions about bills." }
`

test("a hand-off is a conversation: passed on and sent to a route, by keyboard", async () => {
  const { url } = await serve()
  const client = createClient({ url })
  const path = { definition: "desk" }
  await client.request("POST /v1/definitions/{definition}/versions", { path, body: { text: DESK } })
  await client.request("POST /v1/definitions/{definition}/publish", { path, body: {} })
  const run = await client.start("desk", "My bill is wrong.", { runId: "desk-1" })
  const page = await open(`${url}/studio/inbox`)
  await page.getByText("My bill is wrong.").waitFor()

  const focused = (name: string) =>
    page
      .locator(":focus")
      .and(page.getByLabel(name, { exact: true }))
      .waitFor()
  await page.keyboard.press("e")
  await focused("To")
  await page.keyboard.type("anna")
  await page.getByRole("button", { name: "Pass on", exact: true }).press("Enter")
  await page.getByRole("dialog").waitFor({ state: "detached" })
  await page.getByText("For anna", { exact: false }).first().waitFor()

  await page.keyboard.press("Enter")
  await focused("Your reply")
  await page.keyboard.type("Look at invoice 7.")
  await page.keyboard.press("Tab")
  await page.keyboard.press("Tab")
  await page.keyboard.press("Enter")
  await page.getByText("Nobody waits for you").waitFor()
  const { status } = await run.result()
  expect(status).toBe("completed")
  const events = await (await fetch(`${url}/v1/runs/desk-1/events?types=request.answered`)).text()
  expect(events).toContain('{"route":"Billing","message":"Look at invoice 7."}')
  await page.getByRole("tab", { name: "Answered" }).click()
  await page.getByRole("row", { name: /desk-1/ }).waitFor()
})
