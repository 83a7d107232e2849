/** Tests of what authors do: edit a definition as text and as a graph, check it, publish it, and talk to it. */
import { createClient } from "@superstep/client"
import { expect, test } from "vitest"
import { open, serve } from "./harness.ts"
import { ORDER, seedOrder } from "./seed.ts"

test("a mistake is shown where it is; the corrected text becomes a draft, is checked against runs, published and started", async () => {
  const { url } = await serve()
  await seedOrder(createClient({ url }))
  const page = await open(`${url}/studio/workflows/order?v=definition`)
  const text = page.getByRole("textbox", { name: "Definition of order" })
  await text.waitFor()
  await page.getByText("No problems").waitFor()

  // Selecting a node goes to its line, and a line selects its node.
  await page.getByRole("button", { name: /^thank, agent/ }).press("Enter")
  // The editor shows it, and the focus stays where it is: the next key is one for the graph.
  await page.locator(".cm-activeLine", { hasText: "id: thank" }).waitFor()
  await page.locator('[aria-pressed="true"][aria-label^="thank, agent"]').waitFor({ state: "attached" })

  const write = async (definition: string) => {
    await text.focus()
    await page.keyboard.press("Control+a")
    // Faster than the page draws: what it shows late must not be written back.
    await page.keyboard.type("n")
    await page.keyboard.press("Control+z")
    await page.keyboard.press("Control+a")
    await page.keyboard.insertText(definition)
  }
  await write(ORDER.replace("type: human", "type: humann"))
  const problem = page.getByRole("button", { name: /^Line 10 .*humann/ })
  await problem.waitFor()
  await page.locator(".cm-lintRange-error", { hasText: "humann" }).waitFor()
  expect(await page.getByRole("button", { name: "Save draft" }).isDisabled()).toBe(true)
  await write(ORDER.replace("id: confirm", "id: approve"))
  await page.getByText("No problems").waitFor()
  await page.getByRole("button", { name: "approve, human" }).waitFor({ state: "attached" })
  await page.getByRole("button", { name: "Save draft" }).click()
  await page.getByText("Version 4, a draft").waitFor()

  await page.getByRole("button", { name: "Publish…" }).click()
  await page.getByText("3 of 3 runs would behave differently.").waitFor()
  expect(await page.getByRole("row", { name: /order-milk diverges Step 1/ }).count()).toBe(1)
  const publish = page.getByRole("button", { name: "Publish anyway" })
  expect(await publish.isDisabled()).toBe(true)
  await page.getByLabel("Reason").fill("A better name.")
  await publish.click()
  await page.getByText("Version 4, published").waitFor()

  await page.getByRole("tab", { name: "Versions" }).click()
  await page.getByText("“A better name.”").waitFor()
  await page.getByRole("tab", { name: "Overview" }).click()
  await page.getByRole("button", { name: "tea", exact: true }).click()
  await page.getByRole("button", { name: "Start", exact: true }).click()
  await page.getByText("Order tea?").first().waitFor()
  await page.getByRole("button", { name: /^approve, human/ }).waitFor({ state: "attached" })
})

