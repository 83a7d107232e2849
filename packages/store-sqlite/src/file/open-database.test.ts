import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"
import { sqliteStore } from "../open-store.ts"
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

const NOBODY = 65_534
const home = process.cwd()
afterEach(() => process.chdir(home))

describe.each(drivers)("a file opened by $name", ({ driver }) => {
  test.each([
    ["normal", 1],
    ["full", 2],
  ] as const)("is written ahead, and synced as durability %s asks", (durability, synchronous) => {
    const database = open(freshPath(), driver, durability)
    expect(database.prepare("PRAGMA journal_mode").all()).toMatchObject([{ journal_mode: "wal" }])
    expect(database.prepare("PRAGMA synchronous").all()).toMatchObject([{ synchronous }])
    database.close()
  })

  test("has ordinary tables and its version", () => {
    const database = open(freshPath(), driver)
    expect(database.prepare("SELECT version FROM meta").all()).toMatchObject([{ version: 15 }])
    const journal = database.prepare("SELECT rowid, * FROM journal").all()
    expect(journal).toEqual([])
    // Free pages can be given back.
    expect(database.prepare("PRAGMA auto_vacuum").all()).toMatchObject([{ auto_vacuum: 2 }])
    database.close()
  })

  test("leaves no log behind when it is closed, also after others have read from it", async () => {
    const path = freshPath()
    const [store, other] = [openStore(path, driver), openStore(path, driver)]
    await store.append(lease("r"), 0, records(1, 5, "x".repeat(9_000)), created())
    expect(await other.read("r", 4)).toHaveLength(1)
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
    await store.close()
    expect(statSync(`${path}-wal`).size).toBe(0)
    expect(await other.read("r", 4)).toHaveLength(1)
    await other.close()
  })

  test("of a later version is refused, and left as it is", () => {
    const path = freshPath()
    open(path, driver).close()
    alter(path, driver, (database) => database.exec("UPDATE meta SET version = 99"))
    expect(() => open(path, driver)).toThrow(
      expect.objectContaining({
        code: "STORE_UNUSABLE",
        message: expect.stringMatching(/version 99.*update/),
      }),
    )
    alter(path, driver, (database) => {
      expect(database.prepare("SELECT version FROM meta").all()).toMatchObject([{ version: 99 }])
    })
  })

  test("that belongs to another program is refused, and left as it is", () => {
    const path = freshPath()
    alter(path, driver, (database) => database.exec("CREATE TABLE meta (name TEXT)"))
    expect(() => open(path, driver)).toThrow(/another program: choose another path/)
    alter(path, driver, (database) => {
      expect(database.prepare("SELECT name FROM sqlite_master").all()).toMatchObject([{ name: "meta" }])
    })
  })

  test("that is not a database is refused, and left as it is", () => {
    const path = freshPath()
    const text = "a letter, long enough to be looked at\n".repeat(200)
    writeFileSync(path, text)
    chmodSync(path, 0o644)
    expect(() => open(path, driver)).toThrow(
      expect.objectContaining({
        code: "STORE_UNUSABLE",
        message: `${path} is not a SQLite database: choose another path, or move the file.`,
        cause: expect.any(Error),
      }),
    )
    expect(readFileSync(path, "utf8")).toBe(text)
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o644)
  })

  test("that is up to date opens while another process holds the write lock", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("r"), 0, records(1, 1), created())
    alter(path, driver, (holder) => {
      holder.exec("BEGIN IMMEDIATE")
      const database = open(path, driver)
      expect(database.prepare("SELECT run_id FROM runs").all()).toMatchObject([{ run_id: "r" }])
      database.close()
      holder.exec("ROLLBACK")
    })
    await store.close()
  })

  test("that must be brought up to date while another process has it locked is STORE_UNUSABLE", () => {
    const path = freshPath()
    open(path, driver).close()
    alter(path, driver, (holder) => {
      holder.exec("UPDATE meta SET version = 0")
      holder.exec("BEGIN IMMEDIATE")
      expect(() => open(path, driver)).toThrow(/locked by another process/)
      holder.exec("ROLLBACK")
    })
  })

  // Root may write anything, so that there the test is somebody else meanwhile.
  test.skipIf(process.platform === "win32")(
    "that may only be read is refused (needs file modes: not on Windows)",
    async () => {
      const path = freshPath()
      const store = openStore(path, driver)
      await store.append(lease("r"), 0, records(1, 1), created())
      await store.close()
      chmodSync(path, 0o444)
      chmodSync(dirname(path), 0o555)
      const root = process.getuid?.() === 0
      if (root) process.seteuid?.(NOBODY)
      try {
        expect(() => open(path, driver)).toThrow(
          expect.objectContaining({
            code: "STORE_UNUSABLE",
            message: expect.stringContaining(`${path} is not writable`),
          }),
        )
      } finally {
        if (root) process.seteuid?.(0)
        chmodSync(dirname(path), 0o755)
      }
    },
  )

  test.skipIf(process.platform === "win32")(
    "that may not be read, or not be created in its folder, is refused (needs file modes: not on Windows)",
    () => {
      const path = freshPath()
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, "")
      chmodSync(path, 0o000)
      chmodSync(dirname(path), 0o555)
      const root = process.getuid?.() === 0
      if (root) process.seteuid?.(NOBODY)
      try {
        for (const file of [path, join(dirname(path), "missing.db")]) {
          expect(() => open(file, driver)).toThrow(
            expect.objectContaining({
              code: "STORE_UNUSABLE",
              message: `${file} is not writable: check the permissions of the file and its folder, or choose another path.`,
            }),
          )
        }
      } finally {
        if (root) process.seteuid?.(0)
        chmodSync(dirname(path), 0o755)
      }
    },
  )
})

