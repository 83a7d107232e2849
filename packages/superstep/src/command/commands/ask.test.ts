import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const CONFIG = `agents:
  triage: {}
  desk: {}
  expert: {}
  reviewer: {}
reporter_ids: \${ASSISTANTS:-desk}
`
const SCRIPT = `triage: ["not JSON"]
desk: ["seven lamps"]
expert: ["seven, and a half"]
reviewer: [{ json: { decision: accept }, repeat: true }]
`
const files = { "shop.yaml": CONFIG, "script.yaml": SCRIPT }
const asking = [
  "ask",
  "shop.yaml",
  "how many lamps?",
  "--model",
  "scripted:script.yaml",
  "--store",
  "memory:",
]

describe("superstep ask", () => {
  it("prints the answer on stdout", async () => {
    const { code, stdout, stderr } = await superstep(asking, { files })
    expect({ code, stdout }).toEqual({ code: 0, stdout: "seven lamps\n" })
    expect(stderr).toContain("✓ triage")
  })

  it("prints the sources with their queries below the answer, and the searches", async () => {
    const config = `${CONFIG}sql_agent: expert
search: { databases: [{ type: csv, id: stock, files: [lamps.csv] }] }
`
    const script = `triage: [{ json: { intents: [chat], confidence: 1, rationale: x, preferred_agent: csv } }]
expert: ["SELECT n FROM lamps WHERE kind = 'desk'"]
desk: ["Seven [1], or eight [4]."]
reviewer: [{ json: { decision: accept } }]
`
    const data = { "lamps.csv": "kind,n\ndesk,7\nwall,9\n" }
    const io = { files: { ...files, ...data, "shop.yaml": config, "script.yaml": script } }
    const { stdout, stderr } = await superstep([...asking, "--quiet"], io)
    expect(stdout).toBe(
      "Seven [1], or eight.\n\nSources:\n  [1] stock (csv) (1 row)\n      SELECT n FROM lamps WHERE kind = 'desk'\n",
    )
    expect(stderr).toBe("")
    const events = (await superstep([...asking, "--json"], io)).stdout.trim().split("\n")
    const written = events.map((line) => JSON.parse(line)).filter(({ type }) => type === "state.written")
    expect(written.find(({ key }) => key === "sources").value).toMatchObject([
      { number: 1, kind: "database", query: "SELECT n FROM lamps WHERE kind = 'desk'", rows: [[7]] },
    ])
  })

  it("reports on stderr that an answer has no source", async () => {
    const { stdout, stderr } = await superstep([...asking, "--quiet"], { files })
    expect(stdout).toBe("seven lamps\n")
    expect(stderr).toContain("The answer cites no source")
  })

  it("fills in variables", async () => {
    const config = CONFIG.replace("reporter_ids", "multiRouteAlways: true\nreporter_ids")
    const args = [...asking, "--set", "ASSISTANTS=desk,expert"]
    const { stdout } = await superstep(args, { files: { ...files, "shop.yaml": config } })
    expect(stdout).toBe(
      "### AssistantAgent=desk\nseven lamps\n\n---\n\n### AssistantAgent=expert\nseven, and a half\n",
    )
  })

  it.each(["ask", "exec"])(
    "%s reports a database that is down, and exits with 1 under --strict",
    async (name) => {
      const down = `${CONFIG}sql_agent: expert
search: { databases: [{ type: postgresql, id: shop, url: "postgresql://reader@127.0.0.1:1/shop" }] }
`
      const io = { files: { ...files, "shop.yaml": down } }
      const [, ...args] = asking
      const { code, stdout, stderr } = await superstep([name, ...args], io)
      expect(code).toBe(0)
      if (name === "ask") expect(stdout).toMatch(/^Incomplete: shop: The database shop .*ECONNREFUSED/)
      else expect(stderr).toMatch(/^incomplete: shop: The database shop /m)
      // Once, although the ranking and the search both use it.
      if (name === "ask") expect(stdout.match(/^Incomplete: .*/gm)).toHaveLength(1)
      expect((await superstep([name, ...args, "--strict"], io)).code).toBe(1)
    },
  )

  it("prints all problems of the configuration, and exits with 2", async () => {
    const config = CONFIG.replace("reporter_ids", "max_review_pases: 1\nreviewer: reviwer\nreporters")
    const { code, stderr } = await superstep(asking, { files: { ...files, "shop.yaml": config } })
    expect(code).toBe(2)
    expect(stderr).toContain("shop.yaml:6:1")
    expect(stderr).toContain("max_review_passes")
    expect(stderr).toContain("assistants")
  })

  it("calls no model without a goal, or with an empty one", async () => {
    const GRAPH =
      '{"nodes":[{"id":"s","type":"start"},{"id":"w","type":"agent","agent_id":"desk"}],"edges":[{"from_node":"s","to_node":"w"}]}'
    const withGraph = {
      ...files,
      "shop.yaml": `${CONFIG}graph_definition: graph.json`,
      "graph.json": GRAPH,
    }
    for (const [goal, stdin] of [[[]], [[""]], [[" "]], [["-"], " \n"]] as const) {
      const args = ["ask", "shop.yaml", ...goal, ...asking.slice(3)]
      const { code, stdout, stderr } = await superstep(args, { files: withGraph, stdin })
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr.replace(/\s+/g, " ")).toContain(
        'Write a question: superstep ask CONFIG "…", or - to read it from stdin.',
      )
    }
    const { stdout } = await superstep(asking, { files: withGraph })
    expect(stdout).toBe("seven lamps\n")
  })

  it("reads the goal from stdin, and a configuration with any file name", async () => {
    const args = ["ask", "./shop.yaml", "-", ...asking.slice(3)]
    const { code, stdout } = await superstep(args, { files, stdin: "how many lamps?\n" })
    expect({ code, stdout }).toEqual({ code: 0, stdout: "seven lamps\n" })
  })

  it("never prints the value of a variable", async () => {
    const config = `${CONFIG}search: { databases: ["\${SHOP_DB}"] }\n`
    const env = { SHOP_DB: "postgresql://reader:s3cret@localhost/shop" }
    const { code, stdout, stderr } = await superstep(asking, {
      files: { ...files, "shop.yaml": config },
      env,
    })
    expect(code).toBe(2)
    expect(stdout + stderr).not.toContain("reader")
    expect(stderr).toContain("{SHOP_DB}")
  })

  it("reports a missing file", async () => {
    const { code, stderr } = await superstep(["ask", "no.yaml", "x"])
    expect(code).toBe(2)
    expect(stderr).toContain("Cannot read no.yaml: there is no such file.")
  })

  it("works without a key if the file names the offline model", async () => {
    const { code, stdout, stderr } = await superstep(["ask", "shop.yaml", "how many lamps?"], {
      files: { ...files, "shop.yaml": CONFIG.replaceAll("{}", "{ model: offline }") },
    })
    expect(code).toBe(0)
    expect(stdout).not.toBe("")
    expect(stderr).toContain("offline")
  })

  it("its configuration is checked by validate, with its graph", async () => {
    expect(await superstep(["validate", "shop.yaml"], { files })).toEqual({
      code: 0,
      stdout: "✓ shop.yaml  goal pipeline, 4 agents\n",
      stderr: "",
    })
    const broken = {
      ...files,
      "shop.yaml": `${CONFIG}graph_definition: graph.json`,
      "graph.json": "{ nodes }",
    }
    const { code, stderr } = await superstep(["validate", "shop.yaml"], { files: broken })
    expect(code).toBe(2)
    expect(stderr).toContain("graph.json:1:")
  })

  it("finds the file of a stored run again", async () => {
    const io = testIo({ files })
    const failing = SCRIPT.replace('["seven lamps"]', "[{ error: { code: 400, message: no } }]")
    writeFileSync(join(io.cwd, "script.yaml"), failing)
    const args = [...asking.slice(0, 5), "--run-id", "lamps"]
    const failed = await superstep(args, io)
    expect(failed.code).toBe(1)
    expect(failed.stderr.replace(/\s+/g, " ")).toContain(
      "Please check your model access and agent configuration.",
    )
    // The failed call was made, so a script continues after it.
    const answers = SCRIPT.replace('["seven lamps"]', '["no", "seven lamps"]')
    writeFileSync(join(io.cwd, "script.yaml"), answers)
    const again = await superstep(["runs", "retry", "lamps"], io)
    expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: "seven lamps\n" })
  })
})
