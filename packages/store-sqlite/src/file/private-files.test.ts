/** Modes are real here; a test that needs another user's files makes them as root, and says so. */
import { chmodSync, lchownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"
import { type StoreNotice, sqliteStore } from "../open-store.ts"
import { created, freshPath, lease, records } from "../stores.test-support.ts"

const isRoot = process.getuid?.() === 0
const noModes = process.platform === "win32"
const SOMEBODY = 12_345
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

const [home, umask] = [process.cwd(), process.umask()]
afterEach(() => {
  process.chdir(home)
  process.umask(umask)
})

describe.skipIf(noModes)("the files of a store (needs file modes: not on Windows)", () => {
  test.each([0o000, 0o022, 0o077])("are for their owner alone, whatever the umask: %o", async (mask) => {
    process.chdir(dirname(freshPath()))
    process.umask(mask)
    const notices: StoreNotice[] = []
    const store = sqliteStore({ onNotice: (notice) => notices.push(notice) })
    await store.append(lease("r"), 0, records(1, 1), created())
    expect(mode(".superstep")).toBe("700")
    for (const end of ["", "-wal", "-shm"]) expect(mode(`.superstep/superstep.db${end}`), end).toBe("600")
    await store.close()
    expect(mode(".superstep/superstep.db")).toBe("600")
    expect(notices).toEqual([])
  })

  test("are for their owner alone in new folders, and existing folders stay as they are", async () => {
    process.umask(0)
    const folder = dirname(freshPath())
    chmodSync(folder, 0o755)
    await sqliteStore({ path: join(folder, "deep", "down", "runs.db") }).close()
    expect(mode(join(folder, "deep"))).toBe("700")
    expect(mode(join(folder, "deep", "down", "runs.db"))).toBe("600")
    expect(mode(folder)).toBe("755")
  })

  test("that others can read are tightened, with one notice for the folder and one for the file", async () => {
    process.chdir(dirname(freshPath()))
    const first = sqliteStore()
    await first.append(lease("r"), 0, records(1, 1), created())
    chmodSync(".superstep", 0o755)
    for (const end of ["", "-wal", "-shm"]) chmodSync(`.superstep/superstep.db${end}`, 0o644)
    const notices: StoreNotice[] = []
    const store = sqliteStore({ onNotice: (notice) => notices.push(notice) })
    expect(notices.map(({ code }) => code)).toEqual(Array(2).fill("FILE_PERMISSIONS"))
    expect(notices[0]?.message).toMatch(
      /\.superstep was readable by other users: its mode was 0755 and is now 0700\.$/,
    )
    expect(notices[1]?.message).toMatch(/superstep\.db was readable .* 0644 and is now 0600\.$/)
    expect(mode(".superstep")).toBe("700")
    for (const end of ["", "-wal", "-shm"]) expect(mode(`.superstep/superstep.db${end}`), end).toBe("600")
    await sqliteStore({ onNotice: (notice) => notices.push(notice) }).close()
    expect(notices).toHaveLength(2)
    expect(await store.read("r", 0)).toEqual(records(1, 1))
    await store.close()
    await first.close()
  })

  test("may be behind a link of one's own", async () => {
    const path = freshPath()
    symlinkSync(join(dirname(path), "elsewhere.db"), path)
    writeFileSync(join(dirname(path), "elsewhere.db"), "")
    const store = sqliteStore({ path, onNotice: () => undefined })
    await store.append(lease("r"), 0, records(1, 1), created())
    await store.close()
    expect(mode(join(dirname(path), "elsewhere.db"))).toBe("600")
  })

  describe.skipIf(!isRoot)("behind a link of another user (needs root, to make one)", () => {
    test.each(["the folder", "the file", "what the link leads to"])("are refused: %s", (what) => {
      const folder = dirname(freshPath())
      process.chdir(folder)
      const theirs = join(folder, "theirs")
      mkdirSync(theirs)
      if (what === "the file") {
        mkdirSync(".superstep")
        symlinkSync(join(theirs, "x.db"), ".superstep/superstep.db")
        lchownSync(".superstep/superstep.db", SOMEBODY, SOMEBODY)
      } else {
        symlinkSync(theirs, ".superstep")
        lchownSync(what === "the folder" ? ".superstep" : theirs, SOMEBODY, SOMEBODY)
      }
      expect(() => sqliteStore()).toThrow(
        expect.objectContaining({
          code: "STORE_UNUSABLE",
          message: expect.stringMatching(
            /is a symbolic link .* another user \(uid 12345\): remove it, or choose another path\.$/,
          ),
        }),
      )
    })
  })
})
