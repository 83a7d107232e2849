/** What axe finds: with the proofs on each screen in both themes, in the check on one screen of each kind in one theme. */
import { AxeBuilder } from "@axe-core/playwright"
import { expect, inject, onTestFinished, test } from "vitest"
import { LOADING, open, serve } from "./harness.ts"
import { seed, seededIndexes } from "./seed.ts"

test("no screen has a finding of axe", async () => {
  const { indexes, close } = await seededIndexes()
  onTestFinished(close)
  const { url } = await serve({ indexes })
  const runs = await seed(url)
  const screens = [
    "/",
    "/runs",
    `/runs/${runs.article}`,
    `/runs/${runs.article}?v=timeline&sel=node:draft`,
    `/runs/${runs.indexing}?sel=edge:shortening|judge|keep`,
    `/runs/${runs.digest}?v=timeline&sel=node:read`,
    `/runs/${runs.payment}?v=events&sel=node:charge`,
    `/runs/${runs.support}?v=chat`,
    `/runs/${runs.article}?fork=1`,
    "/inbox",
    "/inbox?show=answered",
    "/workflows",
    "/workflows/article",
    "/workflows/article?v=definition",
    "/workflows/order",
    "/workflows/order?v=definition",
    "/workflows/order?v=versions",
    "/workflows/support?v=chat",
    "/workflows/hello?v=definition&new=steps",
    `/compare?a=${runs.article}&b=${runs.fork}`,
    "/schedules",
    "/schedules?v=calendar",
    "/schedules?s=pages",
    "/schedules?edit=minutes",
    "/schedules?backfill=pages",
    "/costs?workflow=article",
    "/knowledge?q=storks",
    "/knowledge?v=documents",
    "/settings",
    "/settings?tab=webhooks",
    "/settings?tab=hooks",
    "/settings?tab=storage",
    "/settings?tab=audit",
    "/settings?tab=studio",
    "/runs/no-such-run",
  ]
  // Without a run, a question or a schedule: what there would be, and how to get it.
  const { url: empty } = await serve()
  const isEach = inject("isProof")
  const walked = isEach
    ? screens
    : ["/", `/runs/${runs.article}`, "/inbox", "/workflows/order?v=definition", "/schedules", "/settings"]
  const findings: string[] = []
  const bare = isEach ? ["/", "/runs", "/inbox", "/schedules", "/costs"] : ["/runs"]
  const [full, none] = [await open(`${url}/studio/`), await open(`${empty}/studio/`)]
  const walks = [
    ...walked.map((screen) => [full, screen, `${url}/studio${screen}`] as const),
    ...bare.map((screen) => [none, `${screen} without runs`, `${empty}/studio${screen}`] as const),
  ]
  for (const [page, screen, address] of walks) {
    await page.goto(address)
    await page.locator("h1").first().waitFor()
    await page.locator(LOADING).first().waitFor({ state: "detached" })
    for (const colorScheme of isEach ? (["light", "dark"] as const) : (["light"] as const)) {
      await page.emulateMedia({ colorScheme })
      // There are no frames: one pass in the page itself is enough.
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
      for (const { id, nodes } of violations) {
        findings.push(
          `${screen}, ${colorScheme}, ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`,
        )
      }
    }
  }
  expect(findings).toEqual([])
}, 240_000)
