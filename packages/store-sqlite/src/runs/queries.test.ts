/** What queries cost: with what they answer, not with what the file holds. */
import type { RequestQuery, RunQuery } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import type { Database } from "../file/driver.ts"
import type { SqliteStore } from "../sqlite-store.ts"
import { drivers, freshPath, open, storeOver, watched } from "../stores.test-support.ts"

describe.each(drivers)("queries to a file by $name", ({ driver }) => {
  /** SQLite's query plan of every statement that is prepared during `use`. */
  async function plansOf(use: (store: SqliteStore) => Promise<unknown>): Promise<Map<string, string[]>> {
    const database = open(freshPath(), driver)
    const prepared = new Set<string>()
    const store = storeOver(watched(database, { prepare: (sql) => prepared.add(sql) }))
    prepared.clear()
    await use(store)
    const plans = planAll(database, prepared)
    await store.close()
    return plans
  }

  function planAll(database: Database, statements: Iterable<string>): Map<string, string[]> {
    const plans = new Map<string, string[]>()
    for (const sql of statements) {
      if (sql.startsWith("PRAGMA")) continue
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
      plans.set(
        sql,
        steps.map(({ detail }) => detail),
      )
    }
    return plans
  }

  const tables = "runs|journal|requests|mail|snapshots|graphs|blobs|blob_uses|threads|thread_writes"
  const looksThrough = new RegExp(`^SCAN (${tables})$`)

  test.each<[string, RunQuery, string]>([
    ["of a workflow", { workflow: "w" }, "runs_workflow (workflow=? AND status=?)"],
    ["with a status", { status: ["waiting", "failed"] }, "runs_status (status=?)"],
    ["of both", { workflow: "w", status: ["waiting"] }, "runs_workflow (workflow=? AND status=?)"],
    [
      "on a later page",
      { workflow: "w", before: "r", limit: 5 },
      "runs_workflow (workflow=? AND status=? AND rowid<?)",
    ],
    ["of a thread", { thread: "t" }, "runs_thread (thread=?)"],
    [
      "of a thread with a status",
      { thread: "t", workflow: "w", status: ["failed"] },
      "runs_thread (thread=?)",
    ],
    ["with a key", { key: "k", status: ["failed"] }, "runs_key (key=?)"],
    ["with a label", { labels: { file: "x" }, workflow: "w" }, "run_labels_label (label=?)"],
  ])("for runs %s use an index", async (_, query, index) => {
    const [plan = []] = (await plansOf((store) => store.runs(query))).values()
    expect(plan.filter((step) => looksThrough.test(step))).toEqual([])
    expect(plan.join("\n")).toContain(index)
  })

  test("for runs by a part of a name use the index of names, and the rows that are newer than it", async () => {
    const plans = [...(await plansOf((store) => store.runs({ text: "name" }))).values()].map((plan) =>
      plan.join(),
    )
    expect(plans).toEqual([
      expect.stringContaining("SCAN runs"),
      expect.stringContaining("SCAN run_names VIRTUAL TABLE"),
    ])
  })

  test.each<[string, RequestQuery, string]>([
    ["that are open", {}, "requests_outcome (outcome=?)"],
    ["of a workflow", { workflow: "w" }, "requests_workflow (workflow=? AND outcome=?)"],
    ["to somebody", { to: "x", outcome: ["answered"] }, "requests_recipient (recipient=? AND outcome=?)"],
    ["of a run", { runId: "r", workflow: "w", to: "x" }, "sqlite_autoindex_requests_1 (run=?)"],
    ["on a later page", { after: { runId: "r", id: "q" } }, "requests_outcome (outcome=? AND rowid>?)"],
  ])("for questions %s use an index", async (_, query, index) => {
    const [plan = []] = (await plansOf((store) => store.requests(query))).values()
    expect(plan.filter((step) => looksThrough.test(step))).toEqual([])
    expect(plan.join("\n")).toContain(index)
  })

  test("and changes look through no table, but for those that tell of all of it", () => {
    const database = open(freshPath(), driver)
    const prepared = new Set<string>()
    storeOver(watched(database, { prepare: (sql) => prepared.add(sql) }))
    const plans = planAll(database, prepared)
    const slow = [...plans]
      .filter(([, plan]) => plan.some((step) => looksThrough.test(step)))
      .map(([sql]) => sql)
    // The report's sums; and graphs and unread mail, of which there are few.
    const small = /^SELECT .*(count\(\*\)|sum\(|FROM graphs NOT INDEXED)|^DELETE FROM (graphs|mail) /s
    expect(slow.filter((sql) => !small.test(sql))).toEqual([])
    expect(plans.size).toBeGreaterThan(40)
    database.close()
  })

  test("for free runs and for mail go by indexes that do not hold runs which only wait", () => {
    const database = open(freshPath(), driver)
    const prepared = new Set<string>()
    storeOver(watched(database, { prepare: (sql) => prepared.add(sql) }))
    const plans = [...planAll(database, prepared)]
    const [free = []] = plans.filter(([sql]) => sql.includes("known (workflow)")).map(([, plan]) => plan)
    const steps = free.filter((step) => / (runs|mail) /.test(step)).sort()
    expect(steps).toEqual([
      "SCAN mail USING INDEX mail_open",
      // Holders that nobody knows: among the runs that are held, which are few.
      "SEARCH runs USING COVERING INDEX runs_holder (holder>?)",
      "SEARCH runs USING INDEX runs_asleep (workflow=? AND wake_at>? AND wake_at<?)",
      "SEARCH runs USING INDEX runs_holder (holder=?)",
      "SEARCH runs USING INDEX runs_left (workflow=?)",
      "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (run_id=?)",
      // The page itself, by its ids: of runs that were left, and of all that were found.
      "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)",
      "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)",
    ])
    const [mail = []] = plans
      .filter(([sql]) => sql.startsWith("SELECT CAST(mail.mail_id"))
      .map(([, plan]) => plan)
    expect(mail).toEqual([
      "SCAN mail USING INDEX mail_open",
      "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (run_id=?)",
      "USE TEMP B-TREE FOR ORDER BY",
    ])
    database.close()
  })

  test("for queued runs that have expired do not look at the others that are queued", () => {
    const database = open(freshPath(), driver)
    const prepared = new Set<string>()
    storeOver(watched(database, { prepare: (sql) => prepared.add(sql) }))
    const plans = [...planAll(database, prepared)]
    const [plan = []] = plans.filter(([sql]) => sql.includes("expires_at <=")).map(([, plan]) => plan)
    expect(plan).toContain("SEARCH runs USING INDEX runs_expiring (expires_at>? AND expires_at<?)")
    expect(plan).not.toContain("USE TEMP B-TREE FOR ORDER BY")
    database.close()
  })
})
