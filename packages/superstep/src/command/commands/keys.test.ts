import { apiKeys } from "@superstep/server"
import { expect, test } from "vitest"
import { openStore } from "../open/store.ts"
import { superstep, testIo } from "../test-io.test-support.ts"

test("a key is created, authenticates, is listed without its secret, and is revoked", async () => {
  const io = testIo()
  const who = async (key: string) => {
    const store = await openStore(undefined, io)
    try {
      const headers = { authorization: `Bearer ${key.trim()}` }
      return await apiKeys(store)(new Request("http://local/", { headers }))
    } finally {
      await store.close()
    }
  }
  const flags = ["--role", "viewer", "--tenant", "acme", "--workflow", "a", "--expires", "90d"]
  const limits = ["--budget", "usd=5", "--rate", "100/1m", "--runs-per-day", "50", "--concurrent-runs", "2"]
  const created = await superstep(["keys", "create", "ci", ...flags, ...limits], io)
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ss_[0-9a-f]{16}_[\w-]{43}\n$/) })
  const id = created.stdout.slice(3, 19)
  expect(await who(created.stdout)).toEqual({
    id: `key:${id}`,
    role: "viewer",
    tenant: "acme",
    workflows: ["a"],
    key: {
      id,
      isPaused: false,
      budget: { usd: 5, per: "day" },
      rateLimit: { requests: 100, seconds: 60 },
      quota: { runsPerDay: 50, concurrentRuns: 2 },
    },
  })
  const listed = await superstep(["keys"], io)
  expect(listed.stdout).toMatch(new RegExp(`${id} +ci +viewer +acme +until \\d{4}-\\d\\d-\\d\\d`))
  const json = await superstep(["keys", "list", "--json"], io)
  expect(JSON.parse(json.stdout)).toMatchObject({ id, name: "ci" })
  for (const { stdout } of [listed, json]) {
    expect(stdout).not.toContain(created.stdout.trim().slice(20))
    expect(stdout).not.toContain("hash")
  }
  expect(await superstep(["keys", "revoke", id], io)).toMatchObject({ code: 0 })
  expect(await who(created.stdout)).toBeUndefined()
  expect((await superstep(["keys"], io)).stdout).toContain("revoked")
})

test("mistakes are reported", async () => {
  const io = testIo()
  expect((await superstep(["keys", "create", "x", "--role", "root"], io)).code).toBe(2)
  expect((await superstep(["keys", "create", "x", "--rate", "many"], io)).code).toBe(2)
  for (const budget of ["seconds=5", "usd=abc"]) {
    const { code, stderr } = await superstep(["keys", "create", "x", "--budget", budget], io)
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([
      2,
      expect.stringContaining("usd=5, tokens=90000, or both"),
    ])
  }
  const unknown = await superstep(["keys", "revoke", "none", "--store", "memory:"], io)
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no key "none"') })
})
