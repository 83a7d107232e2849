/** The store as a whole: its report, and what a policy deletes, first as a dry run. */
import { expect, test } from "vitest"
import { served } from "./serve.test-support.ts"

test("an administrator sees what the store holds, and deletes by a policy after a dry run", async () => {
  const one = served()
  const key = await one.key({ role: "admin" })
  for (let i = 0; i < 3; i++) {
    await one.ask("POST", "/v1/workflows/greet/runs", { key, body: { input: "x" } })
  }
  const json = async (response: Promise<Response>) => (await (await response).json()) as object
  const storage = () => json(one.ask("GET", "/v1/storage", { key }))
  expect(await storage()).toMatchObject({
    runs: { completed: 3 },
    workflows: [{ workflow: "greet", runs: 3 }],
    retention: {},
  })
  const prune = (body: object) => one.ask("POST", "/v1/storage/prune", { key, body })
  expect(await json(prune({ keep: 1 }))).toMatchObject({ count: 2, dryRun: true })
  expect(await storage()).toMatchObject({ runs: { completed: 3 } })
  expect(await json(prune({ keep: 1, workflow: "other", dryRun: false }))).toMatchObject({ count: 0 })
  expect(await json(prune({ keep: 1, dryRun: false }))).toMatchObject({ count: 2, dryRun: false })
  expect(await storage()).toMatchObject({ runs: { completed: 1 } })
  // Without a policy of its own, the server deletes nothing.
  expect(await json(prune({ dryRun: false }))).toMatchObject({ count: 0 })
  expect((await prune({ keep: -1 })).status).toBe(422)
  const retention = (method: string, body?: object) =>
    one.ask(method, "/v1/storage/retention", { key, ...(body !== undefined && { body }) })
  expect((await retention("PUT", { keep: 0 })).status).toBe(200)
  expect(await storage()).toMatchObject({ retention: { keep: 0, setBy: expect.any(String) } })
  expect(await json(prune({}))).toMatchObject({ count: 1, dryRun: true })
  const audit = (await json(one.ask("GET", "/v1/audit", { key }))) as { entries: object[] }
  expect(audit.entries).toContainEqual(
    expect.objectContaining({ method: "PUT", route: "/v1/storage/retention", note: '{"keep":0}' }),
  )
  for (const wrong of [{ keep: -1 }, { maxAge: 0.5 }, { keep: 1, eventMaxAge: 1 }])
    expect((await retention("PUT", wrong)).status).toBe(422)
  expect((await retention("DELETE")).status).toBe(204)
  expect(await storage()).toMatchObject({ retention: {} })
  for (const part of [{ tenant: "acme" }, { workflows: ["greet"] }]) {
    const other = await one.key({ role: "admin", ...part })
    expect((await one.ask("GET", "/v1/storage", { key: other })).status).toBe(403)
    const body = { keep: 0, dryRun: false }
    expect((await one.ask("POST", "/v1/storage/prune", { key: other, body })).status).toBe(403)
    const policy = { key: other, body: { keep: 0 } }
    expect((await one.ask("PUT", "/v1/storage/retention", policy)).status).toBe(403)
    expect((await one.ask("DELETE", "/v1/storage/retention", { key: other })).status).toBe(403)
  }
})
