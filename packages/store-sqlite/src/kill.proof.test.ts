/** Processes that share a file, and processes that die: nothing that was acknowledged is lost. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import { bundled } from "../../../tests/bundled.ts"
import { sqliteStore } from "./open-store.ts"
import { freshPath } from "./stores.test-support.ts"

const FILES = 3
const KILLS = inject("isProof") ? 7 : 3
const program = fileURLToPath(new URL("./appends.test-support.ts", import.meta.url))

/** Lets the program append until so many appends are acknowledged, and kills it; the last acknowledged record. */
async function killAfter(path: string, appends: number, runId = "r"): Promise<number> {
  const child = spawn(process.execPath, [bundled(program), path, runId], {
    stdio: ["ignore", "pipe", "pipe"],
  })
  let complaint = ""
  child.stderr.setEncoding("utf8").on("data", (text) => {
    complaint += text
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.on("close", (_, signal) => resolve(signal)),
  )
  let [lines, last] = [0, 0]
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line)
    lines += 1
    if (lines === appends) child.kill("SIGKILL")
  }
  expect(await ended, complaint).toBe("SIGKILL")
  return last
}

test(`${FILES * KILLS} processes killed at any point leave files that hold all they acknowledged`, {
  timeout: 120_000,
}, async () => {
  const seed = inject("seed")
  const points = fc.sample(fc.integer({ min: 1, max: 60 }), { seed, numRuns: FILES * KILLS })
  await Promise.all(
    Array.from({ length: FILES }, async (_, file) => {
      const path = freshPath()
      for (const appends of points.slice(file * KILLS, (file + 1) * KILLS)) {
        const acknowledged = await killAfter(path, appends)
        const store = sqliteStore({ path })
        const records = await store.read("r", 0)
        const where = `SEED=${seed}, killed after ${appends} appends`
        expect(records.length, where).toBeGreaterThanOrEqual(acknowledged)
        expect(
          records.every(({ entry }, i) => "key" in entry && entry.key === `k${i + 1}`),
          where,
        ).toBe(true)
        await store.close()
      }
    }),
  )
  // biome-ignore lint/suspicious/noConsole: proofs print what they did.
  console.log(`SEED=${seed}: ${FILES * KILLS} kills, nothing that was acknowledged is lost`)
})

test("processes that make a file at once, and write to it at once, all get through", {
  timeout: 120_000,
}, async () => {
  const path = freshPath()
  const runIds = ["a", "b", "c", "d"]
  const acknowledged = await Promise.all(runIds.map((runId) => killAfter(path, 50, runId)))
  const store = sqliteStore({ path })
  for (const [i, runId] of runIds.entries()) {
    expect((await store.read(runId, 0)).length).toBeGreaterThanOrEqual(acknowledged[i] as number)
  }
  await store.close()
})
