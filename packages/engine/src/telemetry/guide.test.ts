import { readFile } from "node:fs/promises"
import { context, trace } from "@opentelemetry/api"
import { afterAll, expect, it, vi } from "vitest"
import { setTelemetry } from "../index.ts"

const guide = readFile(new URL("../../../../docs/telemetry.md", import.meta.url), "utf8")

afterAll(() => {
  setTelemetry(undefined)
  trace.disable()
  context.disable()
})

it("the guide's program is the one that is compiled and run here", async () => {
  const example = await readFile(new URL("guide.test-example.ts", import.meta.url), "utf8")
  const [, program] = /```ts\n(.*?)```/s.exec(await guide) ?? []
  // Users import from the one install, which re-exports the engine.
  expect(program).toBe(example.replaceAll('"@superstep/engine', '"superstep'))
})

it("the guide's program prints its spans", async () => {
  const print = vi.spyOn(console, "dir").mockImplementation(() => {})
  await import("./guide.test-example.ts")
  expect(print.mock.calls.map(([span]) => span.name)).toEqual([
    "workflow.build",
    "my own span",
    "executor.process shout",
    "workflow.run",
  ])
  print.mockRestore()
})

it("the guide lists every attribute and metric", async () => {
  const text = await guide
  const source = await readFile(new URL("attributes.ts", import.meta.url), "utf8")
  const names = source.matchAll(/"((?:superstep|workflow|error|gen_ai)\.[\w.]+)"/g)
  for (const [, name] of names) expect(text).toContain(`\`${name}\``)
})
