import { describe, expect, it } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { compileGraph } from "../core/index.ts"
import { toDot } from "./index.ts"

const step = (id: string) => node(id, (text: string) => text)

function digraph(name: string, ...text: readonly string[]): string {
  const head = ["digraph {", `  label="${name}"`, "  labelloc=t", "  node [shape=box]"]
  return `${[...head, ...text, "}"].join("\n")}\n`
}

describe("toDot", () => {
  it("draws the start, the nodes and the outputs of a chain", () => {
    expect(toDot(workflow("shout").chain(step("upper"), step("reverse")).build())).toBe(
      digraph(
        "shout",
        '  n0 [label="start", shape=oval]',
        '  n1 [label="upper"]',
        '  n2 [label="reverse"]',
        '  n3 [label="output", shape=oval]',
        "  n0 -> n1",
        "  n1 -> n2",
        "  n2 -> n3",
      ),
    )
  })

  it("draws conditions, fan-out with a selection, and a join with its timeout", () => {
    const [a, b, c] = [step("a"), step("b"), step("c")]
    const d = node("d", (texts: readonly string[]) => texts.join())
    const drawn = workflow("fan")
      .start(a)
      .edge(a, b, { when: () => true })
      .fanOut(b, [c, step("e")], { select: () => ["c"] })
      .fanIn([b, c], d, { timeout: 500 })
      .output(d)
      .build()
    expect(toDot(drawn)).toBe(
      digraph(
        "fan",
        '  n0 [label="start", shape=oval]',
        '  n1 [label="a"]',
        '  n2 [label="b"]',
        '  n3 [label="c"]',
        '  n4 [label="e"]',
        '  n5 [label="d"]',
        '  n6 [label="join all, timeout 500 ms", shape=hexagon]',
        '  n7 [label="output", shape=oval]',
        "  n0 -> n1",
        '  n1 -> n2 [label="when"]',
        '  n2 -> n3 [label="select", style=dashed]',
        '  n2 -> n4 [label="select", style=dashed]',
        "  n2 -> n6",
        "  n3 -> n6",
        "  n6 -> n5",
        "  n5 -> n7",
      ),
    )
  })

  it("draws switches, loops and maps", () => {
    const [split, work] = [node("split", (text: string) => text.split(" ")), step("work")]
    const gather = node("gather", (texts: readonly string[]) => texts.join())
    const [edit, done] = [step("edit"), step("done")]
    const drawn = workflow("text")
      .start(split)
      .map(split, work, gather, { concurrency: 2 })
      .switch(gather, [{ when: () => true, to: edit, label: "long" }], done)
      .loop(edit, edit, { while: () => true, max: 3, exit: done })
      .build()
    expect(toDot(drawn)).toBe(
      digraph(
        "text",
        '  n0 [label="start", shape=oval]',
        '  n1 [label="split"]',
        '  n2 [label="gather"]',
        '  n3 [label="work", peripheries=2]',
        '  n4 [label="edit"]',
        '  n5 [label="done"]',
        '  n6 [label="switch", shape=diamond]',
        '  n7 [label="loop", shape=diamond]',
        '  n8 [label="output", shape=oval]',
        "  n0 -> n1",
        '  n1 -> n3 [label="×n, concurrency 2"]',
        '  n3 -> n2 [label="list"]',
        "  n2 -> n6",
        '  n6 -> n4 [label="long"]',
        '  n6 -> n5 [label="default"]',
        "  n4 -> n7",
        '  n7 -> n4 [label="again, at most 3"]',
        '  n7 -> n5 [label="exit"]',
        "  n5 -> n8",
      ),
    )
  })

  it("draws error edges in red and the limit route dashed", () => {
    const [charge, refund, stop] = [step("charge"), node("refund", () => null), node("stop", () => null)]
    const drawn = workflow("pay").start(charge).onError(charge, refund).onLimit(stop).output(charge).build()
    expect(toDot(drawn)).toBe(
      digraph(
        "pay",
        '  n0 [label="start", shape=oval]',
        '  n1 [label="charge"]',
        '  n2 [label="refund"]',
        '  n3 [label="stop"]',
        '  n4 [label="output", shape=oval]',
        '  n5 [label="limit", shape=oval]',
        "  n0 -> n1",
        '  n1 -> n2 [label="error", style=dashed, color=red]',
        "  n1 -> n4",
        "  n5 -> n3 [style=dashed]",
      ),
    )
  })

  it("draws nested workflows as clusters, at any depth", () => {
    const clean = workflow("clean").start(step("trim")).build()
    const prepare = workflow("prepare").start(clean.asNode()).build()
    const drawn = workflow("index")
      .start(prepare.asNode({ id: "first" }))
      .build()
    expect(toDot(drawn)).toBe(
      digraph(
        "index",
        '  n0 [label="start", shape=oval]',
        "  subgraph cluster_n1 {",
        '    label="first\\nprepare"',
        '    n2 [label="start", shape=oval]',
        "    subgraph cluster_n3 {",
        '      label="clean"',
        '      n4 [label="start", shape=oval]',
        '      n5 [label="trim"]',
        '      n6 [label="output", shape=oval]',
        "      n4 -> n5",
        "      n5 -> n6",
        "    }",
        '    n7 [label="output", shape=oval]',
        "    n2 -> n4",
        "    n6 -> n7",
        "  }",
        '  n8 [label="output", shape=oval]',
        "  n0 -> n2",
        "  n7 -> n8",
      ),
    )
  })

  it("distinguishes kinds of nodes by shape; an unknown kind is a box", () => {
    const kinds = ["agent", "tool", "human", "handoff", "state", "workflow", "end", "condition", "merge", "x"]
    const { graph } = compileGraph({
      name: "kinds",
      start: "agent",
      nodes: kinds.map((kind) => ({ id: kind, kind })),
      edges: [
        { kind: "fan-out", from: "agent", to: kinds.slice(1, -1) },
        { kind: "map", from: "agent", worker: "x" },
      ],
      outputs: [],
    })
    expect(toDot(graph).split("\n").slice(5, 15)).toEqual([
      '  n1 [label="agent", style=rounded]',
      '  n2 [label="tool", shape=component]',
      '  n3 [label="human", shape=invtrapezium]',
      '  n4 [label="handoff", shape=cds]',
      '  n5 [label="state", shape=cylinder]',
      '  n6 [label="workflow", shape=tab]',
      '  n7 [label="end", shape=oval]',
      '  n8 [label="condition", shape=diamond]',
      '  n9 [label="merge", shape=hexagon]',
      '  n10 [label="x", peripheries=2]',
    ])
  })

  it.each([
    ['say "hi"', 'say \\"hi\\"'],
    ["C:\\temp\\", "C:\\\\temp\\\\"],
    ["\\N of \\G", "\\\\N of \\\\G"],
    ["&lt; & <b>", "&amp;lt; &amp; <b>"],
    ["first\nsecond\r\nthird", "first\\nsecond\\nthird"],
    ["node", "node"],
    ["__proto__", "__proto__"],
    ["a]; b -> c [", "a]; b -> c ["],
    ["Überprüfung 検査 🚀", "Überprüfung 検査 🚀"],
    ["nul\u0000 half\ud800", "nul\ufffd half\ufffd"],
  ])("writes the id %j, also as a name, as a label that Graphviz shows unchanged", (id, label) => {
    expect(toDot(workflow(id).start(step(id)).build())).toBe(
      digraph(
        label,
        '  n0 [label="start", shape=oval]',
        `  n1 [label="${label}"]`,
        '  n2 [label="output", shape=oval]',
        "  n0 -> n1",
        "  n1 -> n2",
      ),
    )
  })
})
