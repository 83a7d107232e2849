import { statSync } from "node:fs"
import type { Lease } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  records,
  storeOver,
} from "../stores.test-support.ts"

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
    await store.append(lease("r"), 0, records(1, 4), created())
    await store.append(lease("r"), 4, records(5, 1))
    await store.release(lease("r"), undefined)
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

  test("that is read at once with others is as it is read alone, and its damage is reported alone (S4)", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    for (const runId of ["a", "b", "damaged"]) {
      await store.append(lease(runId), 0, records(1, 3, runId), created())
      await store.append(lease(runId), 3, records(4, 1, runId))
    }
    await store.append(lease("long"), 0, records(1, 50), created())
    await store.append(lease("fork"), 2, records(3, 1), created({ forkOf: { runId: "a", seq: 2 } }))
    const names = ["a", "b", "damaged", "long", "fork", "none", "a"]
    const readAll = () => Promise.allSettled(names.map((name) => store.read(name, 0)))
    const alone: unknown[] = []
    for (const name of names) alone.push({ status: "fulfilled", value: await store.read(name, 0) })
    const together = await readAll()
    expect(together).toEqual(alone)
    alter(path, driver, (database) => database.exec("DELETE FROM journal WHERE run = 3 AND seq = 2"))
    const message = expect.stringContaining('run "damaged" is damaged at 2')
    const reason = expect.objectContaining({ code: "STORE_CORRUPT", message })
    expect(await readAll()).toEqual(alone.with(2, { status: "rejected", reason }))
    await store.close()
  })

  test("of a run that was claimed from the queue is continued where it ends, unless the run was taken since (S2)", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const other = openStore(path, driver)
    const ids = ["a", "b", "c"]
    for (const runId of ids) await store.append(lease(runId), 0, records(1, 2), created())
    await store.beat({ id: "h", machine: "m", pid: 1, born: "" })
    await store.dismiss("h", { reason: "died" })
    await store.beat({ id: "next", machine: "m", pid: 2, born: "" })
    const query = { holder: "next", workflows: ["w"], now: () => 5_000, limit: 9 }
    const { runs } = await store.queue.claimNext(query)
    expect(runs.map(({ runId }) => runId)).toEqual(ids)
    const leases = runs.map(({ runId, token }) => ({ runId, token, holder: "next" }))
    const [a, b, c] = leases as [Lease, Lease, Lease]
    const taken = await other.claim("c", c.token, "third")
    await other.append(taken as Lease, 2, records(3, 1))

    await Promise.all([store.append(a, 2, records(3, 1)), store.append(b, 2, records(3, 1))])
    await expect(store.append(c, 2, records(3, 1))).rejects.toMatchObject({ code: "RUN_TAKEN" })
    await store.append(a, 3, records(4, 2))
    await store.append(b, 3, records(4, 1), { status: "completed" })
    expect(await other.run("a")).toMatchObject({ seq: 5, takeovers: 0, holder: "next" })
    expect(await other.run("b")).toMatchObject({ seq: 4, takeovers: 0, status: "completed" })
    expect(await other.run("c")).toMatchObject({ seq: 3, takeovers: 0, holder: "third" })
    expect(await other.read("a", 0)).toEqual(records(1, 5))
    await store.close()
    await other.close()
  })

  test("of 1 KB payloads takes no more than 1.38 times their size, checksums included, on the disk", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const payload = "x".repeat(1_024)
    const { disk: empty = { bytes: 0 } } = await store.report()
    await store.append(lease("r"), 0, records(1, 1), created())
    for (let seq = 1; seq < 4_000; seq += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          store.append(lease("r"), seq + i, records(seq + 1 + i, 1, payload)),
        ),
      )
    }
    const { disk = { bytes: 0 } } = await store.report()
    expect(disk.bytes - empty.bytes).toBeLessThan(1.38 * 4_000 * 1_024)
    await store.close()
  })

  test("ends with the last record while its run is executed, and in its row once it is not (S6)", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("r"), 0, records(1, 1), created())
    await store.append(lease("r"), 1, records(2, 2))
    const row = () => {
      let found: unknown
      alter(path, driver, (database) => {
        found = database.prepare("SELECT head, bytes, updated_at FROM runs").all()[0]
      })
      return found
    }
    const size = records(1, 3).reduce((sum, { entry }) => sum + JSON.stringify(entry).length, 0)
    expect(row()).toMatchObject({ head: 1 })
    expect(await store.run("r")).toMatchObject({ seq: 3, bytes: size, updatedAt: 1_003 })
    expect((await store.runs({}))[0]).toMatchObject({ seq: 3, bytes: size, updatedAt: 1_003 })
    expect((await store.report()).journal).toEqual({ count: 3, bytes: size })
    expect(await store.saveSnapshot(lease("r"), { seq: 3, data: 1 })).toMatchObject({ journal: size })
    await store.setIdle(lease("r"), {})
    expect(row()).toMatchObject({ head: 3, bytes: size, updated_at: 1_003 })
    await store.setIdle(lease("r"), false)
    await store.append(lease("r"), 3, records(4, 1))
    expect(row()).toMatchObject({ head: 3 })
    await store.beat({ id: "h", machine: "m", pid: 1, born: "" })
    await store.dismiss("h", { reason: "died" })
    expect(row()).toMatchObject({ head: 4, updated_at: 1_004 })
    // The first append after a crash clears the suspicion, and with it the row has the end.
    const claimed = await store.claim("r", 2, "h")
    await store.append(claimed as never, 4, records(5, 1))
    expect(row()).toMatchObject({ head: 5 })
    expect(await store.run("r")).toMatchObject({ seq: 5, takeovers: 0 })
    await store.append(claimed as never, 5, records(6, 1))
    await store.quarantine(claimed as never, 0)
    expect(row()).toMatchObject({ head: 6 })
    await store.close()
  })

  test.each(["at = at + 1", "bytes = bytes + 1", "end_sum = end_sum + 1"])(
    "whose end is damaged (%s) says so (S6)",
    async (damage) => {
      const path = freshPath()
      const store = openStore(path, driver)
      await store.append(lease("r"), 0, records(1, 1), created())
      await store.append(lease("r"), 1, records(2, 1))
      alter(path, driver, (database) => database.exec(`UPDATE journal SET ${damage} WHERE seq = 2`))
      const damaged = { code: "STORE_CORRUPT" }
      await expect(store.run("r")).rejects.toMatchObject(damaged)
      // Somebody who does not know the end by heart writes nothing after it.
      const other = openStore(path, driver)
      await expect(other.append(lease("r"), 2, records(3, 1))).rejects.toMatchObject(damaged)
      await store.append(lease("r"), 2, records(3, 1))
      const bytes = records(1, 3).reduce((sum, { entry }) => sum + JSON.stringify(entry).length, 0)
      expect(await store.run("r")).toMatchObject({ seq: 3, bytes, updatedAt: 1_003 })
      await expect(store.read("r", 0)).rejects.toThrow('run "r" is damaged at 2')
      await store.close()
      await other.close()
    },
  )

  test("is continued where it ends after writes that were rolled back", async () => {
    const path = freshPath()
    const database = open(path, driver)
    const store = storeOver(database)
    await store.append(lease("r"), 0, records(1, 1), created())
    await store.append(lease("r"), 1, records(2, 1))
    const stop =
      "CREATE TRIGGER stop BEFORE INSERT ON journal WHEN NEW.seq > 3 BEGIN SELECT RAISE(ABORT, 'no'); END"
    database.exec(stop)
    const outcomes = await Promise.allSettled([
      store.append(lease("r"), 2, records(3, 1)),
      store.append(lease("r"), 3, records(4, 1)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"])
    database.exec("DROP TRIGGER stop")
    await expect(store.append(lease("r"), 4, records(5, 1))).rejects.toMatchObject({
      code: "JOURNAL_CONFLICT",
    })
    await store.append(lease("r"), 3, records(4, 1))
    expect(await store.read("r", 0)).toEqual(records(1, 4))
    await store.close()
  })

  test("costs two pages for a record: of the record, and of where it is found", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("r"), 0, records(1, 1), created())
    const before = statSync(`${path}-wal`).size
    for (let seq = 1; seq <= 200; seq++) await store.append(lease("r"), seq, records(seq + 1, 1))
    const pages = (statSync(`${path}-wal`).size - before) / (4_096 + 24)
    // A few more, where a page is full.
    expect(pages / 200).toBeLessThan(2.3)
    await store.close()
  })
})
