/** The page at /docs: complete, and safe to show. */
import { memoryStore, Runtime } from "@superstep/engine"
import { expect, onTestFinished, test } from "vitest"
import { docsPage } from "./docs-page.ts"
import { createServer, type Server } from "./server.ts"

function serve(): Server {
  const runtime = new Runtime({ store: memoryStore(), workflows: [] })
  onTestFinished(() => runtime.close())
  return createServer({ runtime, workflows: [], auth: () => undefined })
}

test("the page shows every route with its role and its schemas, to everybody", async () => {
  const server = serve()
  const page = await (await server.fetch(new Request("http://local/docs"))).text()
  const document = await server.fetch(new Request("http://local/openapi.json"))
  const { paths, components } = (await document.json()) as Record<
    "paths" | "components",
    Record<string, Record<string, unknown>>
  >
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of Object.keys(methods))
      expect(page).toContain(`<b>${method.toUpperCase()}</b>${path}</h2>`)
  }
  for (const name of Object.keys(components.schemas ?? {})) expect(page).toContain(`id="schema-${name}"`)
  expect(page).toContain("Role: viewer.")
})

test("the page loads nothing from anywhere, and its policy allows only its own style sheet", async () => {
  const response = await serve().fetch(new Request("http://local/docs"))
  const policy = response.headers.get("content-security-policy")
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; /)
  const page = await response.text()
  // Examples in the text may be addresses.
  expect(page).not.toMatch(/<script|<link|<img|<iframe|\bsrc=|href="https?:|@import|url\(/)
})

test("text of the document is never HTML", async () => {
  const hostile = "<script>alert(1)</script>\"'&"
  const operation = {
    summary: hostile,
    description: hostile,
    parameters: [{ name: hostile, in: hostile, description: hostile }],
    responses: { 200: { description: hostile, content: { [hostile]: { schema: { enum: [hostile] } } } } },
  }
  const document = {
    info: { title: hostile, description: hostile },
    paths: { [hostile]: { get: operation } },
    components: { schemas: { [hostile]: { description: hostile } } },
  }
  const page = await docsPage(document).text()
  expect(page).not.toContain("<script")
  expect(page).toContain("&#60;script&#62;")
})
