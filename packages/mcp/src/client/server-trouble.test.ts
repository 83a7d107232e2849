/** Calls to a server process that dies, hangs, floods or sends invalid messages. */
import { manualClock } from "@superstep/engine/testing"
import { readArgs } from "@superstep/engine/tools"
import { expect, test } from "vitest"
import { everything, logged, opened, program, toolNamed, use, value } from "./tool-use.test-support.ts"

/** For a clock that is advanced while real processes take time. */
const patient = { timeout: 1e12, connectTimeout: 1e12 }

test("K1 a call in progress when the server dies is a result for the model, with the server's stderr", async () => {
  const toolset = opened(everything)
  const [crash, hang] = [await toolNamed(toolset, "crash"), await toolNamed(toolset, "hang")]
  const task = logged()
  const hanging = use(hang, {}, task)
  await task.until("hanging")
  const [crashed, hung] = await Promise.all([use(crash), hanging])
  expect(crashed).toMatchObject({ ok: false, error: { code: "MCP_DISCONNECTED" } })
  expect(crashed).toMatchObject({ error: { message: expect.stringContaining("out of cheese") } })
  expect(hung).toMatchObject({ ok: false, error: { code: "MCP_DISCONNECTED" } })
})

test("S2 a server that died is restarted, each time after a longer wait", async () => {
  const clock = manualClock()
  const toolset = opened(everything, { clock, reconnect: { delay: 100 } })
  const tools = { crash: await toolNamed(toolset, "crash"), pid: await toolNamed(toolset, "pid") }
  const first = await value(tools.pid)
  await use(tools.crash)
  let isBack = false
  const second = value(tools.pid).finally(() => {
    isBack = true
  })
  await clock.advance(99)
  expect(isBack).toBe(false)
  await clock.advance(1)
  expect(await second).not.toBe(first)

  // Dead without an answer in between: the wait doubles.
  await use(tools.crash)
  const crashed = use(tools.crash)
  await clock.advance(100)
  expect(await crashed).toMatchObject({ ok: false })
  const third = value(tools.pid)
  await clock.advance(199)
  expect(clock.pending).toBe(2) // The wait, and the call's own time.
  await clock.advance(1)
  expect(await third).not.toBe(await second)
})

test("S3 a missing program is reported at once, with advice", async () => {
  const toolset = opened({ name: "lost", command: "/no/such/program", env: { API_KEY: "hunter2-hunter2" } })
  await expect(toolset.tools(logged().ctx)).rejects.toMatchObject({
    code: "MCP_COMMAND_MISSING",
    retryable: false,
    message: expect.stringContaining("Install it"),
  })
})

test("a program that exits before the handshake is retried, then reported with its stderr", async () => {
  const clock = manualClock()
  const script = 'process.stderr.write("no licence hunter2-hunter2"); process.exit(1)'
  const env = { API_KEY: "hunter2-hunter2" }
  const address = { name: "rude", command: process.execPath, args: ["-e", script], env }
  const task = logged()
  const toolset = opened(address, {
    ...patient,
    clock,
    optional: true,
    reconnect: { attempts: 2, delay: 10 },
  })
  const tools = toolset.tools(task.ctx)
  let isDone = false
  Promise.resolve(tools).then(() => {
    isDone = true
  })
  // Real processes take real time to die: the clock advances until both have.
  while (!isDone) await clock.advance(10)
  expect(await tools).toEqual([])
  expect(task.lines).toEqual([expect.stringContaining("no licence [secret]")])
})

test("a slow call times out; the server is notified, and continues to serve", async () => {
  const clock = manualClock()
  const toolset = opened(everything, { clock, timeout: 5_000 })
  const task = logged()
  const hanging = use(await toolNamed(toolset, "hang"), {}, task)
  await task.until("hanging")
  await clock.advance(5_000)
  const outcome = await hanging
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_TIMEOUT" } })
  expect(outcome).toMatchObject({ error: { message: expect.stringContaining("within 5000 ms") } })
  expect(await value(await toolNamed(toolset, "cancelled"))).toBe("hang")
  expect(clock.pending).toBe(0)
})

test("K2 a task that is stopped cancels its call at the server", async () => {
  const toolset = opened(everything)
  const task = logged()
  const stop = new AbortController()
  const hanging = use(await toolNamed(toolset, "hang"), {}, { ctx: task.ctx, signal: stop.signal })
  await task.until("hanging")
  stop.abort(new Error("enough"))
  await expect(hanging).rejects.toThrow("enough")
  expect(await value(await toolNamed(toolset, "cancelled"))).toBe("hang")
})

test("S1 a task that stops waiting for the server does not stop the others", async () => {
  const toolset = opened(everything)
  const stop = new AbortController()
  const leaving = Promise.resolve(toolset.tools(logged(stop.signal).ctx))
  const staying = toolNamed(toolset, "pid")
  stop.abort(new Error("enough"))
  await expect(leaving).rejects.toThrow("enough")
  expect(await value(await staying)).toMatch(/^\d+$/)
})

