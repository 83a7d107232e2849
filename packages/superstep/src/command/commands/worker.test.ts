import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { Runtime } from "@superstep/engine"
import { resolveModel } from "@superstep/engine/models"
import { createServer } from "@superstep/server"
import { sqliteStore } from "@superstep/store-sqlite"
import { describe, expect, test } from "vitest"
import { moduleFile } from "../modules/index.test-support.ts"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

const Database = createRequire(import.meta.resolve("@superstep/store-sqlite"))("libsql")
const greet = moduleFile("greet")
const flow = (name: string, text: string) =>
  `name: ${name}\nworkflow: [{ id: say, type: agent, name: writer, prompt: "${text}" }]\nagents: { writer: { model: offline } }\n`

async function statusOf(io: TestIo, runId: string): Promise<string | undefined> {
  const store = sqliteStore({ path: join(io.cwd, ".superstep/superstep.db") })
  const run = await store.run(runId)
  await store.close()
  return run?.status
}

describe("superstep enqueue", () => {
  test("queues a run, prints its id, and shows it as queued", async () => {
    const io = testIo()
    const { code, stdout } = await superstep(["enqueue", greet, "Ada", "--key", "k", "--tenant", "acme"], io)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/)
    expect((await superstep(["enqueue", greet, "Ada", "--key", "k"], io)).stdout).toBe(stdout)
    const list = await superstep(["runs", "list", "--status", "queued"], io)
    expect(list.stdout).toContain("queued")
    const show = await superstep(["runs", "show", stdout.trim()], io)
    expect(show.stdout).toContain("Queued (queue default, tenant acme): a worker executes it.")
  })

  test("reads the input of a definition as JSON on request", async () => {
    const text = `flow: { tenant: $input.tenant }\nworkflow: [{ id: ask, type: human, prompt: "?" }]\n`
    const io = testIo({ files: { "flow.yaml": text } })
    const bad = await superstep(["enqueue", "flow.yaml", "{", "--data"], io)
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("The input is not JSON") })
    const { stdout } = await superstep(["enqueue", "flow.yaml", '{"tenant":"acme"}', "--data", "--json"], io)
    const { runId } = JSON.parse(stdout) as { runId: string }
    expect((await superstep(["runs", "show", runId], io)).stdout).toContain("tenant acme")
  })

  test.each([
    [["--priority", "many"], "Write a number from -1000 to 1000."],
    [["--start-at", "soon"], "Write a date and time"],
    [["--delay", "1m", "--start-at", "2030-01-01"], "delay and startAt exclude each other"],
  ])("refuses %j", async (flags, message) => {
    const { code, stderr } = await superstep(["enqueue", greet, "Ada", ...flags])
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain(message)
  })
})

