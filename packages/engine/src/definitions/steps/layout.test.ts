import { describe, expect, test } from "vitest"
import { Layout } from "./nodes/step-list.ts"

const layout = new Layout(
  [
    "first",
    { id: "par", branches: [["x", "y"], [{ id: "inner", branches: [["x"], ["z"]] }]] },
    { id: "each", each: ["x", { id: "deep", branches: [["y"]] }] },
    { id: "list", each: [] },
  ],
  { back: "first", "par/back": "par/y", "each/*/again": "each/*/x" },
)

describe("the layout of steps", () => {
  test("finds the entry of a path", () => {
    expect(layout.at("first")).toEqual({ kind: "step" })
    expect(layout.at("par")).toEqual({ kind: "block", children: ["x", "y", "inner"] })
    expect(layout.at("each/7")).toEqual({ kind: "item", children: ["x", "deep"] })
    expect(layout.at("list/7")).toEqual({ kind: "step" })
    for (const path of ["nobody", "par/nobody", "first/x", "each/x", "each/01", "list/0/x"]) {
      expect(layout.at(path)).toBeUndefined()
    }
  })

  test("distinguishes the branches of blocks", () => {
    expect(layout.lineage("first")).toEqual([])
    expect(layout.lineage("par/y")).toEqual(["par:0"])
    expect(layout.lineage("par/inner/z")).toEqual(["par:1", "par/inner:1"])
    expect(layout.lineage("each/3/deep/y")).toEqual(["each:3", "each/3/deep:0"])
    expect(layout.lineage("list/3")).toEqual(["list:3"])
  })

  test("sorts by the order of definition, and items by number", () => {
    const paths = [
      "list/10",
      "each/2/x",
      "par/inner/z",
      "list/9",
      "first",
      "par/x",
      "par/inner/x",
      "each/2/deep/y",
    ]
    expect(paths.sort((a, b) => layout.compare(a, b))).toEqual([
      "first",
      "par/x",
      "par/inner/x",
      "par/inner/z",
      "each/2/x",
      "each/2/deep/y",
      "list/9",
      "list/10",
    ])
  })

  test("finds a name in the innermost block that has it", () => {
    expect(layout.resolve("x", "par/inner/z")).toBe("par/inner/x")
    expect(layout.resolve("y", "par/inner/z")).toBe("par/y")
    expect(layout.resolve("first", "par/inner/z")).toBe("first")
    expect(layout.resolve("x", "each/4/deep/y")).toBe("each/4/x")
    expect(layout.resolve("x", "first")).toBeUndefined()
    expect(layout.resolve("back", "par/x")).toBe("par/y")
    expect(layout.resolve("back", "list/0")).toBe("first")
    expect(layout.resolve("again", "each/4/deep/y")).toBe("each/4/x")
    expect(layout.resolve("again", "each/*/deep/y")).toBe("each/*/x")
  })
})