test("a large result is cut for the model, with a note", async () => {
  const outcome = await use(await toolNamed(opened(everything), "big"), { size: 300_000 })
  expect(outcome).toMatchObject({ ok: true, cut: { shown: 100_000, of: 300_000 } })
})

test("a message past the limit ends the connection, not the process; the next call has a new one", async () => {
  const clock = manualClock()
  const toolset = opened(everything, { clock, maxMessage: 100_000, reconnect: { delay: 10 } })
  const outcome = await use(await toolNamed(toolset, "big"), { size: 300_000 })
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_MESSAGE_TOO_LARGE", retryable: false } })
  const tools = toolNamed(toolset, "echo")
  await clock.advance(10)
  expect(await value(await tools, { text: "again" })).toBe("again")
})

test("lines that are not messages are ignored", async () => {
  expect(await value(await toolNamed(opened(everything), "noise"))).toBe("still here")
})

test("an answer in broken JSON is ignored: the call times out", async () => {
  const clock = manualClock()
  const toolset = opened(everything, { clock, timeout: 5_000 })
  const task = logged()
  const garbled = use(await toolNamed(toolset, "garble"), {}, task)
  await task.until("garbled")
  await clock.advance(5_000)
  expect(await garbled).toMatchObject({ ok: false, error: { code: "MCP_TIMEOUT" } })
})

test.each([
  ["its own", { connectTimeout: 1_000, timeout: 60_000 }],
  ["the call's", { connectTimeout: 60_000, timeout: 1_000 }],
])("a program that is not an MCP server times out after %s time", async (_, times) => {
  const clock = manualClock()
  const address = { name: "mute", command: process.execPath, args: ["-e", "process.stdin.resume()"] }
  const toolset = opened(address, { ...times, clock, reconnect: { attempts: 1 } })
  const refused = expect(toolset.tools(logged().ctx)).rejects.toMatchObject({
    code: "MCP_UNREACHABLE",
    message: expect.stringContaining("not ready within 1000 ms"),
  })
  await clock.advance(1_000)
  await refused
})

test("tools that violate the protocol are skipped, the others stay; every page is read", async () => {
  const task = logged()
  const tools = await opened({ name: "odd", ...program("./odd-program.test-support.ts") }).tools(task.ctx)
  expect(tools.map(({ name }) => name)).toEqual(["first", "uncheckable", "slow", "behind", "second"])
  expect(task.lines.join("\n")).toMatch(/"broken" violates the protocol.*\n.*"first" is listed twice/)
  const [, uncheckable, , , second] = tools
  expect(uncheckable && (await value(uncheckable, { anything: 1 }))).toEqual({ anything: 1 })
  expect(second?.description).toHaveLength(10_000)
})

test("T3 a pattern of the server is matched in linear time", async () => {
  const toolset = opened({ name: "odd", ...program("./odd-program.test-support.ts") })
  const slow = await toolNamed(toolset, "slow")
  // Each letter doubles the time that a backtracking engine takes.
  const letters = "a".repeat(50_000)
  expect(await readArgs(slow, JSON.stringify({ text: `${letters}!` }))).toMatchObject({ ok: false })
  expect(await value(slow, { text: letters })).toEqual({ text: letters })
  expect(await readArgs(slow, '{"text":1}')).toMatchObject({ ok: false })
  expect(await readArgs(slow, '{"patternProperties":"x"}')).toMatchObject({ ok: false })
  expect(slow.parameters).toMatchObject({ properties: { text: { pattern: "^(a+)+$" } } })
})

test("T3 a pattern that cannot be matched in linear time is left to the server, with a warning", async () => {
  const task = logged()
  const toolset = opened({ name: "odd", ...program("./odd-program.test-support.ts") })
  const behind = await toolNamed(toolset, "behind")
  expect(await use(behind, { text: "no" }, task)).toMatchObject({ ok: true, value: { text: "no" } })
  expect(await readArgs(behind, '{"text":1}')).toMatchObject({ ok: false })
  expect(task.lines.join("\n")).toMatch(/"behind".*without a check of patterns/)
})

test("K3 a secret does not leak its last letters where a server's text is cut", async () => {
  const key = "hunter2-hunter2"
  const script = `process.stderr.write(process.env.API_KEY + "x".repeat(1995)); process.exit(1)`
  const address = { name: "rude", command: process.execPath, args: ["-e", script], env: { API_KEY: key } }
  const toolset = opened(address, { reconnect: { attempts: 1 } })
  const failure = await toolNamed(toolset, "any").catch((error: Error) => error.message)
  expect(failure).toContain("xxx")
  expect(failure).not.toContain("ter2")
})

test("closing ends the process and pending calls; the next use starts another", async () => {
  const toolset = opened(everything)
  const pid = Number(await value(await toolNamed(toolset, "pid")))
  const task = logged()
  const hanging = use(await toolNamed(toolset, "hang"), {}, task)
  await task.until("hanging")
  await toolset.close()
  expect(await hanging).toMatchObject({ ok: false, error: { code: "MCP_DISCONNECTED" } })
  expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  expect(Number(await value(await toolNamed(toolset, "pid")))).not.toBe(pid)
})
