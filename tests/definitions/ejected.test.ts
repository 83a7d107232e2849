/** Every example definition, and some odd ones, ejected: its imports are there, it type-checks, and it runs as the definition does. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, extname, join, resolve } from "node:path"
import { type Definition, functionsFrom, loadDefinition } from "@superstep/engine/definitions"
import { documentsIn } from "@superstep/retrieval"
import type { Workflow } from "superstep"
import { afterAll, beforeAll, expect, test } from "vitest"
import { agentFunctions } from "../../packages/engine/src/definitions/agents/index.ts"
import { graphFunctions } from "../../packages/engine/src/definitions/graph/index.ts"
import { stepsFunctions } from "../../packages/engine/src/definitions/steps/index.ts"
import { typeProblems } from "../type-problems.test-support.ts"
import { ODD } from "./odd-definitions.test-support.ts"

const root = resolve(import.meta.dirname, "../..")
const examples = join(root, "examples", "definitions")
const folder = join(root, ".build", "ejected-examples")

interface Ejected {
  readonly name: string
  readonly definition: Definition
  readonly file: string
  readonly code: string
}

const files = readdirSync(examples).filter((file) => /\.(ya?ml|json)$/.test(file))

const ejected: Ejected[] = [...files, ...ODD.keys()].flatMap((file) => {
  const { definition } = loadDefinition(join(examples, file), {
    functions: functionsFrom("@superstep/retrieval", { documentsIn }),
    read: (path) => ODD.get(basename(path)) ?? readFileSync(path, "utf8"),
  })
  if (definition === undefined) return []
  const name = basename(file, extname(file))
  return [{ name, definition, file: join(folder, `${name}.ts`), code: definition.eject() }]
})

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of ejected) writeFileSync(file, code)
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  for (const { definition } of ejected) await definition.close()
})

test("all examples but the one that shows what is refused can be ejected", () => {
  const refused = files.filter((file) => file.includes("as-given"))
  expect(refused).toHaveLength(1)
  expect(ejected).toHaveLength(files.length + ODD.size - refused.length)
})

test("every function that a plan can call is exported where ejected code imports it from", async () => {
  const functions = { ...agentFunctions, ...stepsFunctions, ...graphFunctions }
  const missing: string[] = []
  for (const [name, { from, make }] of Object.entries(functions)) {
    const entry = (await import(/* @vite-ignore */ from)) as Record<string, unknown>
    if (entry[name] !== make) missing.push(`${name} of ${from}`)
  }
  expect(missing).toEqual([])
})

test("ejected code type-checks", { timeout: 300_000 }, () => {
  expect(typeProblems(ejected.map(({ file }) => file))).toEqual([])
})

test.each(ejected)("$name fits its lines", ({ code }) => {
  // Texts are as wide as they are written.
  const wide = code.split("\n").filter((line) => line.length > 100 && !/["`]/.test(line))
  expect(wide).toEqual([])
})

test.each(ejected)("$name ejected runs as the definition does", async ({ file, definition }) => {
  const made = (await import(/* @vite-ignore */ file)) as { readonly default: Workflow<string, unknown> }
  expect(await played(made.default)).toEqual(await played(definition.workflow))
})

/** What can be seen of a run from outside. A person who is asked says the first thing that fits. */
async function played(workflow: Workflow<string, unknown>) {
  const run = workflow.stream("Storks and frogs: which came first?")
  const path: string[] = []
  const asked: string[] = []
  for await (const event of run) {
    if (event.type === "task.started") path.push(event.node)
    if (event.type !== "request.opened") continue
    const { id, prompt } = event.request
    asked.push(prompt)
    await run.respond(id, "publish")
  }
  const { status, outputs, error } = await run.result
  return { name: workflow.name, path: path.sort(), asked, status, outputs, error: error?.message }
}