describe("superstep worker", () => {
  test("executes queued runs of a folder, and stops at SIGTERM", async () => {
    const io = testIo({ files: { "a.yaml": flow("a", "Say a."), "b.yaml": flow("b", "Say b.") } })
    const ids: string[] = []
    for (const file of ["a.yaml", "b.yaml"]) {
      ids.push((await superstep(["enqueue", file, "go"], io)).stdout.trim())
    }
    const working = superstep(["worker", ".", "--grace", "5s"], io)
    await io.seen("Ready: a, b on sqlite:.superstep/superstep.db, all queues, 10 at a time.")
    await io.seen("✓ a")
    await io.seen("✓ b")
    io.interrupt()
    const { code, stderr } = await working
    expect(code).toBe(0)
    expect(stderr).toContain("Stopping: runs have 5 s to finish.")
    for (const id of ids) expect(await statusOf(io, id)).toBe("completed")
  })

  test("executes the definitions that a server has published, if it is asked to", async () => {
    const io = testIo()
    const store = sqliteStore({ path: join(io.cwd, ".superstep/superstep.db") })
    const runtime = new Runtime({ store, workflows: [] })
    const server = createServer({ runtime, workflows: [] })
    const send = async (method: string, path: string, body: unknown) =>
      (await (
        await server.fetch(
          new Request(`http://localhost/v1${path}`, {
            method,
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
        )
      ).json()) as { status?: string; published?: number }
    const text = "name: hello\nworkflow: [{ id: who, type: human, prompt: Who? }]\n"
    await send("POST", "/definitions/hello/versions", { text })
    expect(await send("POST", "/definitions/hello/publish", {})).toMatchObject({ published: 1 })
    const waiting = await send("POST", "/workflows/hello/runs", { input: "x", runId: "hello-1" })
    expect(waiting.status).toBe("waiting")
    server.drain()
    await runtime.close()
    await store.close()

    const bare = await superstep(["worker"], io)
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("--published")])
    const working = superstep(["worker", "--published"], io)
    await io.seen("Ready: the definitions of the store on ")
    expect((await superstep(["respond", "hello-1", "r1", "Ada"], io)).code).toBe(0)
    await io.seen("✓ hello")
    io.interrupt()
    expect((await working).code).toBe(0)
    expect(await statusOf(io, "hello-1")).toBe("completed")
  })

  test("serves only its queues, prints JSON lines, and answers health checks", async () => {
    const io = testIo()
    const other = (await superstep(["enqueue", greet, "Bob", "--queue", "other"], io)).stdout.trim()
    const mail = (await superstep(["enqueue", greet, "Ada", "--queue", "mail"], io)).stdout.trim()
    const working = superstep(["worker", greet, "--queues", "mail", "--json", "--health", "0"], io)
    await io.seen('"type":"health"')
    const port = /"port":(\d+)/.exec(io.written.stdout)?.[1]
    for (const [path, status] of [
      ["healthz", 200],
      ["readyz", 200],
      ["nothing", 404],
    ] as const) {
      expect((await fetch(`http://127.0.0.1:${port}/${path}`)).status).toBe(status)
    }
    await io.seen('"type":"run.ended"')
    io.interrupt()
    const { stdout } = await working
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; runId?: string; status?: string })
    expect(lines.filter(({ type }) => type === "run.ended")).toMatchObject([
      { runId: mail, status: "completed" },
    ])
    expect(await statusOf(io, other)).toBe("queued")
  })

  test("reports a run that fails once, and continues", async () => {
    const io = testIo()
    await superstep(["enqueue", moduleFile("odd"), '{"fail":"It broke."}'], io)
    await superstep(["enqueue", moduleFile("odd"), '{"give":"x"}'], io)
    const working = superstep(["worker", moduleFile("odd")], io)
    await io.seen("completed")
    await io.seen("failed: It broke.")
    io.interrupt()
    const { code, stderr } = await working
    expect(code).toBe(0)
    expect(stderr.split("It broke.")).toHaveLength(2)
  })

  test("lets a run finish within the grace period, and releases one that does not", async () => {
    const io = testIo()
    const id = (await superstep(["enqueue", moduleFile("slow"), "x"], io)).stdout.trim()
    const working = superstep(["worker", moduleFile("slow"), "--verbose", "--grace", "50ms"], io)
    await io.seen("starts")
    io.interrupt()
    expect((await working).code).toBe(0)
    expect(await statusOf(io, id)).toBe("running")
  })

  test("stops with a failure when a newer version upgrades the store", async () => {
    const io = testIo()
    const working = superstep(["worker", moduleFile("slow")], io)
    await io.seen("Ready: ")
    const database = new Database(join(io.cwd, ".superstep/superstep.db"))
    database.exec("UPDATE meta SET version = version + 1")
    database.close()
    const { code, stderr } = await working
    expect(code).toBe(1)
    expect(stderr).toMatch(/by a newer Superstep while this process.*had it open\. Restart this process/s)
    // The models that it overrides for its modules are what they were.
    const { provider } = await resolveModel("anthropic/claude", { env: { ANTHROPIC_API_KEY: "x" } })
    expect(provider).toContain("anthropic")
  })

  test("reloads a definition when its file changes, and keeps the old one if it is invalid", async () => {
    const io = testIo({ files: { "a.yaml": flow("a", "Say one.") } })
    const working = superstep(["worker", "a.yaml", "--watch"], io)
    await io.seen("Ready: a")
    writeFileSync(join(io.cwd, "a.yaml"), "workflow: 3\n")
    await io.seen("Not reloaded:")
    writeFileSync(join(io.cwd, "a.yaml"), flow("a", "Say two."))
    await io.seen("Reloaded: a")
    io.interrupt()
    expect((await working).code).toBe(0)
  })

  test("leaves out files of a folder that are no definitions, unless they are named or there are no others", async () => {
    const compose = "services:\n  db:\n    image: postgres\n"
    const io = testIo({ files: { "a.yaml": flow("a", "Say one."), "compose.yaml": compose } })
    const working = superstep(["worker", "."], io)
    await io.seen("Skipped compose.yaml: it is not a definition.")
    await io.seen("Ready: a ")
    io.interrupt()
    expect((await working).code).toBe(0)
    const named = await superstep(["worker", ".", "compose.yaml"], io)
    expect(named.code).toBe(2)
    expect(named.stderr).toContain("DIALECT_UNKNOWN")
    const alone = await superstep(["worker", "."], testIo({ files: { "compose.yaml": compose } }))
    expect(alone.code).toBe(2)
    expect(alone.stderr).toContain("No definition: compose.yaml.")
  })

  test("refuses two workflows with the same name, and a folder without any", async () => {
    const io = testIo({ files: { "a.yaml": flow("same", "a"), "b.yaml": flow("same", "b") } })
    const { code, stderr } = await superstep(["worker", "a.yaml", "b.yaml"], io)
    expect(code).toBe(2)
    expect(stderr).toContain('a.yaml and b.yaml both define "same".')
    expect((await superstep(["worker", ".superstep"], io)).stderr).toContain("has no definitions or modules")
  })
})
