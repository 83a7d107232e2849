/** `ask --chat`: questions that follow each other. */
import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const CONFIG = `agents:
  triage: {}
  desk: {}
  sql: {}
  reviewer: {}
assistants: [desk]
sql_agent: sql
max_review_passes: 0
search: { databases: [{ type: csv, id: stock, files: [sales.csv] }] }
`
const SALES = "year,lamps\n2023,5\n2024,7\n"
const TRIAGE = "{ json: { intents: [ai_search], confidence: 1, rationale: x } }"
const SCRIPT = `triage: [${TRIAGE}, "How many lamps were sold in the year 2023?", ${TRIAGE}]
sql: ["SELECT lamps FROM sales WHERE year = 2024", "SELECT lamps FROM sales WHERE year = 2023"]
desk: ["Seven [1].", "Five [1]."]
`
const AGAIN = `triage: ["How many lamps were sold in the year 2022?", ${TRIAGE}]
sql: ["SELECT lamps FROM sales WHERE year = 2022"]
desk: ["None."]
`
const files = { "shop.yaml": CONFIG, "sales.csv": SALES, "script.yaml": SCRIPT, "again.yaml": AGAIN }
const FIRST = "How many lamps were sold in the year 2024?"
const model = ["--model", "scripted:script.yaml"]

describe("superstep ask --chat", () => {
  it("answers follow-up questions with their sources, and continues after a restart", async () => {
    const io = testIo({ files, stdin: "and in 2023?\n/exit\nnever\n" })
    const args = ["ask", "shop.yaml", FIRST, "--chat", "--thread", "ada", "--quiet", ...model]
    expect(await superstep(args, io)).toEqual({
      code: 0,
      stdout: `Seven [1].

Sources:
  [1] stock (csv) (1 row)
      SELECT lamps FROM sales WHERE year = 2024
Five [1].

Sources:
  [1] stock (csv) (1 row)
      SELECT lamps FROM sales WHERE year = 2023
`,
      stderr: "",
    })
    const again = testIo({ stdin: "2022?\n" })
    const more = ["ask", "shop.yaml", "--chat", "--thread", "ada", "--model", "scripted:again.yaml", "--json"]
    const { code, stdout } = await superstep(more, { ...io, stdin: again.stdin })
    expect(code).toBe(0)
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(JSON.stringify(events.find(({ type }) => type === "run.started")?.state)).toContain("Five [1].")
    expect(stdout).toContain("How many lamps were sold in the year 2022?")
  })

  it("shows how a follow-up was interpreted", async () => {
    const io = testIo({ files, stdin: `${FIRST}\nand in 2023?\n` })
    const { stderr } = await superstep(["ask", "shop.yaml", "--chat", "--store", "memory:", ...model], io)
    expect(stderr.match(/^Asked as: .*$/gm)).toEqual(["Asked as: How many lamps were sold in the year 2023?"])
  })

  it("appends the follow-up to the previous question without a model", async () => {
    const offline = CONFIG.replaceAll("{}", "{ model: offline }")
    const io = testIo({ files: { ...files, "shop.yaml": offline }, stdin: `${FIRST}\nand in 2023?\n` })
    const { code, stdout } = await superstep(
      ["ask", "shop.yaml", "--chat", "--json", "--store", "memory:"],
      io,
    )
    expect(code).toBe(0)
    expect(stdout).toContain("How many lamps were sold in the year 2023?")
  })

  it.each([
    [["--run-id", "x"], "--run-id works with one question only."],
    [["--strict"], "--strict cannot be used with --chat."],
    [["-"], "already reads questions from stdin"],
  ])("refuses %j", async (words, message) => {
    const { code, stderr } = await superstep(["ask", "shop.yaml", ...words, "--chat", ...model], { files })
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain(message)
  })
})
