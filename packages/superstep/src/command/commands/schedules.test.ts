import { describe, expect, test } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

const FILE = `name: report
schedules:
  - { id: daily, cron: "0 9 * * 1-5", timeZone: Europe/Berlin, input: hello, labels: { team: a } }
  - { id: often, every: 90m, overlap: allow, jitter: 5s, catchUp: all }
workflow: [{ id: say, type: agent, name: writer, prompt: "{{ $input }}" }]
agents: { writer: { model: offline } }
`

/** A store that a worker has stored the schedules of the file in. */
async function deployed(): Promise<TestIo> {
  const io = testIo({ files: { "report.yaml": FILE } })
  await during(io, async () => undefined)
  return io
}

let workers = 0

/** Does something while a worker works. What it prints tells it from those before. */
async function during(io: TestIo, work: () => Promise<void>): Promise<void> {
  const concurrency = String(++workers)
  const working = superstep(["worker", "report.yaml", "--concurrency", concurrency], io)
  await io.seen(`all queues, ${concurrency} at a time.`)
  await work()
  io.interrupt()
  await working
}

describe("superstep schedules", () => {
  test("lists, shows and previews what a worker has stored", async () => {
    const io = await deployed()
    const { stdout } = await superstep(["schedules"], io)
    expect(stdout.split("\n")[0]).toMatch(/^ID +WHEN +STATUS +NEXT +LAST$/)
    expect(stdout).toMatch(/report\/daily +0 9 \* \* 1-5 Europe\/Berlin +active +in \d+[hdms] +-/)
    expect(stdout).toMatch(/report\/often +every 90m +active/)
    const show = await superstep(["schedules", "show", "report/often"], io)
    expect(show.stdout).toContain("  when      every 90m\n")
    expect(show.stdout).toContain("  catch-up  all, at most 100\n")
    expect(show.stdout).toContain("  jitter    up to 5s\n")
    const data = await superstep(["schedules", "show", "report/daily", "--json"], io)
    expect(JSON.parse(data.stdout)).toMatchObject({
      id: "report/daily",
      input: "hello",
      isDeclared: true,
      labels: { team: "a" },
    })
    const preview = await superstep(["schedules", "preview", "report/daily", "--count", "3"], io)
    expect(preview.stdout.trim().split("\n")).toHaveLength(3)
    expect(preview.stdout).toMatch(/^(\d{4}-\d\d-\d\d 0[78]:00:00Z\n){3}$/)
    expect((await superstep(["schedules", "list", "--workflow", "none"], io)).stderr).toContain(
      "No schedule matches.",
    )
  })

  test("pauses, resumes and deletes", async () => {
    const io = await deployed()
    expect((await superstep(["schedules", "pause", "report/daily"], io)).stderr).toContain(
      "Paused report/daily.",
    )
    expect((await superstep(["schedules", "list"], io)).stdout).toMatch(/report\/daily .* paused +-/)
    // A worker that starts again leaves it paused.
    await during(io, async () => undefined)
    expect((await superstep(["schedules", "list"], io)).stdout).toMatch(/report\/daily .* paused +-/)
    const resumed = await superstep(["schedules", "resume", "report/daily"], io)
    expect(resumed.stderr).toMatch(/Resumed report\/daily\. Next: \d{4}-.*Z\./)
    expect((await superstep(["schedules", "delete", "report/daily", "--yes"], io)).stderr).toContain(
      "Deleted",
    )
    expect((await superstep(["schedules", "list"], io)).stdout).not.toContain("report/daily")
  })

  test("asks for runs, which a worker creates and executes; they can be opened again", async () => {
    const io = await deployed()
    const runId = (await superstep(["schedules", "trigger", "report/daily"], io)).stdout.trim()
    const [from, to] = ["2026-01-05T00:00:00Z", "2026-01-07T00:00:00Z"]
    const filled = await superstep(["schedules", "backfill", "report/daily", "--from", from, "--to", to], io)
    expect(filled.stderr).toContain("2 times of report/daily: a worker creates the runs.")
    expect((await superstep(["schedules", "show", "report/daily"], io)).stdout).toContain(
      "3 runs for a worker to create",
    )
    await during(io, async () => {
      await io.seen(`✓ report ${runId.slice(-8)} completed`)
    })
    const runs = await superstep(["runs", "list", "--json"], io)
    const labels = runs.stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { labels: Record<string, string> }).labels)
    expect(labels).toHaveLength(3)
    expect(labels[0]).toMatchObject({ schedule: "report/daily", team: "a" })
    expect(labels.map(({ scheduledAt }) => scheduledAt)).toContain("2026-01-05T08:00:00.000Z")
    expect(Object.keys(labels[0] ?? {}).length).toBeGreaterThan(3)
    expect((await superstep(["schedules", "show", "report/daily"], io)).stdout).toMatch(/last +started run/)
  })

  test.each([
    [["pause", "none"], 'The store has no schedule "none".'],
    [["backfill", "report/daily", "--from", "soon", "--to", "2026-01-01"], "Write a time ago or a date"],
    [
      ["backfill", "report/daily", "--from", "2026-01-02", "--to", "2026-01-01"],
      "a backfill goes from an earlier time to a later one that is past",
    ],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await superstep(["schedules", ...args], await deployed())
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain(message)
  })

  test("of an empty store are none", async () => {
    const { code, stderr } = await superstep(["schedules"], testIo())
    expect(code).toBe(0)
    expect(stderr).toContain("There are no schedules.")
  })
})