test("a workflow that is new is built on the graph: steps are added, named, connected, deleted and undone", async () => {
  const { url } = await serve()
  const page = await open(`${url}/studio/workflows`)
  await page.getByRole("button", { name: "New workflow" }).click()
  await page.getByLabel("Name", { exact: true }).fill("article")
  await page.getByRole("button", { name: "Write it" }).click()
  await page.getByText("There is a workflow with this name.").waitFor()
  await page.getByLabel("Name", { exact: true }).fill("greeting")
  await page.getByRole("button", { name: "Write it" }).click()

  const text = page.getByRole("textbox", { name: "Definition of greeting" })
  const written = async () => (await page.locator(".cm-line").allInnerTexts()).join("\n")
  /** The text has it, and the server has checked the text: the graph is the one that stays. */
  const settled = async (part: string) => {
    await expect.poll(written).toContain(part)
    await expect.poll(() => page.getByRole("button", { name: "Save draft" }).isEnabled()).toBe(true)
  }
  const select = async (name: RegExp) => {
    const node = page.getByRole("button", { name })
    await node.press("Enter")
    await node.and(page.locator('[aria-pressed="true"]')).waitFor({ state: "attached" })
  }
  await settled("id: answer")
  await select(/^answer, agent/)
  const tools = page.getByRole("toolbar", { name: "Edit the graph" })
  await tools.getByRole("button", { name: "Add" }).click()
  await page.getByLabel("Name", { exact: true }).fill("check")
  await page.getByLabel("Kind").selectOption({ label: "Condition" })
  await page.getByRole("button", { name: "Add", exact: true }).last().click()
  await page.getByRole("button", { name: /^check, condition/ }).waitFor({ state: "attached" })
  await settled("  - id: check\n    type: condition\n")

  await tools.getByRole("button", { name: "Connect" }).click()
  await page.getByLabel("To", { exact: true }).selectOption("answer")
  await page.getByRole("button", { name: "Connect", exact: true }).last().click()
  await settled("true: [{ goto: answer }]")
  // With the mouse: from the port of one node to another.
  await page.getByRole("button", { name: /^Edge check → answer/ }).press("Control+z")
  await expect.poll(written).not.toContain("goto")
  await page.getByRole("button", { name: /^Edge check → answer/ }).waitFor({ state: "detached" })
  await settled("id: check")
  const from = await page.locator("[data-port=check]").boundingBox()
  const to = await page.locator("[data-node=answer]").boundingBox()
  if (from === null || to === null) throw new Error("They are not on the screen.")
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2)
  await page.mouse.down()
  await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2)
  await page.mouse.up()
  await settled("true: [{ goto: answer }]")

  // By keyboard: rename, delete, and take the deletion back.
  await select(/^answer, agent/)
  await page.keyboard.press("F2")
  await page.getByLabel("Name", { exact: true }).fill("reply")
  await page.keyboard.press("Enter")
  await settled("goto: reply")
  // The node with the focus is another one now, and the deleted one is gone: the keyboard stays in the graph.
  const focused = page.locator(":focus")
  await focused.and(page.getByRole("button", { name: /^reply, agent/ })).waitFor()
  await select(/^check, condition/)
  await page.keyboard.press("Delete")
  await expect.poll(written).not.toContain("condition")
  await settled("id: reply")
  await focused.and(page.getByRole("region", { name: "Graph", exact: true })).waitFor()
  await page.keyboard.press("Control+z")
  await settled("goto: reply")
  expect(await written()).toContain("# Steps run one after another.")

  // Completion: fields of a step that it does not have, and values.
  await text.focus()
  await page.keyboard.press("Control+End")
  await page.keyboard.type("  - ty")
  await page.getByRole("option", { name: "type" }).click()
  await page.keyboard.type("hum")
  await page.getByRole("option", { name: "human" }).click()
  await page.keyboard.type("\nprompt: Send it?")
  await expect.poll(written).toContain("  - type: human\n    prompt: Send it?")
  await page.getByText("No problems").waitFor()
  await page.getByRole("button", { name: "Publish…" }).click()
  await page.getByText("No run has ended yet", { exact: false }).waitFor()
  await page.getByRole("button", { name: "Publish", exact: true }).click()
  await page.getByText("Version 1, published").waitFor()
})

test("a workflow that takes text is a chat: messages of one conversation, answers as they are written, and questions", async () => {
  const { url } = await serve()
  const page = await open(`${url}/studio/workflows/support?v=chat`)
  const message = page.getByLabel("Message")
  /** Nothing is sent before the page knows that it may, or before the run before has ended. */
  const say = async (text: string) => {
    await message.fill(text)
    await expect.poll(() => page.getByRole("button", { name: "Send" }).isEnabled()).toBe(true)
    await message.press("Enter")
  }
  await say("My lamp A-17 arrived broken.")
  await page.getByText("I look at your order first.").waitFor()
  expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true)
  await page.getByRole("button", { name: "Allow" }).click()
  await page.getByText("Your refund of 48.50 EUR is on its way.").waitFor()
  await say("Thank you.")
  await expect.poll(() => page.getByRole("region", { name: /^Run / }).count()).toBe(2)
  const chat = new URL(page.url()).searchParams.get("chat")
  const runs = createClient({ url }).request("GET /v1/runs", { query: { label: [`chat=${chat}`] } })
  expect((await runs).data.runs).toHaveLength(2)
  await page.goto(`${url}/studio/workflows/article?v=chat`)
  await page.getByText("This workflow does not take text").waitFor()
})
