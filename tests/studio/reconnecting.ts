/** Pages whose server is killed and started again. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createClient } from "@superstep/client"
import type { Page } from "playwright-core"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../bundled.ts"
import { folder, open } from "./harness.ts"

test("a page continues by itself after its server was killed and started again", async () => {
  const server = await startServer()
  const page = await open(`${server.url}/studio/`)
  await page.getByRole("link", { name: "Open workflows" }).click()
  await page.getByRole("link", { name: "question", exact: true }).click()
  await page.getByLabel("Input").fill("tea")
  await page.getByRole("button", { name: "Start", exact: true }).click()
  await page.getByText("Waits for a person").waitFor()
  await server.kill()
  await notice(page).waitFor()
  await server.restart()
  await notice(page).waitFor({ state: "detached" })
  await page.getByRole("button", { name: "yes" }).click()
  await page.getByText("tea: yes").first().waitFor()
})

test.each([
  ["its row and its graph", /\/v1\/runs\/\w+(\/graph)?$/],
  ["its events", /\/v1\/runs\/\w+\/view/],
])("a page whose server dies before %s arrived keeps the rest, and completes itself", async (_, part) => {
  const server = await startServer()
  const run = await createClient({ url: server.url }).start("question", "tea", { runId: "tea" })
  await run.result()
  const page = await open(`${server.url}/studio/`)
  let killed = () => {}
  const death = new Promise<void>((done) => {
    killed = done
  })
  const failed = new Map<string, number>()
  await page.route(part, async (route) => {
    const address = route.request().url()
    await death
    failed.set(address, (failed.get(address) ?? 0) + 1)
    await route.abort()
  })
  await page.getByRole("link", { name: "Runs", exact: true }).click()
  await page.getByRole("link", { name: "tea", exact: true }).click()
  const waits = page.locator("header").getByText("waiting").first()
  await waits.waitFor()
  await server.kill()
  killed()
  await notice(page).waitFor()
  // The client sends a request five times: now it has given up.
  await expect.poll(() => Math.min(...failed.values())).toBeGreaterThanOrEqual(5)
  await waits.waitFor()
  await page.unroute(part)
  await server.restart()
  await notice(page).waitFor({ state: "detached" })
  await page.getByRole("button", { name: /^ask, node: waiting/ }).waitFor({ state: "attached" })
  await page.getByRole("button", { name: "yes" }).click()
  await page.getByText("tea: yes").first().waitFor()
})

test("a screen that the server could not deliver opens when the server is back", async () => {
  const server = await startServer()
  const page = await open(`${server.url}/studio/`)
  await page.getByRole("link", { name: "Open workflows" }).waitFor()
  await server.kill()
  await notice(page).waitFor()
  await page.getByRole("link", { name: "Schedules", exact: true }).click()
  await page.getByText("This screen could not be shown").waitFor()
  await page.getByText("It opens by itself when the server is back.", { exact: false }).waitFor()
  await server.restart()
  await page.getByText("No schedules yet").waitFor()
})

function notice(page: Page) {
  return page.getByText("The server does not answer.", { exact: false })
}

interface Server {
  readonly url: string
  kill(): Promise<void>
  /** Starts another one on the same store and port. */
  restart(): Promise<void>
}

async function startServer(): Promise<Server> {
  const cwd = mkdtempSync(join(tmpdir(), "studio-"))
  let child = await startChild(cwd, 0)
  onTestFinished(async () => {
    await child.kill()
    rmSync(cwd, { recursive: true, force: true })
  })
  return {
    url: child.url,
    kill: () => child.kill(),
    async restart() {
      child = await startChild(cwd, child.port)
    },
  }
}

interface Child {
  readonly url: string
  readonly port: number
  kill(): Promise<void>
}

async function startChild(cwd: string, port: number): Promise<Child> {
  const child = spawn(
    process.execPath,
    [bundled(join(import.meta.dirname, "child.ts")), folder, join(cwd, "runs.db"), String(port)],
    { stdio: ["pipe", "pipe", "inherit"] },
  )
  const ended = new Promise<void>((done) => child.once("exit", () => done()))
  const url = await new Promise<string>((done, fail) => {
    child.stdout.once("data", (data: Buffer) => done(String(data).trim()))
    child.once("exit", () => fail(new Error("The server ended.")))
  })
  return {
    url,
    port: Number(new URL(url).port),
    async kill() {
      child.kill("SIGKILL")
      await ended
    },
  }
}
