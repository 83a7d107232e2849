import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { fileDatabase } from "./files.ts"
import { cacheFolder, TableCache } from "./table-cache.ts"

interface Place {
  readonly data: string
  readonly cache: string
  readonly tables: string
  write(name: string, content: string | Buffer): string
}

function place(): Place {
  const root = mkdtempSync(join(tmpdir(), "superstep-cache-"))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const data = join(root, "data")
  mkdirSync(data)
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(data, name), content)
    return join(data, name)
  }
  return { data, cache: join(root, "cache"), tables: join(root, "cache", "tables"), write }
}

function open({ data, cache }: Place) {
  const read: string[] = []
  const onProgress = ({ file }: { file?: string | undefined }) => void (file !== undefined && read.push(file))
  const database = fileDatabase({ id: "stock", folder: data, cache, onProgress })
  onTestFinished(() => database.close())
  const rows = async (sql: string) => (await database.query(sql)).rows
  return { database, read, rows }
}

const LAMPS = "colour,pieces\nred,3\nblue,4\n"
const SUM = "SELECT sum(pieces) AS n FROM lamps"

test("files are read once for all processes, and their problems stay known", async () => {
  const at = place()
  at.write("lamps.csv", LAMPS)
  at.write("damaged.parquet", "PAR1 and nothing")
  const first = open(at)
  expect(await first.rows(SUM)).toEqual([[7]])
  expect(first.read).toEqual(["damaged.parquet", "lamps.csv"])
  await first.database.close()
  const second = open(at)
  expect(await second.rows(SUM)).toEqual([[7]])
  expect(second.read).toEqual([])
  expect(await second.database.schema()).toEqual([
    {
      name: "lamps",
      columns: [
        { name: "colour", type: "VARCHAR" },
        { name: "pieces", type: "BIGINT" },
      ],
      description: "From lamps.csv: 2 rows.",
      rowCount: 2,
    },
  ])
  expect(await second.database.report()).toEqual([
    { file: "damaged.parquet", table: "damaged", rows: 0, brokenRows: 0, problem: expect.any(String) },
    { file: "lamps.csv", table: "lamps", rows: 2, brokenRows: 0 },
  ])
})

test("a changed file is read again, even if its size and time are the same (C3)", async () => {
  const at = place()
  const path = at.write("lamps.csv", LAMPS)
  const { atime, mtime } = statSync(path)
  await open(at).database.report()
  at.write("lamps.csv", LAMPS.replace("3", "5"))
  utimesSync(path, atime, mtime)
  const { read, rows } = open(at)
  expect(await rows(SUM)).toEqual([[9]])
  expect(read).toEqual(["lamps.csv"])
})

test("an additional, a missing or a renamed file is another set (C3)", async () => {
  const at = place()
  at.write("lamps.csv", LAMPS)
  expect(await open(at).database.schema()).toHaveLength(1)
  at.write("desks.csv", LAMPS)
  expect(await open(at).database.schema()).toHaveLength(2)
  rmSync(join(at.data, "lamps.csv"))
  expect((await open(at).database.schema()).map(({ name }) => name)).toEqual(["desks"])
})

test("concurrent loads of the same files all answer, and one entry is kept (C1, C2)", async () => {
  const at = place()
  at.write("lamps.csv", LAMPS)
  const all = [open(at), open(at)]
  expect(await Promise.all(all.map(({ rows }) => rows(SUM)))).toEqual([[[7]], [[7]]])
  expect(readdirSync(at.tables)).toEqual([expect.stringMatching(/^tables-[0-9a-f]{32}$/)])
})

