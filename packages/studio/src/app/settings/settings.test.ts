import type { Key } from "@superstep/client"
import { expect, test } from "vitest"
import { marked, scoreText, shownChunks } from "../knowledge/found.ts"
import { auditPath, keyOptions, limitWords, NEW_KEY, sortedKeys } from "./key-draft.ts"
import { policyOf, retentionWords } from "./retention.ts"

const key = (id: string, more: Partial<Key> = {}): Key => ({
  id,
  prefix: "ss_",
  name: id,
  role: "operator",
  createdAt: 0,
  createdBy: "test",
  ...more,
})

test("the form of a key becomes its options, without what was left empty", () => {
  const draft = { ...NEW_KEY, name: " ci ", workflows: "a, b,", expires: "2", usd: "5" }
  expect(keyOptions(draft, 1_000)).toEqual({
    options: {
      name: "ci",
      role: "operator",
      workflows: ["a", "b"],
      expiresAt: 1_000 + 2 * 86_400_000,
      budget: { usd: 5, per: "day" },
    },
    problems: new Map(),
  })
  const wrong = keyOptions({ ...NEW_KEY, expires: "soon", usd: "-1", tokens: "1.5" }, 0).problems
  expect([...wrong.keys()]).toEqual(["name", "expires", "usd", "tokens"])
})

test("keys that work come first, and their limits are words", () => {
  const keys = [key("revoked", { revokedAt: 1, createdAt: 9 }), key("old"), key("new", { createdAt: 5 })]
  expect(sortedKeys([...keys, key("expired", { expiresAt: 5 })], 10).map(({ id }) => id)).toEqual([
    "new",
    "old",
    "revoked",
    "expired",
  ])
  const limits = { budget: { usd: 5, per: "day" }, rateLimit: { requests: 100, seconds: 60 } } as const
  expect(limitWords(key("a", { ...limits, workflows: ["x"] }))).toBe(
    "$5.00 a day; 100 requests in 60 s; only x",
  )
})

test("an entry of the audit log names what was changed", () => {
  expect(auditPath("/v1/runs/:run/cancel", { run: "storks-1" })).toBe("/v1/runs/storks-1/cancel")
  expect(auditPath("/v1/keys/:key", {})).toBe("/v1/keys/:key")
})

test("found chunks have their words marked, and their strength beside the best", () => {
  expect(marked("Storks nest on roofs.", "do storks (nest")).toEqual([
    { text: "Storks", isMatch: true },
    { text: " ", isMatch: false },
    { text: "nest", isMatch: true },
    { text: " on roofs.", isMatch: false },
  ])
  expect(marked("a.b", ".*")).toEqual([{ text: "a.b", isMatch: false }])
  const found = shownChunks(
    [4, 1].map((score) => ({ source: "a", text: "", score })),
    "x",
  )
  expect(found.map(({ rank, strength }) => [rank, strength])).toEqual([
    [1, 1],
    [2, 0.25],
  ])
  expect([scoreText(0.016_39), scoreText(512.4)]).toEqual(["0.0164", "512"])
})

test("a policy of retention is read from its form, and said in words", () => {
  expect(policyOf("30", "")).toEqual({ policy: { olderThan: 30 * 86_400_000 } })
  expect(policyOf("", "1000").policy).toEqual({ keep: 1_000 })
  expect(policyOf("0.5", "0").policy).toEqual({ olderThan: 43_200_000, keep: 0 })
  for (const [days, keep] of [
    ["", ""],
    ["x", ""],
    ["1", "-1"],
    ["1", "1.5"],
  ] as const) {
    expect(policyOf(days, keep).problem).toBeDefined()
  }
  expect(retentionWords({})).toBe("This server deletes nothing by itself")
  expect(retentionWords({ keep: 1_000, maxAge: 86_400_000 * 3 })).toBe(
    "This server deletes runs that ended more than 3 d ago, and all but the newest 1,000 of each workflow",
  )
  expect(retentionWords({ keep: 5, setBy: "ada" })).toBe(
    "Servers and workers delete all but the newest 5 of each workflow",
  )
})
