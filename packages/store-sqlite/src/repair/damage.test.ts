/** Files that lost their end, lost a page, or were taken away: nothing that is read is less than it should be. */
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { isSuperstepError } from "@superstep/engine"
import { LARGE_VALUE as LIMIT } from "@superstep/engine/stores"
import * as fc from "fast-check"
import { describe, expect, inject, test } from "vitest"
import { alter, created, drivers, freshPath, lease, openStore, records } from "../stores.test-support.ts"
import { checkStoreFile, type Damage } from "./check-store.ts"

const seed = inject("seed")

function request(id: string) {
  return { id, node: "n", task: 1, prompt: "?", openedAt: 1 }
}

describe.each(drivers)("a file by $name", ({ driver }) => {
  test("whose last writes were torn has a prefix of whole appends, never a half one", {
    timeout: 120_000,
  }, async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const large = { text: "x".repeat(LIMIT) }
    await store.append(lease("r"), 0, records(1, 2), { ...created({ thread: "t" }), opened: [request("q1")] })
    for (let i = 1; i < 12; i++) {
      await store.append(lease("r"), 2 * i, records(1 + 2 * i, 2, i % 4 === 0 ? large : "value"), {
        opened: [request(`q${i + 1}`)],
        thread: [{ key: "k", kind: "append", value: [i] }],
        status: i % 2 === 0 ? "running" : "waiting",
      })
    }
    // As a crash leaves them: nothing was moved from the log to the file yet.
    const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)]
    await store.close()

    const cuts = fc.sample(fc.integer({ min: 0, max: Math.floor(log.length / 32) }), { seed, numRuns: 60 })
    const found: number[] = []
    for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
      const where = `SEED=${seed}, cut at ${cut * 32}`
      const torn = freshPath()
      writeFileSync(torn, file)
      // Either the end is not there, or there is something else.
      const rest = cut % 2 === 0 ? Buffer.alloc(0) : Buffer.alloc(log.length - cut * 32, cut)
      writeFileSync(`${torn}-wal`, Buffer.concat([log.subarray(0, cut * 32), rest]))
      const after = openStore(torn, driver)
      const journal = await after.read("r", 0)
      const appends = journal.length / 2
      found.push(appends)
      expect(Number.isInteger(appends), where).toBe(true)
      expect(
        journal.map(({ seq }) => seq),
        where,
      ).toEqual(records(1, journal.length).map(({ seq }) => seq))
      expect((await after.run("r"))?.seq ?? 0, where).toBe(journal.length)
      expect(await after.requests({ runId: "r" }), where).toHaveLength(appends)
      expect((await after.thread("t")).version, where).toBe(Math.max(appends - 1, 0))
      if (appends > 0) {
        await after.append(lease("r"), journal.length, records(journal.length + 1, 1))
        expect(await after.read("r", journal.length), where).toEqual(records(journal.length + 1, 1))
      }
      await after.close()
    }
    // What was written earlier is lost later.
    expect(found).toEqual([...found].sort((a, b) => a - b))
    expect(new Set(found).size).toBeGreaterThan(5)
  })

  test("with a page of something else in it says so, or has everything", { timeout: 120_000 }, async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const all = [...records(1, 30, "x".repeat(700)), ...records(31, 1, { text: "y".repeat(LIMIT) })]
    await store.append(lease("r"), 0, all, created())
    await store.close()
    const file = readFileSync(path)
    let reported = 0
    for (let page = 0; page < file.length / 4_096; page++) {
      const hurt = freshPath()
      writeFileSync(hurt, Buffer.from(file).fill(0xa5, page * 4_096, (page + 1) * 4_096))
      try {
        const after = openStore(hurt, driver)
        try {
          expect(await after.read("r", 0)).toEqual(all)
        } finally {
          await after.close()
        }
      } catch (error) {
        expect(isSuperstepError(error) && error.code, `page ${page}`).toMatch(/^STORE_(CORRUPT|UNUSABLE)$/)
        reported += 1
      }
    }
    expect(reported).toBeGreaterThan(20)
  })

  test("whose damaged page hides the last records of a run that was executing is found by a check", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const all = records(1, 1_000)
    await store.append(lease("r"), 0, all.slice(0, 1), created())
    // The row of the run stays as it is: the last record says where the journal ends (S6).
    await store.append(lease("r"), 1, all.slice(1))
    await store.close()
    let root = 0
    alter(path, driver, (database) => {
      const find = database.prepare(
        "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_journal_1'",
      )
      root = (find.all() as [{ rootpage: number }])[0].rootpage
    })
    const file = readFileSync(path)
    const at = (page: number) => (page - 1) * 4_096
    // An inner page names its last child at byte 8; a page has the number of its entries at byte 3.
    file.writeUInt16BE(1, at(file.readUInt32BE(at(root) + 8)) + 3)
    writeFileSync(path, file)

    const damaged = openStore(path, driver)
    const hidden = all.length - (await damaged.read("r", 0)).length
    await damaged.close()
    expect(hidden).toBeGreaterThan(0)
    const damages: Damage[] = []
    for await (const damage of checkStoreFile(path)) damages.push(damage)
    expect(damages).toContainEqual({
      part: "file",
      message: expect.stringMatching(/^Table journal: .*sqlite_autoindex_journal_1/),
    })
  })

  test.skipIf(process.platform === "win32")(
    "that is removed or replaced while it is open takes nothing more until it is back (not on Windows, which keeps it)",
    async () => {
      const path = freshPath()
      const store = openStore(path, driver)
      await store.append(lease("r"), 0, records(1, 1), created())
      const gone = {
        code: "STORE_WRITE_FAILED",
        message: expect.stringContaining(`${path} was removed or replaced`),
      }

      renameSync(path, `${path}.away`)
      await expect(store.append(lease("r"), 1, records(2, 1))).rejects.toMatchObject(gone)
      await expect(store.claim("r", 1, "h")).rejects.toMatchObject(gone)
      copyFileSync(`${path}.away`, path)
      await expect(store.append(lease("r"), 1, records(2, 1))).rejects.toMatchObject(gone)
      // What it had is still to be read.
      expect(await store.read("r", 0)).toEqual(records(1, 1))

      renameSync(`${path}.away`, path)
      await store.append(lease("r"), 1, records(2, 1))
      expect(await store.read("r", 0)).toEqual(records(1, 2))
      await store.close()
    },
  )
})
