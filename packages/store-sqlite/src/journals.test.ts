import { statSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { alter, created, drivers, freshPath, lease, openStore, records } from "./stores.test-support.ts"

describe.each(drivers)("a journal in a file by $name", ({ driver }) => {
  test.each([
    ["a body that is not JSON", "UPDATE journal SET body = '{\"type\":' WHERE seq = 3", 3],
    ["a body that is no entry", "UPDATE journal SET body = 'null' WHERE seq = 2", 2],
    ["a frame that is not JSON", "UPDATE journal SET frame = '\"' WHERE seq = 2", 2],
    ["a gap", "DELETE FROM journal WHERE seq = 3", 3],
    ["a missing start", "DELETE FROM journal WHERE seq = 1", 1],
    ["a missing end", "DELETE FROM journal WHERE seq >= 4", 4],
    ["nothing left", "DELETE FROM journal", 1],
    ["more than its end says", "UPDATE runs SET head = 3", 4],
  ])("tells of %s where it is, and loses nothing silently (S4)", async (_, damage, seq) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("r"), 0, records(1, 5), created())
    alter(path, driver, (database) => database.exec(damage))
    await expect(store.read("r", 0)).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining(`run "r" is damaged at ${seq}`),
    })
    await store.close()
  })

  test.each([
    ["in the past that it shares", "DELETE FROM journal WHERE seq = 2", 'run "past" is damaged at 2'],
    ["past the fork, which are no damage of the fork", "DELETE FROM journal WHERE seq = 4", undefined],
    ["where the past is all gone", "DELETE FROM runs WHERE run_id = 'past'", 'run "fork" is damaged at 3'],
  ])("of a fork tells of records that are missing %s (S4)", async (_, damage, expected) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("past"), 0, records(1, 5), created())
    const forkOf = { runId: "past", seq: 3 }
    await store.append(lease("fork"), 3, records(4, 2, "own"), created({ forkOf }))
    alter(path, driver, (database) => {
      database.exec(damage.replace("WHERE seq", "WHERE run = 1 AND seq"))
    })
    const read = store.read("fork", 0)
    if (expected === undefined) expect(await read).toEqual([...records(1, 3), ...records(4, 2, "own")])
    else await expect(read).rejects.toThrow(expected)
    await store.close()
  })

  test("of 1 KB payloads takes no more than 1.41 times their size, checksums included, on the disk", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const payload = "x".repeat(1_024)
    await store.append(lease("r"), 0, records(1, 1), created())
    for (let seq = 1; seq < 4_000; seq += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          store.append(lease("r"), seq + i, records(seq + 1 + i, 1, payload)),
        ),
      )
    }
    const { disk } = await store.report()
    expect(disk?.bytes).toBeLessThan(1.41 * 4_000 * 1_024)
    await store.close()
  })

  test("costs three pages for a record: of the run's row, of the record, and of where it is found", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("r"), 0, records(1, 1), created())
    const before = statSync(`${path}-wal`).size
    for (let seq = 1; seq <= 200; seq++) await store.append(lease("r"), seq, records(seq + 1, 1))
    const pages = (statSync(`${path}-wal`).size - before) / (4_096 + 24)
    // A few more, where a page is full.
    expect(pages / 200).toBeLessThan(3.3)
    await store.close()
  })
})
