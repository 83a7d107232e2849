import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { moduleFile } from "../modules/index.test-support.ts"
import { type Ended, superstep, type TestIo, type TestIoOptions, testIo } from "../test-io.test-support.ts"

const flow = (name: string, text: string) =>
  `name: ${name}\nworkflow: [{ id: ask, type: human, prompt: "${text}" }]\n`

interface Serving {
  readonly io: TestIo
  readonly url: string
  stop(): Promise<Ended>
}

async function serve(argv: readonly string[], options: TestIoOptions | TestIo = {}): Promise<Serving> {
  const io = "written" in options ? options : testIo(options)
  const before = io.written.stdout.split('"type":"listening"').length
  const ended = superstep([...argv, "--port", "0", "--json"], io)
  await Promise.race([io.seen('"type":"listening"', before), ended])
  const url = [...io.written.stdout.matchAll(/"url":"([^"]+)"/g)][before - 1]?.[1]
  if (url === undefined) throw new Error(io.written.stderr)
  return {
    io,
    url,
    stop: () => {
      io.interrupt()
      return ended
    },
  }
}

function start(url: string, workflow: string, input: unknown, headers: Record<string, string> = {}) {
  return fetch(`${url}/v1/workflows/${workflow}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ input }),
  })
}

describe("superstep serve", () => {
  test("serves a module, logs its requests, and stops at SIGTERM", async () => {
    const { url, stop } = await serve(["serve", moduleFile("greet")])
    expect(await (await start(url, "greet", "Ada")).json()).toMatchObject({ status: "completed" })
    const { code, stdout } = await stop()
    expect(code).toBe(0)
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.find(({ type }) => type === "request")).toMatchObject({
      method: "POST",
      route: "/v1/workflows/:workflow/runs",
      status: 200,
      principal: "owner",
    })
    expect(lines.at(-1)).toMatchObject({ type: "stopped" })
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  test("prints its address, its workflows and where the API is described", async () => {
    const io = testIo({ files: { "a.yaml": flow("a", "Why?"), "package.json": "{}", "x.config.json": "3" } })
    const ended = superstep(["serve", "--port", "0"], io)
    await Promise.race([io.seen("/docs"), ended])
    io.interrupt()
    const { stderr } = await ended
    expect(stderr).toMatch(
      /Ready: a on sqlite:.*, 100 at a time\.\nListening on (http:\/\/127\.0\.0\.1:\d+)\n {2}POST \1\/v1\/workflows\/a\/runs\n {2}API: \1\/docs\n {2}Anyone who can reach .*: superstep keys create NAME\n/,
    )
  })

  test("counts the runs that wait when it stops, instead of listing them", async () => {
    const io = testIo({ files: { "a.yaml": flow("a", "Why?") } })
    const ended = superstep(["serve", "--port", "0"], io)
    await Promise.race([io.seen("/docs"), ended])
    const url = /Listening on (\S+)/.exec(io.written.stderr)?.[1] as string
    for (const input of ["x", "y"])
      expect(await (await start(url, "a", input)).json()).toMatchObject({ status: "waiting" })
    io.interrupt()
    const { stderr } = await ended
    expect(stderr).toMatch(/Stopping: .*\nStopped\. 2 runs are unfinished, in the store\.\n$/)
  })

  test("also executes queued runs", async () => {
    const io = testIo()
    const id = (await superstep(["enqueue", moduleFile("greet"), "Ada"], io)).stdout.trim()
    const { url, stop } = await serve(["serve", moduleFile("greet")], io)
    const events = await (await fetch(`${url}/v1/runs/${id}/events`)).text()
    expect(events).toContain('"status":"completed"')
    await stop()
  })

  test("claims no run if its port is in use", async () => {
    const io = testIo()
    const id = (await superstep(["enqueue", moduleFile("greet"), "Ada"], io)).stdout.trim()
    const other = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => other.once("listening", resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const { code, stderr } = await superstep(["serve", moduleFile("greet"), "--port", String(port)], io)
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Port ${port} is in use.`)])
    const { stdout } = await superstep(["runs", "list", "--json"], io)
    expect(JSON.parse(stdout)).toMatchObject({ runId: id, status: "queued" })
  })

  test("ends open streams with a request to connect again, so that stopping does not wait for them", async () => {
    const { url, stop } = await serve(["serve", "."], { files: { "a.yaml": flow("a", "Why?") } })
    const stream = await start(url, "a", "x", { accept: "text/event-stream" })
    expect(stream.status).toBe(200)
    const text = stream.text()
    expect((await stop()).code).toBe(0)
    expect(await text).toContain('event: end\ndata: {"reason":"reconnect"}')
  })

  test("is not reachable from other machines unless that is allowed", async () => {
    const io = testIo()
    const { code, stderr } = await superstep(["serve", moduleFile("greet"), "--host", "0.0.0.0"], io)
    expect(code).toBe(2)
    expect(stderr).toContain("without authentication")
    const { url, stop } = await serve(["serve", moduleFile("greet"), "--host", "0.0.0.0", "--insecure"], io)
    expect(url).toContain("0.0.0.0")
    await stop()
  })

  test.each([
    ["--public-url", "example.com", "Write an address such as http"],
    ["--allow-private", "intranet", "Write an address or a network"],
    ["--allow-private", "10.0.0.0/33", "Write an address or a network"],
  ])("refuses %s %s before it starts, and says what to write", async (flag, value, advice) => {
    const { code, stderr } = await superstep(["serve", moduleFile("greet"), "--port", "0", flag, value])
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([2, expect.stringContaining(advice)])
    expect(stderr).toContain(flag)
  })

  test("needs a key from the moment that the store has one, and never stops to", async () => {
    const io = testIo({ files: { "a.yaml": flow("a", "Why?") } })
    const { url, stop } = await serve(["serve", "a.yaml"], io)
    const stream = await start(url, "a", "x", { accept: "text/event-stream" })
    const created = await superstep(["keys", "create", "ci", "--quiet"], io)
    const key = created.stdout.split("\n").find((line) => line.startsWith("ss_"))
    const authorization = `Bearer ${key}`
    expect((await start(url, "a", "x")).status).toBe(401)
    expect((await start(url, "a", "x", { authorization })).status).toBe(200)
    expect(await stream.text()).toContain('{"reason":"reconnect"}')
    await superstep(["keys", "revoke", `${key?.split("_")[1]}`], io)
    expect((await start(url, "a", "x", { authorization })).status).toBe(401)
    expect((await start(url, "a", "x")).status).toBe(401)
    expect((await stop()).code).toBe(0)
    const again = await serve(["serve", "a.yaml", "--host", "0.0.0.0"], io)
    expect((await start(again.url, "a", "x")).status).toBe(401)
    await again.stop()
  })

  test("--auth keys answers nobody until there is a key", async () => {
    const { url, stop } = await serve(["serve", moduleFile("greet"), "--auth", "keys", "--host", "0.0.0.0"])
    expect((await start(url, "greet", "Ada")).status).toBe(401)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    await stop()
  })

  test("reports a port that is in use", async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const { code, stderr } = await superstep(["serve", moduleFile("greet"), "--port", `${port}`])
    expect(code).toBe(2)
    expect(stderr).toContain(`Port ${port} is in use.`)
  })
})

