import type { Json } from "@superstep/engine"
import { LARGE_VALUE as LIMIT, plainCodec, toStoredBody as toBody } from "@superstep/engine/stores"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Database } from "../file/driver.ts"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  records,
} from "../stores.test-support.ts"
import { blobTable } from "./blobs.ts"

const PLACE = { kind: "record", owner: "r", seq: 1 } as const
const toStoredBody = (value: unknown) => toBody(value, { codec: plainCodec, ...PLACE })
const large = (name: string) => name.repeat(Math.ceil((LIMIT + 1) / name.length))

describe("a body", () => {
  /** Where blobs are taken out. */
  const paths = (value: Json) =>
    (JSON.parse(toStoredBody(value).places ?? "[]") as [unknown[], string][]).map(([path]) => path)

  test("up to the limit stays as it is", () => {
    const value = { text: "x".repeat(LIMIT - 11) }
    expect(JSON.stringify(value)).toHaveLength(LIMIT)
    expect(toStoredBody(value)).toEqual({
      text: JSON.stringify(value),
      places: null,
      values: [],
      bytes: LIMIT,
      largeBytes: 0,
    })
  })

  test("above it gives away the smallest parts that are above it, and keeps the rest", () => {
    const value = { count: 1, doc: { title: "t", pages: [large("a"), "short"] } }
    expect(paths(value)).toEqual([["doc", "pages", 0]])
    expect(toStoredBody(value).text).toBe('{"count":1,"doc":{"title":"t","pages":[null,"short"]}}')
    expect(toStoredBody(value).bytes).toBe(JSON.stringify(value).length)
  })

  test("gives away a list whose items are all small, and several parts where there are several", () => {
    const list = Array.from({ length: 20_000 }, (_, i) => i)
    expect(paths({ list, a: large("a"), b: { c: large("c"), d: 1 } })).toEqual([["list"], ["a"], ["b", "c"]])
  })

  test("is not taken out itself: a string, or an object whose parts are all small", () => {
    expect(paths(large("a"))).toEqual([])
    expect(paths({ a: "x".repeat(40_000), b: "x".repeat(40_000) })).toEqual([])
  })

  test("is measured as JSON is: in units of its text, with escapes and keys", () => {
    expect(paths({ text: "\u0000".repeat(LIMIT / 4) })).toEqual([["text"]])
    expect(paths({ keys: { [large("key")]: 1 } })).toEqual([["keys"]])
    expect(toStoredBody({ text: "é".repeat(LIMIT - 20) })).toMatchObject({
      places: null,
      bytes: 2 * (LIMIT - 20) + 11,
    })
  })

  test("is left as it was by this", () => {
    const value = { doc: [large("a")] }
    toStoredBody(value)
    expect(value).toEqual({ doc: [large("a")] })
  })
})

