import { expect, test } from "vitest"
import { graphModel } from "./graph/graph-model.ts"
import { NodeNames } from "./node-names.ts"

test("people see the author's nodes by their names, at every depth, also where no graph is known", () => {
  const names = new NodeNames(
    graphModel({
      name: "order",
      start: "clerk?",
      nodes: [
        { id: "clerk?", kind: "condition", name: "when clerk" },
        { id: "clerk", kind: "agent", name: "Ask the clerk" },
        { id: "both#end", kind: "merge" },
        {
          id: "ship",
          kind: "workflow",
          nested: { name: "ship", start: "a/b", nodes: [{ id: "a/b", name: "Pack" }] },
        },
      ],
      edges: [
        { kind: "single", from: "clerk?", to: "clerk", conditional: true },
        { kind: "single", from: "clerk", to: "both#end" },
        { kind: "single", from: "both#end", to: "ship" },
      ],
    }),
  )
  expect(names.title("clerk")).toBe("Ask the clerk")
  expect(names.title("ship/a%2Fb")).toBe("Pack")
  expect(["clerk", "ship", "ship/a%2Fb"].map((key) => names.isShown(key))).toEqual([true, true, true])
  expect(["clerk?", "both#end"].map((key) => names.isShown(key))).toEqual([false, false])

  expect(names.title("ship/other")).toBe("other")
  expect(new NodeNames().isShown("#start")).toBe(false)
})