test("leftovers of a killed process are removed, and entries of a running one are not (C1)", async () => {
  const at = place()
  at.write("lamps.csv", LAMPS)
  const ended = join(at.tables, "making-2147483646-x")
  const running = join(at.tables, `making-${process.pid}-x`)
  for (const folder of [ended, running]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(at.tables, 0o700)
  await open(at).database.report()
  expect([existsSync(ended), existsSync(running)]).toEqual([false, true])
})

test("an entry that is damaged, or was removed while it was open, is created again", async () => {
  const at = place()
  at.write("lamps.csv", LAMPS)
  const first = open(at)
  await first.database.schema()
  const [name = ""] = readdirSync(at.tables)
  writeFileSync(join(at.tables, name, "tables.duckdb"), "not a database")
  expect(await open(at).rows(SUM)).toEqual([[7]])
  rmSync(join(at.tables, name), { recursive: true })
  expect(await first.rows(SUM)).toEqual([[7]])
  expect(first.read).toEqual(["lamps.csv", "lamps.csv"])
})

test("beyond its size, the least recently used entries are removed first, and none of the last hour (C4)", async () => {
  const { tables } = place()
  const cache = (await TableCache.open(tables, 250)) as TableCache
  const make = async (name: string, ageInHours: number) => {
    const making = await cache.make()
    writeFileSync(making.database, "x".repeat(100))
    await making.keep(name, { reports: [], tables: [] })
    const then = new Date(Date.now() - ageInHours * 3_600_000)
    utimesSync(join(tables, name), then, then)
  }
  await make("tables-a", 9)
  await make("tables-b", 5)
  await make("tables-c", 7)
  await make("tables-d", 0)
  expect(readdirSync(tables).sort()).toEqual(["tables-b", "tables-d"])
  await make("tables-e", 0)
  await make("tables-f", 0)
  expect(readdirSync(tables).sort()).toEqual(["tables-d", "tables-e", "tables-f"])
})

test("using an entry makes it recent (C4)", async () => {
  const { tables } = place()
  const cache = (await TableCache.open(tables)) as TableCache
  const making = await cache.make()
  writeFileSync(making.database, "x")
  await making.keep("tables-a", { reports: [], tables: [] })
  utimesSync(join(tables, "tables-a"), 0, 0)
  expect(await cache.find("tables-a")).toMatchObject({ reports: [] })
  expect(statSync(join(tables, "tables-a")).mtimeMs).toBeGreaterThan(0)
})

test.skipIf(process.platform === "win32")(
  "only its owner can read it, and a folder that others may write to is not used (C5; needs POSIX modes)",
  async () => {
    const at = place()
    at.write("lamps.csv", LAMPS)
    await open(at).database.report()
    expect(statSync(at.tables).mode & 0o777).toBe(0o700)
    const [name = ""] = readdirSync(at.tables)
    expect(statSync(join(at.tables, name)).mode & 0o777).toBe(0o700)
    chmodSync(at.tables, 0o777)
    const { database, read } = open(at)
    expect(await database.report()).toMatchObject([{ rows: 2 }])
    expect(read).toEqual(["lamps.csv"])
  },
)

test("an unusable cache does not prevent files from being read", async () => {
  const at = place()
  at.write("lamps.csv", LAMPS)
  writeFileSync(at.cache, "a file")
  expect(await open(at).database.report()).toMatchObject([{ rows: 2 }])
})

test("the cache folder comes from the environment, else from the system", () => {
  expect(cacheFolder({ SUPERSTEP_CACHE: "/c", XDG_CACHE_HOME: "/x", HOME: "/h" }, "linux")).toBe("/c")
  expect(cacheFolder({ XDG_CACHE_HOME: "/x", HOME: "/h" }, "linux")).toBe(join("/x", "superstep"))
  expect(cacheFolder({ HOME: "/h" }, "linux")).toBe(join("/h", ".cache", "superstep"))
  expect(cacheFolder({ HOME: "/h" }, "darwin")).toBe(join("/h", "Library", "Caches", "superstep"))
  expect(cacheFolder({ LOCALAPPDATA: "/l" }, "win32")).toBe(join("/l", "superstep", "Cache"))
  expect(cacheFolder({}, "linux")).toBeUndefined()
})
