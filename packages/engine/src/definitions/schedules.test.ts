/** `schedules` in both dialects. */
import { describe, expect, test } from "vitest"
import { memoryStore, Runtime } from "../index.ts"
import { manualClock } from "../testing/index.ts"
import type { Definition } from "./definition.ts"
import { loadDefinition } from "./load.ts"

const SCHEDULES = `
schedules:
  - { id: morning, cron: "0 9 * * 1-5", timeZone: Europe/Berlin, input: { tenant: acme } }
  - { id: often, every: 90s, jitter: 5s, overlap: queue, catchUp: all, maxCatchUp: 5, labels: { team: a } }
  - { id: once, at: "2026-12-24T18:00:00+01:00", queue: mail, priority: 5, tenant: acme }
`
const STEPS = `${SCHEDULES}
workflow:
  - { id: ask, type: human, prompt: "{{ $input }}?" }
`
const GRAPH = `${SCHEDULES}
nodes:
  - { id: start, type: start }
  - { id: end, type: state, read: input }
edges: [{ from_node: start, to_node: end }]
`

const load = (text: string) => loadDefinition({ text, file: "flow.yaml" })

describe.each([
  ["steps", STEPS],
  ["graph", GRAPH],
])("the schedules of a %s file", (_, text) => {
  test("are stored and fired by a runtime that has its workflow", async () => {
    const { workflow } = load(text).definition as Definition
    const clock = manualClock(Date.parse("2026-03-01T00:00Z"))
    const runtime = new Runtime({ store: memoryStore(), workflows: [workflow], clock })
    await runtime.recover()
    expect(await runtime.schedules.list()).toMatchObject([
      { id: "flow/morning", cron: "0 9 * * 1-5", timeZone: "Europe/Berlin", input: { tenant: "acme" } },
      {
        id: "flow/often",
        every: 90_000,
        jitter: 5_000,
        overlap: "queue",
        catchUp: "all",
        maxCatchUp: 5,
        labels: { team: "a" },
        input: "",
      },
      { id: "flow/once", at: Date.parse("2026-12-24T17:00Z"), queue: "mail", priority: 5, tenant: "acme" },
    ])
    await clock.advance(95_000)
    expect(await runtime.runs()).toMatchObject([{ labels: { team: "a", schedule: "flow/often" } }])
    await runtime.close()
  })

  test.each([
    ['"0 9 * * 1-5"', '"0 9 30 2 *"', "SCHEDULE_INVALID", 3, 26],
    ['"0 9 * * 1-5"', '"0 25 * * *"', "SCHEDULE_INVALID", 3, 26],
    ["Europe/Berlin", "Europe/Bonn", "SCHEDULE_INVALID", 3, 51],
    ["every: 90s", "every: 0", "SCHEDULE_INVALID", 4, 25],
    ["every: 90s", "every: 90s, cron: '* * * * *'", "SCHEDULE_INVALID", 4, 5],
    ["jitter: 5s", "jitter: 48h", "SCHEDULE_INVALID", 4, 38],
    ["overlap: queue", "overlap: never", "NOT_ONE_OF", 4, 51],
    ["team: a", "schedule: a", "SCHEDULE_INVALID", 4, 5],
    ["id: once", "id: often", "SCHEDULE_INVALID", 5, 11],
    ["18:00:00+01:00", "18:00:00", "BAD_FORMAT", 5, 21],
    ["at:", "att:", "UNKNOWN_FIELD", 5, 17],
  ])("have their problems reported where they are: %s → %s", (from, to, code, line, column) => {
    const { diagnostics } = load(text.replace(from, to))
    const [first] = diagnostics.map((one) => [one.code, one.place?.line, one.place?.column])
    expect(first).toEqual([code, line, column])
  })
})

test("ejected code has the same schedules", () => {
  const code = (load(STEPS).definition as Definition).eject()
  expect(code).toContain('cron: "0 9 * * 1-5"')
  expect(code).toContain('timeZone: "Europe/Berlin"')
})

test("a file with agents alone has no schedules, and says so", () => {
  const { diagnostics } = load("agents:\n  a: { model: offline }\nschedules: [{ id: a, every: 5m }]\n")
  expect(diagnostics.map(({ code, place }) => [code, place?.line])).toEqual([["NOT_SUPPORTED", 3]])
})
