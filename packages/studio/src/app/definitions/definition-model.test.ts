import { loadDefinition } from "@superstep/engine/definitions"
import { expect, test } from "vitest"
import {
  checkedRuns,
  diffRows,
  draftOf,
  graphChange,
  logWords,
  marksOf,
  nameProblem,
  newDefinition,
  rangeOf,
  versionChoices,
  whyReadOnly,
} from "./definition-model.ts"

const TEXT = `name: order
workflow:
  - id: confirm
    type: human
  # a comment
  - { id: ship, type: agent, name: clerk }
agents:
  clerk: { model: offline }
`

test("a problem is where the server says, and stays inside of its line", () => {
  const at = (place: { line?: number; column?: number; length?: number }) => {
    const { from, to } = rangeOf(TEXT, place)
    return TEXT.slice(from, to)
  }
  expect(at({ line: 4, column: 11, length: 5 })).toBe("human")
  expect(at({ line: 4, column: 11 })).toBe("human")
  expect(at({ line: 6, column: 36, length: 900 })).toBe("clerk }")
  expect(at({})).toBe("name")
  // Text that became shorter since it was checked.
  expect(rangeOf("a", { line: 9, column: 9, length: 3 })).toEqual({ from: 1, to: 1 })
})

test("a new definition runs as it is, and a name that the server accepts", () => {
  for (const dialect of ["steps", "graph"]) {
    const { text = "" } = newDefinition("hello", dialect)
    const { definition, diagnostics } = loadDefinition({ file: "hello.yaml", text })
    expect(diagnostics).toEqual([])
    expect(definition?.workflow.name).toBe("hello")
  }
  expect(nameProblem("order-2", ["order"])).toBeUndefined()
  expect(nameProblem("order", ["order"])).toMatch(/There is a workflow/)
  for (const bad of ["", "-a", "a b", "a/b", "x".repeat(101)]) expect(nameProblem(bad, [])).toMatch(/letters/)
})

test("a replay check says what each run would do, those that differ first", () => {
  const divergence = { index: 1, what: '"ship" ran before but does not run now.' }
  const results = [
    { run: "a", report: { same: true } },
    { run: "b", report: { same: false, divergence, status: { before: "completed", after: "waiting" } } },
    {
      run: "c",
      report: {
        same: false,
        divergence,
        status: { before: "completed", after: "failed" },
        error: { after: "TOOL_UNKNOWN: There is no tool." },
      },
    },
    {
      // The step has no recorded result: that is a divergence, not a failure of the workflow.
      run: "d",
      report: {
        same: false,
        divergence,
        status: { before: "completed", after: "failed" },
        error: { after: "REPLAY_DIVERGED: not recorded" },
      },
    },
    {
      run: "e",
      problem: { type: "", title: "Conflict", status: 409, code: "X", detail: "It has no history." },
    },
  ]
  expect(
    checkedRuns({ results } as never).map(({ run, outcome, what }) => `${run} ${outcome} ${what}`),
  ).toEqual([
    "c fails TOOL_UNKNOWN: There is no tool.",
    "e fails It has no history.",
    'b diverges Step 2: "ship" ran before but does not run now.',
    'd diverges Step 2: "ship" ran before but does not run now.',
    "a same Every step as recorded.",
  ])
})

test("a diff has the line numbers of both texts, and folds what is the same", () => {
  const same = Array.from({ length: 12 }, (_, i) => `line ${i + 1}`)
  const rows = diffRows([
    { kind: "same", lines: same },
    { kind: "removed", lines: ["old"] },
    { kind: "added", lines: ["new", "more"] },
    { kind: "same", lines: ["end"] },
  ])
  expect(rows.map(({ kind, before, after, text }) => [kind, before, after, text])).toEqual([
    ["fold", undefined, undefined, "9 lines are the same"],
    ["same", 10, 10, "line 10"],
    ["same", 11, 11, "line 11"],
    ["same", 12, 12, "line 12"],
    ["removed", 13, undefined, "old"],
    ["added", undefined, 13, "new"],
    ["added", undefined, 14, "more"],
    ["same", 14, 15, "end"],
  ])
})

test("changes of a graph name the nodes of edges", () => {
  const lines = [
    "+ human stock",
    '+ edge {"conditional":false,"from":"stock","kind":"single","to":"confirm"}',
    '- edge {"from":["a","b"],"kind":"fan-in","to":"c"}',
    '- edge {"cases":[],"from":"a","kind":"switch"}',
    "~ edge {not JSON}",
  ]
  expect(lines.map(graphChange).map(({ sign, text }) => `${sign}${text}`)).toEqual([
    "+human stock",
    "+edge stock → confirm",
    "-edge a, b → c",
    "-switch of a",
    "~edge {not JSON}",
  ])
})

test("versions say whether they are published, earlier or drafts, and what they are called", () => {
  const log = [
    { at: 1, by: "ada", action: "publish" as const, version: 1 },
    { at: 2, by: "ada", action: "publish" as const, version: 2, reason: "Better." },
    { at: 3, by: "bob", action: "alias" as const, version: 3, alias: "beta" },
  ]
  const definition = { published: 2, aliases: { beta: 3, old: 1 }, log }
  expect([1, 2, 3].map((version) => marksOf(definition, version))).toEqual([
    { state: "earlier", aliases: ["old"] },
    { state: "published", aliases: [] },
    { state: "draft", aliases: ["beta"] },
  ])
  expect(log.map(logWords)).toEqual(["published version 1", "published version 2", "named version 3 beta"])
  expect(draftOf({ published: 2, latest: 3 })).toBe(3)
  expect(draftOf({ published: 2, latest: 2 })).toBeUndefined()
  expect(draftOf({})).toBeUndefined()
  expect(versionChoices({ ...definition, latest: 4 }).map(({ value, version }) => [value, version])).toEqual([
    ["published", 2],
    ["4", 4],
    ["beta", 3],
    ["old", 1],
  ])
})

test("who may not change a definition reads why", () => {
  expect(whyReadOnly({ source: "store", readOnly: false }, true)).toBeUndefined()
  expect(whyReadOnly({ source: "file", readOnly: false }, true)).toBeUndefined()
  expect(whyReadOnly({ source: "store", readOnly: false }, false)).toContain("role author")
  expect(whyReadOnly({ source: "file", readOnly: true }, true)).toContain("from a file")
  expect(whyReadOnly({ source: "code", readOnly: true }, true)).toContain("in code")
})