describe("sqliteStore", () => {
  test("makes the folders on the way", async () => {
    const path = join(dirname(freshPath()), "some", "where", "runs.db")
    const store = sqliteStore({ path })
    await store.append(lease("r"), 0, records(1, 1), created())
    await store.close()
    expect(existsSync(path)).toBe(true)
    expect(existsSync(join(dirname(path), ".gitignore"))).toBe(false)
  })

  test("without a path takes .superstep/superstep.db, which git leaves alone", async () => {
    process.chdir(dirname(freshPath()))
    for (let i = 0; i < 2; i++) await sqliteStore().close()
    expect(existsSync(".superstep/superstep.db")).toBe(true)
    expect(readFileSync(".superstep/.gitignore", "utf8")).toBe("*\n")
  })

  test("keeps an existing .gitignore", async () => {
    process.chdir(dirname(freshPath()))
    mkdirSync(".superstep")
    writeFileSync(".superstep/.gitignore", "mine\n")
    await sqliteStore().close()
    expect(readFileSync(".superstep/.gitignore", "utf8")).toBe("mine\n")
  })

  test("refuses a folder, a path below a file, and no file at all, and says what to do", () => {
    const path = freshPath()
    mkdirSync(path)
    expect(() => sqliteStore({ path })).toThrow(`${path} is a folder: use the path of a file.`)
    writeFileSync(join(path, "file"), "")
    const below = join(path, "file", "runs.db")
    expect(() => sqliteStore({ path: below })).toThrow(
      expect.objectContaining({
        code: "STORE_UNUSABLE",
        message: expect.stringContaining("cannot be created"),
      }),
    )
    expect(() => sqliteStore({ path: ":memory:" })).toThrow(/use memoryStore\(\)/)
  })

  test("refuses a path in place of the options, and leaves the default file alone", () => {
    process.chdir(dirname(freshPath()))
    expect(() => sqliteStore("runs.db" as never)).toThrow(/an object such as \{ path: "runs.db" \}/)
    expect(existsSync(".superstep")).toBe(false)
  })

  test("refuses an option that it does not know, with the nearest name, and leaves the default file alone", () => {
    process.chdir(dirname(freshPath()))
    expect(() => sqliteStore({ pathh: "runs.db" } as never)).toThrow(
      /unknown option "pathh"; did you mean "path"\?/,
    )
    expect(() => sqliteStore({ file: "runs.db" } as never)).toThrow(/the options are path, durability/)
    expect(existsSync(".superstep")).toBe(false)
  })

  test("refuses a durability that it does not know", () => {
    expect(() => sqliteStore({ path: freshPath(), durability: "none" as never })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    )
  })
})