const send = async (url: string, path: string, body?: object, method = body ? "POST" : "GET") => {
  const headers = { "content-type": "application/json" }
  const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
  const response = await fetch(`${url}/v1${path}`, { method, ...sent })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test("superstep dev writes a published definition to its file, and serves it; superstep serve does not", async () => {
  const { io, url, stop } = await serve(["dev"], { files: { "a.yaml": flow("a", "First?") } })
  expect((await send(url, "/definitions/a")).body).toMatchObject({ source: "file", readOnly: false })
  const text = flow("a", "Second?")
  expect((await send(url, "/definitions/a/versions", { text })).status).toBe(201)
  expect((await send(url, "/definitions/a/publish", {})).status).toBe(200)
  expect(readFileSync(join(io.cwd, "a.yaml"), "utf8")).toBe(text)
  await io.seen('"type":"reloaded"')
  expect(JSON.stringify(await (await start(url, "a", "x")).json())).toContain("Second?")
  await stop()
  const other = await serve(["serve"], io)
  expect((await send(other.url, "/definitions/a/versions", { text })).body).toMatchObject({
    code: "DEFINITION_READ_ONLY",
  })
  await other.stop()
})

test("definitions that are sent may use what --allow names", async () => {
  const text =
    "name: b\nagents: { a: { model: offline, toolsets: [{ type: shell }] } }\nworkflow: [{ type: agent, name: a }]\n"
  const validate = async (...flags: string[]) => {
    const { url, stop } = await serve(["serve", moduleFile("greet"), ...flags])
    const { body } = await send(url, "/definitions/validate", { text })
    await stop()
    return body.valid
  }
  expect(await validate()).toBe(false)
  expect(await validate("--allow", "consent", "--allow", "program")).toBe(true)
})

test("superstep serve offers the document index of the folder, and those of --index", async () => {
  const io = testIo({ files: { "storks.md": "Storks nest on roofs.", "owls.md": "Owls hunt at night." } })
  await superstep(["index", "add", "storks.md"], io)
  await superstep(["index", "add", "owls.md", "--file", "birds.db"], io)
  const { url, stop } = await serve(["serve", moduleFile("greet"), "--index", "birds.db"], io)
  expect((await send(url, "/indexes")).body).toMatchObject({
    indexes: [
      { name: "birds", documents: 1 },
      { name: "index", documents: 1 },
    ],
  })
  const added = { documents: [{ source: "new.md", text: "Kites soar over hills." }] }
  expect((await send(url, "/indexes/birds/documents", added)).body).toMatchObject({ added: 1 })
  const { body } = await send(url, "/indexes/birds/search", { query: "kites" })
  expect(body).toMatchObject({
    found: [{ text: expect.stringContaining("Kites"), score: expect.any(Number) }],
  })
  const removed = await send(url, "/indexes/birds/documents?source=new.md", undefined, "DELETE")
  expect(removed.body).toEqual({ removed: 1 })
  await stop()
})

test("superstep dev serves a changed definition, and keeps the old one if it is invalid", async () => {
  const { io, url, stop } = await serve(["dev"], { files: { "a.yaml": flow("a", "First?") } })
  const question = async () => JSON.stringify(await (await start(url, "a", "x")).json())
  expect(await question()).toContain("First?")
  writeFileSync(join(io.cwd, "a.yaml"), "workflow: 3\n")
  await io.seen("Not reloaded")
  expect(await question()).toContain("First?")
  writeFileSync(join(io.cwd, "a.yaml"), flow("a", "Second?"))
  await io.seen('"type":"reloaded"')
  expect(await question()).toContain("Second?")
  expect((await stop()).code).toBe(0)
})

test("superstep dev serves a file that is added to its folder, and no longer one that is deleted", async () => {
  const { io, url, stop } = await serve(["dev"], { files: { "a.yaml": flow("a", "First?") } })
  writeFileSync(join(io.cwd, "b.yaml"), flow("b", "New?"))
  await io.seen('"workflows":["a","b"]')
  expect(JSON.stringify(await (await start(url, "b", "x")).json())).toContain("New?")
  rmSync(join(io.cwd, "a.yaml"))
  await io.seen('"workflows":["b"]')
  expect((await start(url, "a", "x")).status).toBe(404)
  expect((await stop()).code).toBe(0)
})

test("superstep dev shows where a changed definition is wrong, and what was meant", async () => {
  const io = testIo({ files: { "a.yaml": flow("a", "First?") } })
  const ended = superstep(["dev", "--port", "0"], io)
  await io.seen("Listening on")
  writeFileSync(join(io.cwd, "a.yaml"), flow("a", "First?").replace("human", "humann"))
  await io.seen("1 error")
  io.interrupt()
  expect((await ended).stderr).toMatch(
    /Not reloaded: a\.yaml:2:29: error UNKNOWN_TYPE.*did you mean `human`\?/s,
  )
})

test("every definition that cannot be served is reported, not only the first", async () => {
  const files = { "a.yaml": flow("a", "x").replace("human", "humann"), "b.yaml": "name: [b\n" }
  const { code, stderr } = await superstep(["serve", "--port", "0"], testIo({ files }))
  expect(code).toBe(2)
  expect(stderr).toMatch(/a\.yaml:2:\d+: error.*b\.yaml:1:\d+: error/s)
})
