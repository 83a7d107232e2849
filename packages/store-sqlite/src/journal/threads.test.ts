import { describe, expect, test } from "vitest"
import { alter, created, drivers, freshPath, lease, openStore, records } from "../stores.test-support.ts"

describe.each(drivers)("a thread in a file by $name", ({ driver }) => {
  test("tells of a write that is missing or damaged, and where", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const thread = [1, 2, 3].map((value) => ({ key: "k", kind: "append", value: [value] }) as const)
    for (const id of ["a", "b", "c"]) {
      await store.append(lease(id), 0, records(1, 1), { ...created({ thread: id }), thread })
    }
    alter(path, driver, (database) => {
      database.exec("DELETE FROM thread_writes WHERE thread = 1 AND version = 2")
      database.exec("UPDATE thread_writes SET value = '[' WHERE thread = 2 AND version = 3")
      database.exec("DELETE FROM thread_writes WHERE thread = 3")
    })
    await expect(store.thread("a")).rejects.toThrow('Thread "a" is damaged at 2: the write is missing')
    await expect(store.thread("b")).rejects.toThrow('Thread "b" is damaged at 3: its checksum')
    await expect(store.thread("c")).rejects.toThrow('Thread "c" is damaged at 1: the write is missing')
    await store.close()
  })

  test("whose keys were set often is read by their last values", async () => {
    const store = openStore(freshPath(), driver)
    await store.append(lease("r"), 0, records(1, 1), created({ thread: "t" }))
    for (let i = 1; i <= 50; i++) {
      await store.append(lease("r"), i, records(i + 1, 1), {
        thread: [
          { key: "last", kind: "set", value: i },
          { key: "all", kind: i === 30 ? "set" : "append", value: [i] },
        ],
      })
    }
    const from30 = Array.from({ length: 21 }, (_, i) => 30 + i)
    expect(await store.thread("t")).toEqual({ version: 100, state: { last: 50, all: from30 } })
    expect(await store.thread("t", 7)).toEqual({ version: 7, state: { last: 4, all: [1, 2, 3] } })
    await store.close()
  })
})
