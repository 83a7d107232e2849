import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../../../tests/bundled.ts"
import { ChildProgram } from "./child-program.ts"

const SOURCE = new URL("./child-program-echo.test-support.ts", import.meta.url)
const ECHO = pathToFileURL(bundled(fileURLToPath(SOURCE)))
const PATIENT = { timeout: 60_000 }

function program(settings = {}) {
  const child = new ChildProgram<object, unknown>(ECHO, settings)
  onTestFinished(() => child.close())
  return child
}

test("requests are answered one after the other by one process, without our secrets (P1)", async () => {
  process.env.SUPERSTEP_TEST_SECRET = "secret"
  onTestFinished(() => {
    delete process.env.SUPERSTEP_TEST_SECRET
  })
  const child = program({ greeting: "hello" })
  const answers = await Promise.all(["a", "b"].map((say) => child.ask({ say }, PATIENT)))
  expect(answers).toEqual([
    { echo: "a", nth: 1, greeting: "hello" },
    { echo: "b", nth: 2, greeting: "hello" },
  ])
})

test("a late request kills the process, and the next gets a new one (P2, P3)", async () => {
  const child = program()
  await expect(child.ask({ do: "hang" }, { timeout: 50 })).rejects.toMatchObject({ why: "late" })
  expect(await child.ask({ say: "a" }, PATIENT)).toMatchObject({ nth: 1 })
})

test("an aborted request kills the process, and the next gets a new one (P2, P3)", async () => {
  const child = program()
  expect(await child.ask({ say: "a" }, PATIENT)).toMatchObject({ nth: 1 })
  const stop = new AbortController()
  const asked = child.ask({ do: "hang" }, { ...PATIENT, signal: stop.signal })
  setImmediate(() => stop.abort(new Error("enough")))
  await expect(asked).rejects.toThrow("enough")
  expect(await child.ask({ say: "b" }, PATIENT)).toMatchObject({ nth: 1 })
})

test("a waiting request ends as soon as it is aborted (P1)", async () => {
  const child = program()
  const first = child.ask({ do: "hang" }, PATIENT)
  const stop = new AbortController()
  const waiting = child.ask({ say: "a" }, { ...PATIENT, signal: stop.signal })
  stop.abort(new Error("enough"))
  await expect(waiting).rejects.toThrow("enough")
  child.close()
  await expect(first).rejects.toMatchObject({ why: "closed" })
})

test("a process that cannot be started reports why, and does not crash ours", async () => {
  const { execPath } = process
  onTestFinished(() => {
    process.execPath = execPath
  })
  const child = program()
  process.execPath = "/no/such/program"
  await expect(child.ask({ say: "a" }, PATIENT)).rejects.toMatchObject({ why: "died", exit: "ENOENT" })
  process.execPath = execPath
  expect(await child.ask({ say: "a" }, PATIENT)).toMatchObject({ echo: "a" })
})

test("a process that dies reports how, and is replaced (P3)", async () => {
  const child = program()
  await expect(child.ask({ do: "die" }, PATIENT)).rejects.toMatchObject({ why: "died", exit: 7 })
  expect(await child.ask({ say: "a" }, PATIENT)).toMatchObject({ nth: 1 })
})

test("a process that cannot initialize reports why, each time", async () => {
  const child = program({ broken: true })
  expect(await child.ask({ say: "a" }, PATIENT)).toEqual({ error: "broken" })
  expect(await child.ask({ say: "a" }, PATIENT)).toEqual({ error: "broken" })
})

test("nothing is answered after it is closed", async () => {
  const child = program()
  const asked = child.ask({ do: "hang" }, PATIENT)
  setImmediate(() => child.close())
  await expect(asked).rejects.toMatchObject({ why: "closed" })
  await expect(child.ask({ say: "a" }, PATIENT)).rejects.toMatchObject({ why: "closed" })
})

test("an idle process does not keep ours alive (P4)", () => {
  const script = `
    import { ChildProgram } from ${JSON.stringify(new URL("./child-program.ts", import.meta.url).href)}
    const child = new ChildProgram(new URL(${JSON.stringify(SOURCE.href)}), {})
    console.log((await child.ask({ say: "done" }, { timeout: 120000 })).echo)`
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--conditions=@superstep/source", "--import", tsx, "--input-type=module", "--eval", script],
    { encoding: "utf8", timeout: 150_000, cwd: fileURLToPath(new URL(".", import.meta.url)) },
  )
  expect({ status, stdout }).toEqual({ status: 0, stdout: "done\n" })
})
