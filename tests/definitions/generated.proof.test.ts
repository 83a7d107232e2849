/**
 * Thousands of unlikely definitions: real ones, changed at random places. Each either loads and runs to an
 * end, or is refused with diagnostics whose places lie in the text; nothing else is ever thrown.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Loaded, loadDefinition } from "@superstep/engine/definitions"
import { offlineModel } from "@superstep/engine/models"
import fc from "fast-check"
import { expect, inject, test } from "vitest"
import { parse, stringify } from "yaml"

const folder = join(import.meta.dirname, "../../examples/definitions")
const seeds = readdirSync(folder)
  .filter((file) => /\.(ya?ml|json)$/.test(file))
  .map((file) => ({ file: join(folder, file), text: readFileSync(join(folder, file), "utf8") }))

type Data = null | boolean | number | string | Data[] | { [key: string]: Data }

const words = fc.constantFrom(
  ...[
    "gen",
    "agent",
    "parallel",
    "condition",
    "goto",
    "END",
    "ALWAYS",
    "loop",
    "",
    "0",
    "{{ $steps.gen.output }}",
  ],
  ...[
    "{{",
    "$input",
    "$steps.x.outputs[0]",
    "latest",
    "not in",
    "__proto__",
    "constructor",
    "a/b",
    "offline",
  ],
)
const value: fc.Arbitrary<Data> = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 2, arbitrary: fc.constantFrom<Data>(null, true, false, -1, 0, 3, 1e9, 0.5, [], {}) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Data> },
)
const change = fc.record({
  at: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 }),
  kind: fc.constantFrom("replace", "remove", "rename", "repeat", "swap", "copy"),
  value,
  name: fc.oneof(words, fc.string({ maxLength: 8 })),
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** The container and key that a walk of numbers leads to. */
function spot(
  data: Data,
  at: readonly number[],
): { box: Data[] | { [key: string]: Data }; key: string } | undefined {
  let box: Data = data
  let found: { box: Data[] | { [key: string]: Data }; key: string } | undefined
  for (const step of at) {
    if (typeof box !== "object" || box === null) break
    const keys = Object.keys(box)
    if (keys.length === 0) break
    const key = keys[step % keys.length] as string
    found = { box: box as Data[], key }
    box = (box as { [key: string]: Data })[key] as Data
  }
  return found
}

function changed(data: Data, { at, kind, value: other, name }: Change): void {
  const found = spot(data, at)
  if (found === undefined) return
  const { box, key } = found
  if (Array.isArray(box)) {
    const i = Number(key)
    if (kind === "remove") box.splice(i, 1)
    else if (kind === "repeat") box.splice(i, 0, structuredClone(box[i] as Data))
    else if (kind === "swap") box.reverse()
    else box[i] = other
    return
  }
  if (kind === "remove") delete box[key]
  else if (kind === "rename" || kind === "copy") {
    const kept = box[key] as Data
    if (kind === "rename") delete box[key]
    Object.defineProperty(box, name, { value: kept, enumerable: true, configurable: true, writable: true })
  } else box[key] = other
}

const definition = fc
  .record({
    seed: fc.constantFrom(...seeds),
    changes: fc.array(change, { minLength: 0, maxLength: 3 }),
    cut: fc.option(fc.nat(2_000), { freq: 20 }),
    lenient: fc.boolean(),
  })
  .map(({ seed, changes, cut, lenient }) => {
    const data = parse(seed.text) as Data
    for (const one of changes) changed(data, one)
    const text = seed.file.endsWith(".json") ? JSON.stringify(data, undefined, 2) : stringify(data)
    return { file: seed.file, text: cut === null ? text : text.slice(0, cut), lenient }
  })

const model = offlineModel()

function checkPlaces({ diagnostics, sources }: Loaded): void {
  for (const { message, code, place } of diagnostics) {
    expect(message).not.toBe("")
    expect(code).toMatch(/^[A-Z0-9_]+$/)
    if (place === undefined) continue
    const lines = sources.get(place.file)?.split("\n") ?? []
    expect(place.line).toBeLessThanOrEqual(Math.max(1, lines.length))
    expect(place.column).toBeGreaterThanOrEqual(1)
  }
}

const DEFINITIONS = inject("isProof") ? 5_000 : 400

test(`each of ${DEFINITIONS} definitions runs to an end, or is refused with diagnostics`, async () => {
  let ran = 0
  let refused = 0
  const property = fc.asyncProperty(definition, async ({ file, text, lenient }) => {
    const loaded = loadDefinition({ file, text }, { lenient, model: () => model, env: {}, variables: {} })
    checkPlaces(loaded)
    const { definition: made, diagnostics } = loaded
    expect(made === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"))
    if (made === undefined) {
      refused++
      return
    }
    const { status, error } = await made.workflow.run("Storks and frogs: which came first?", {
      limits: { supersteps: 40, visits: 5 },
      timeout: 20_000,
      budget: { modelCalls: 12 },
    }).result
    ran++
    expect(["completed", "failed", "limit", "waiting"]).toContain(status)
    if (status === "failed") expect(error?.message).not.toMatch(/undefined|\[object Object\]|TypeError/)
  })
  await fc.assert(property, { numRuns: DEFINITIONS })
  // Most changes are mistakes; a good part must still be good, or nothing but refusals is tested.
  expect(ran).toBeGreaterThan(DEFINITIONS / 20)
  expect(refused).toBeGreaterThan(DEFINITIONS / 20)
}, 600_000)