describe.each(drivers)("large values in a file by $name", ({ driver }) => {
  const count = (database: Database) =>
    (database.prepare("SELECT count(*) AS n FROM blobs").all() as [{ n: number }])[0].n

  test("come back as they were, wherever they were", () => {
    const database = open(freshPath(), driver)
    const blobs = blobTable(database)
    const key = fc.oneof(
      fc.constantFrom("__proto__", "constructor", "", "0", "a.b"),
      fc.string({ unit: "binary" }),
    )
    const { value: anything } = fc.letrec((again) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<Json>(
          large("a"),
          large("é\ud800\u0000"),
          Array.from({ length: 30_000 }, () => null),
        ),
        fc.jsonValue(),
        fc.array(again("value"), { maxLength: 3 }),
        // Not fc.dictionary, which has no "__proto__".
        fc.array(fc.tuple(key, again("value")), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs)),
      ),
    }))
    let place = 0
    fc.assert(
      fc.property(anything, (value) => {
        place += 1
        const body = toStoredBody(value)
        blobs.keep(1, place, body)
        const back = blobs.reader()(Buffer.from(body.text), body.places, PLACE, () => "damaged")
        expect(JSON.stringify(back)).toBe(JSON.stringify(value))
        expect(body.text.length).toBeLessThanOrEqual(Math.max(LIMIT, JSON.stringify(value).length))
      }),
      { numRuns: 30 },
    )
    database.close()
  })

  test("are kept once, in records and snapshots, of however many runs", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const doc = { title: "t", text: large("a") }
    for (const runId of ["a", "b"]) {
      await store.append(lease(runId), 0, records(1, 5, doc), created())
      await store.saveSnapshot(lease(runId), { seq: 5, data: { state: { doc, n: 1 } } })
    }
    for (const runId of ["a", "b"]) {
      expect(await store.read(runId, 0)).toEqual(records(1, 5, doc))
      expect(await store.snapshot(runId)).toEqual({ seq: 5, data: { state: { doc, n: 1 } } })
    }
    const { blobs, journal, snapshots } = await store.report()
    expect(blobs).toEqual({ count: 1, bytes: large("a").length + 2 })
    expect(journal.count).toBe(10)
    expect(journal.bytes).toBeLessThan(2_000)
    expect(snapshots.bytes).toBeLessThan(200)
    await store.close()
    alter(path, driver, (database) => expect(count(database)).toBe(1))
  })

  test("count as the run's and the snapshot's own in reported sizes", async () => {
    const store = openStore(freshPath(), driver)
    await store.append(lease("a"), 0, records(1, 2, large("a")), created())
    const { bytes, journal } = await store.saveSnapshot(lease("a"), { seq: 2, data: { text: large("a") } })
    expect(bytes).toBeGreaterThan(LIMIT)
    expect(journal).toBeGreaterThan(2 * LIMIT)
    expect(await store.run("a")).toMatchObject({ bytes: journal })
    expect((await store.report()).workflows).toEqual([{ workflow: "w", runs: 1, bytes: journal + bytes }])
    await store.close()
  })

  test("go with the last snapshot or run that used them", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const blobs = async () => (await store.report()).blobs.count
    for (const runId of ["a", "b"]) {
      await store.append(lease(runId), 0, records(1, 1, { shared: large("a") }), created())
    }
    await store.saveSnapshot(lease("a"), { seq: 1, data: { of: large("one"), shared: large("a") } })
    expect(await blobs()).toBe(2)
    await store.saveSnapshot(lease("a"), { seq: 2, data: { of: large("two"), shared: large("a") } })
    expect(await blobs()).toBe(2)
    expect(await store.snapshot("a")).toEqual({ seq: 2, data: { of: large("two"), shared: large("a") } })
    for (const runId of ["a", "b"]) await store.append(lease(runId), 1, [], { status: "completed" })
    await store.remove("a")
    expect(await blobs()).toBe(1)
    expect(await store.read("b", 0)).toEqual(records(1, 1, { shared: large("a") }))
    await store.remove("b")
    expect(await blobs()).toBe(0)
    await store.close()
    alter(path, driver, (database) => {
      expect(database.prepare("SELECT * FROM blob_uses").all()).toEqual([])
    })
  })

  test("are no more than data when they look like references", async () => {
    const store = openStore(freshPath(), driver)
    const hash = "0".repeat(64)
    const value = { text: large("a"), places: [[["text"], hash]], $blob: hash, null: null }
    await store.append(lease("r"), 0, records(1, 1, value), created())
    expect(await store.read("r", 0)).toEqual(records(1, 1, value))
    await store.close()
  })

  test.each([
    ["that is missing", "DELETE FROM blobs", "is missing"],
    [
      "that was altered",
      "UPDATE blobs SET body = replace(body, 'a', 'b')",
      "does not match what was written",
    ],
    ["that was cut", "UPDATE blobs SET body = substr(body, 1, 100)", "does not match what was written"],
    [
      "whose place is gone",
      `UPDATE journal SET body = replace(body, '"value"', '"valu"') WHERE blobs IS NOT NULL; UPDATE snapshots SET body = '{}'`,
      "has no reference to its large value",
    ],
    [
      "whose place is unknown",
      "UPDATE journal SET blobs = '[[]]' WHERE blobs IS NOT NULL; UPDATE snapshots SET blobs = '{}'",
      "does not record where its large values belong",
    ],
  ])("of which one %s are reported, with their path", async (_, damage, what) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("r"), 0, [...records(1, 2), ...records(3, 1, large("a"))], created())
    await store.saveSnapshot(lease("r"), { seq: 3, data: { text: large("a") } })
    alter(path, driver, (database) => database.exec(damage))
    await expect(store.read("r", 0)).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringMatching(`The journal of run "r" is damaged at 3: .*${what}`),
    })
    await expect(store.snapshot("r")).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringMatching(`The snapshot of run "r" is damaged at 3: .*${what}`),
    })
    await store.close()
  })
})
