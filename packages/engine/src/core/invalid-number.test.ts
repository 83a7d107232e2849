import { describe, expect, test } from "vitest"
import type { EdgeGroup, GraphSpec, Limits, NodeSpec } from "./graph.ts"
import { validateGraph } from "./validate.ts"

function codes(node: Partial<NodeSpec>, edges: EdgeGroup[] = [], limits?: Limits): string[] {
  const nodes = ["a", "b", "c"].map((id): NodeSpec => ({ id, kind: "node", ...(id === "a" ? node : {}) }))
  const join: EdgeGroup = { kind: "fan-out", from: "a", to: ["b", "c"] }
  const spec: GraphSpec = { name: "w", start: "a", nodes, edges: edges.length > 0 ? edges : [join], limits }
  return validateGraph(spec).problems.map(({ code }) => code)
}

const notACount = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "2" as unknown as number]
const notMilliseconds = [-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as unknown as number]

describe("counts are whole numbers of at least 1", () => {
  test.each(notACount)("%s is none", (value) => {
    expect(codes({ concurrency: value })).toEqual(["INVALID_NUMBER"])
    expect(codes({ maxVisits: value })).toEqual(["INVALID_NUMBER"])
    expect(codes({ retry: { attempts: value } })).toEqual(["INVALID_NUMBER"])
    for (const limit of ["supersteps", "visits", "loops", "concurrency"])
      expect(codes({}, [], { [limit]: value })).toEqual(["INVALID_NUMBER"])
  })

  test("1 is one", () => {
    const retry = { attempts: 1, delay: 0, maxDelay: 0, jitter: 1 }
    const limits = { supersteps: 1, visits: 1, loops: 1, concurrency: 1 }
    expect(codes({ concurrency: 1, maxVisits: 1, timeout: 0, retry }, [], limits)).toEqual([])
  })
})

describe("numbers on edges", () => {
  const rest: EdgeGroup = { kind: "single", from: "a", to: "c" }

  test.each(notACount)("an edge cannot have a max of %s", (max) => {
    expect(codes({}, [rest, { kind: "single", from: "a", to: "b", max }])).toEqual(["INVALID_NUMBER"])
    const cases = [
      { to: "b", conditional: true, max },
      { to: "c", conditional: false },
    ]
    expect(codes({}, [{ kind: "switch", from: "a", cases }])).toEqual(["INVALID_NUMBER"])
  })

  test.each(notACount)("a map cannot run %s items at a time", (concurrency) => {
    expect(codes({}, [rest, { kind: "map", from: "a", worker: "b", concurrency }])).toEqual([
      "INVALID_NUMBER",
    ])
  })

  test.each(notMilliseconds)("a join cannot wait %s ms", (timeout) => {
    const join: EdgeGroup = { kind: "fan-in", from: ["a", "c"], to: "b", join: { kind: "all" }, timeout }
    expect(codes({}, [rest, join])).toEqual(["INVALID_NUMBER"])
  })
})

describe("times are milliseconds of at least 0", () => {
  test.each(notMilliseconds)("%s is none", (value) => {
    expect(codes({ timeout: value })).toEqual(["INVALID_NUMBER"])
    expect(codes({ retry: { attempts: 2, delay: value } })).toEqual(["INVALID_NUMBER"])
    expect(codes({ retry: { attempts: 2, maxDelay: value } })).toEqual(["INVALID_NUMBER"])
  })
})

test.each([-0.1, 1.1, Number.NaN])("a jitter of %d lies outside 0 to 1", (jitter) => {
  expect(codes({ retry: { attempts: 2, jitter } })).toEqual(["INVALID_NUMBER"])
})

test("the message says which node and which number", () => {
  const nodes = [{ id: "a", kind: "node", timeout: -5 }]
  const [problem] = validateGraph({ name: "w", start: "a", nodes, edges: [] }).problems
  expect(problem?.message).toContain('"a"')
  expect(problem?.message).toContain("timeout")
  expect(problem?.message).toContain("-5")
})
