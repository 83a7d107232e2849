import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import fc from "fast-check"
import { afterAll, expect, inject, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import type { Workflow } from "../../builder/index.ts"
import { hash32 } from "../../core/retry.ts"
import { LoopLimit, type Played, playPlainly } from "./oracle.test-support.ts"
import { randomFile } from "./random-steps.test-support.ts"
import { tryLoad } from "./steps.test-support.ts"

/** Depends on every letter of the prompt, and is sometimes a word that conditions recognize. */
const say = (prompt: string, name: string) =>
  ["yes", "no", `${name} ${hash32(prompt, 1)}`][hash32(prompt, 2) % 3] ?? ""

const model = pureModel((last, _, name) => say(last.slice("user: ".length), name))

const FILES = inject("isProof") ? 1_000 : 40
const EJECTED = inject("isProof") ? 40 : 12

/** Codes with which a run of valid steps may fail. */
const FAILURES = ["MAX_LOOP_ITERATIONS", "CONDITION_NOT_BOOLEAN", "MAP_NEEDS_LIST", "EXPRESSION_FAILED"]

test("random steps have diagnostics, or run to an end", async () => {
  const seen = { refused: 0, completed: 0, failed: 0 }
  await fc.assert(
    fc.asyncProperty(randomFile, async (text) => {
      const { workflow, diagnostics } = tryLoad(text, { model })
      const problems = diagnostics.filter(({ severity }) => severity === "error")
      expect(workflow === undefined).toBe(problems.length > 0)
      for (const { place } of diagnostics) expect(place).toBeDefined()
      if (workflow === undefined) {
        seen.refused++
        return
      }
      const { status, error, undelivered } = await workflow.run("go").result
      if (status === "failed") expect(FAILURES).toContain(error?.code)
      else expect({ status, undelivered }).toEqual({ status: "completed", undelivered: [] })
      seen[status as "completed" | "failed"]++
    }),
    { numRuns: FILES },
  )
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(FILES / 30)
})

test("random steps have the outputs that the reference implementation computes", async () => {
  const seen = { completed: 0, failed: 0, endless: 0 }
  await fc.assert(
    fc.asyncProperty(randomFile, async (text) => {
      const { workflow } = tryLoad(text, { model })
      if (workflow === undefined) return
      const { status, state } = await workflow.run("go").result
      const plainly = outcomeOf(() => playPlainly(text, "go", say))
      if (plainly === "endless") {
        seen.endless++
        return
      }
      expect(status).toBe(plainly === "failed" ? "failed" : "completed")
      seen[status as "completed" | "failed"]++
      if (plainly === "failed") return
      const records = (state.steps ?? []) as readonly { id: string; output?: string }[]
      const left = new Map(
        records.flatMap(({ id, output }) => (output === undefined ? [] : [[id, output] as const])),
      )
      expect(Object.fromEntries(left)).toEqual(Object.fromEntries(plainly.outputs))
    }),
    { numRuns: FILES },
  )
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(FILES / 30)
})

function outcomeOf(play: () => Played): Played | "failed" | "endless" {
  try {
    return play()
  } catch (error) {
    return error instanceof LoopLimit ? "endless" : "failed"
  }
}

const root = new URL("../../", import.meta.url)
const folder = fileURLToPath(new URL("../../../.build/ejected/", root))
const ENTRIES: Readonly<Record<string, string>> = {
  superstep: "index.ts",
  "superstep/agents": "agents/index.ts",
  "superstep/definitions": "definitions/steps/nodes/index.ts",
  "superstep/tools": "tools/index.ts",
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("ejected code behaves the same", async () => {
  mkdirSync(folder, { recursive: true })
  let compared = 0
  const cases = fc.sample(randomFile, { numRuns: 200, seed: inject("seed") })
  for (const [i, text] of cases.entries()) {
    const { workflow, code } = tryLoad(text)
    if (workflow === undefined || code === undefined) continue
    const file = `${folder}steps-${i}.ts`
    writeFileSync(
      file,
      code.replace(/from "(superstep[^"]*)"/g, (_, entry: string) => {
        return `from ${JSON.stringify(fileURLToPath(new URL(ENTRIES[entry] as string, root)))}`
      }),
    )
    const made = (await import(pathToFileURL(file).href)) as { readonly default: Workflow<string, unknown> }
    const [one, two] = [await workflow.run("go").result, await made.default.run("go").result]
    expect({ ...summaryOf(two) }).toEqual({ ...summaryOf(one) })
    if (++compared === EJECTED) break
  }
  expect(compared).toBe(EJECTED)
})

function summaryOf({
  status,
  error,
  outputs,
  state,
}: Awaited<ReturnType<Workflow<string, unknown>["run"]>["result"]>) {
  const records = ((state.steps ?? []) as readonly object[]).map((record) => JSON.stringify(record)).sort()
  return { status, error: error?.message, outputs, records, input: state.input }
}
