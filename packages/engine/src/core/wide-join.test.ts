import { describe, expect, test } from "vitest"
import { compileGraph } from "./compile.ts"
import { type FanInEdge, joinId } from "./graph.ts"

function join(width: number, name = "source"): FanInEdge {
  const from = Array.from({ length: width }, (_, i) => `${name} ${i}`)
  return { kind: "fan-in", from, to: "end", join: { kind: "all" } }
}

describe("the id of a join, which the record of each of its sources has", () => {
  test("names the sources of a narrow one", () => {
    expect(joinId({ ...join(0), from: ["a", "b+c"] })).toBe("a+b%2bc=>end")
  })

  test("does not grow with a wide one, and is another for other sources", () => {
    expect(joinId(join(10_000)).length).toBeLessThan(60)
    expect(joinId(join(1_000))).not.toBe(joinId(join(1_001)))
    expect(joinId(join(1_000))).not.toBe(joinId(join(1_000, "sourc3")))
  })

  test("is found by all its names, as journals of before have them", () => {
    const group = join(20)
    const node = (id: string) => ({ id, kind: "node" })
    const { graph } = compileGraph({
      name: "wide",
      start: "start",
      nodes: [node("start"), ...group.from.map(node), node("end")],
      edges: [{ kind: "fan-out", from: "start", to: group.from }, group],
    })
    const whole = `${group.from.join("+")}=>end`
    expect(graph.joinIndex.get(whole)).toBe(graph.joins[0])
    expect(graph.joinIndex.get(joinId(group))).toBe(graph.joins[0])
  })
})
