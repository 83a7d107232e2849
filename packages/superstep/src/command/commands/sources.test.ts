import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { makeSqlite } from "../../../../retrieval/src/sql/sqlite-file.test-support.ts"
import { superstep, testIo } from "../test-io.test-support.ts"

function shop() {
  const io = testIo()
  const write = (path: string, content: string) => writeFileSync(join(io.cwd, path), content)
  for (const folder of ["data", "docs"]) mkdirSync(join(io.cwd, folder))
  write("data/lamps.csv", "colour,pieces\nred,3\nblue,4\n")
  write("docs/returns.md", "# Returns\n\nLamps can be returned within 30 days.\n")
  makeSqlite(join(io.cwd, "shop.db"), "CREATE TABLE orders (id, lamp); INSERT INTO orders VALUES (1, 'red')")
  return { io, write }
}

const agents = "agents: { triage: {}, desk: {}, reviewer: {} }\nassistants: [desk]\n"

it("shows the contents of each source, with its tables", async () => {
  const { io } = shop()
  const args = ["sources", "check", "--csv", "data", "--docs", "docs", "--db", "shop.db"]
  expect(await superstep(args, io)).toEqual({
    code: 0,
    stderr: "",
    stdout: `ok    data  csv, 1 table, 2 rows, from 1 file
      lamps  2 rows: colour, pieces
ok    shop  sqlite, 1 table, 1 row
      orders  1 row: id, lamp
ok    docs  documents, 1 document, 1 passage: Returns
`,
  })
})

it("reports unreadable files by name, a missing index and unreachable databases, and exits with 1", async () => {
  const { io, write } = shop()
  write("data/empty.csv", "")
  write("data/damaged.parquet", "PAR1 and nothing")
  write("data/rows.csv", "id,name\n1,a\n2,b,c,d\n3,d\n4,e\n")
  write("text.db", "only text, and no database at all")
  write("docs/not.pdf", "no PDF")
  write(
    "goal.yaml",
    `${agents}search:
  databases:
    - { type: csv, id: stock, folder: data }
    - { type: sqlite, id: crm, file: text.db }
    - { type: sqlite, id: gone, file: gone.db }
    - { type: postgresql, id: sales, url: "postgresql://reader:s3cret@127.0.0.1:1/sales" }
  vector: { index: docs.db }
`,
  )
  const { code, stdout } = await superstep(["sources", "check", "goal.yaml"], io)
  expect(code).toBe(1)
  expect(stdout).not.toContain("s3cret")
  const lines = stdout.replace(/\n {8,}/g, " ").split("\n")
  expect(lines).toContain("      ✗ empty.csv: it is empty")
  expect(lines).toContain("      ✗ rows.csv: 1 broken row skipped")
  expect(lines.find((line) => line.includes("damaged.parquet"))).toMatch(
    /✗ damaged\.parquet: .*Parquet|parquet/,
  )
  expect(lines.find((line) => line.includes("text.db"))).toContain("cannot be read: file is not a database.")
  expect(lines.find((line) => line.includes("gone.db"))).toContain("no such file.")
  expect(stdout.replace(/\s+/g, " ")).toContain("The database sales at 127.0.0.1:1/sales is unreachable")
  expect(stdout.replace(/\s+/g, " ")).toContain("There is no index")
  const bad = await superstep(["sources", "check", "--docs", "docs", "--json"], io)
  expect(bad.code).toBe(1)
  expect(JSON.parse(bad.stdout)).toMatchObject({
    type: "documents",
    state: "fail",
    problems: [{ what: "docs/not.pdf" }],
  })
})

it("prints a line of JSON for each source", async () => {
  const { io, write } = shop()
  write("data/empty.csv", "")
  const { code, stdout, stderr } = await superstep(["sources", "check", "--csv", "data", "--json"], io)
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
  expect(JSON.parse(stdout)).toEqual({
    source: "data",
    type: "csv",
    state: "fail",
    holds: "1 table, 2 rows, from 2 files",
    tables: [{ name: "lamps", rows: 2, columns: ["colour", "pieces"] }],
    problems: [{ what: "empty.csv", reason: "it is empty" }],
  })
})

it.each([
  [[], "Name a goal file, or sources"],
  [["goal.yaml", "--csv", "data"], "Name a goal file, or sources"],
  [["goal.yaml"], "goal.yaml names no sources under `search`."],
  [["goal.yaml", "--untrusted"], "Sources of an untrusted file are not opened."],
  [["no.yaml"], "Cannot read no.yaml"],
])("%j is refused", async (words, message) => {
  const { io, write } = shop()
  write("goal.yaml", agents)
  const { code, stdout, stderr } = await superstep(["sources", "check", ...words], io)
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  expect(stderr.replace(/\s+/g, " ")).toContain(message)
})
