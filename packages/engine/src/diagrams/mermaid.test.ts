import { describe, expect, it } from "vitest"
import { any, node, quorum, settle, workflow } from "../builder/index.ts"
import { compileGraph } from "../core/index.ts"
import { toMermaid } from "./index.ts"

const step = (id: string) => node(id, (text: string) => text)
const gather = (id: string) => node(id, (texts: readonly string[]) => texts.join())

function lines(...text: readonly string[]): string {
  return `${text.join("\n")}\n`
}

describe("toMermaid", () => {
  it("draws the start, the nodes and the outputs of a chain", () => {
    expect(toMermaid(workflow("shout").chain(step("upper"), step("reverse")).build())).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["upper"]',
        '  n2["reverse"]',
        '  n3(["output"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n2 --> n3",
      ),
    )
  })

  it("accepts a graph or a workflow, and always draws it the same way", () => {
    const { program } = workflow("shout").chain(step("upper"), step("reverse")).build()
    expect(toMermaid(program.graph)).toBe(toMermaid({ program }))
  })

  it("labels an edge with its label, else with its condition and its limit", () => {
    const [a, b, c, d, e] = [step("a"), step("b"), step("c"), step("d"), step("e")]
    const drawn = workflow("edges")
      .start(a)
      .edge(a, b, { when: () => true })
      .edge(a, c, { when: () => true, label: "big" })
      .edge(a, d, { label: "always" })
      .edge(a, e, { when: () => true, max: 3 })
      .edge(e, a, { max: 2 })
      .output(b, c, d)
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["a"]',
        '  n2["b"]',
        '  n3["c"]',
        '  n4["d"]',
        '  n5["e"]',
        '  n6(["output"])',
        "  n0 --> n1",
        '  n1 -->|"when"| n2',
        '  n1 -->|"big"| n3',
        '  n1 -->|"always"| n4',
        '  n1 -->|"when, at most 3"| n5',
        '  n5 -->|"at most 2"| n1',
        "  n2 --> n6",
        "  n3 --> n6",
        "  n4 --> n6",
      ),
    )
  })

  it("draws a fan-out with solid arrows, a selective one with dashed ones", () => {
    const [a, b, c, d] = [step("a"), step("b"), step("c"), step("d")]
    const drawn = workflow("fan")
      .start(a)
      .fanOut(a, [b, c])
      .fanOut(b, [c, d], { select: () => ["d"] })
      .fanOut(c, [d, step("e")], { select: () => ["d"], label: "by weight" })
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["a"]',
        '  n2["b"]',
        '  n3["c"]',
        '  n4["d"]',
        '  n5["e"]',
        '  n6(["output"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n1 --> n3",
        '  n2 -.->|"select"| n3',
        '  n2 -.->|"select"| n4',
        '  n3 -.->|"by weight"| n4',
        '  n3 -.->|"by weight"| n5',
        "  n4 --> n6",
        "  n5 --> n6",
      ),
    )
  })

  it("draws a fan-in as a join with its policy and its timeout", () => {
    const [a, b, c] = [step("a"), step("b"), step("c")]
    const settled = node("s", (outcomes: readonly unknown[]) => outcomes.length)
    const drawn = workflow("joins")
      .start(a)
      .fanOut(a, [b, c])
      .fanIn([b, c], gather("d"))
      .fanIn([b, c], gather("e"), { join: any(), timeout: 1_000 })
      .fanIn([a, b, c], gather("f"), { join: quorum(2) })
      .fanIn([b, c], settled, { join: settle() })
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["a"]',
        '  n2["b"]',
        '  n3["c"]',
        '  n4["d"]',
        '  n5["e"]',
        '  n6["f"]',
        '  n7["s"]',
        '  n8{{"join all"}}',
        '  n9{{"join any, timeout 1000 ms"}}',
        '  n10{{"join 2 of 3"}}',
        '  n11{{"join settle"}}',
        '  n12(["output"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n1 --> n3",
        "  n2 --> n8",
        "  n3 --> n8",
        "  n8 --> n4",
        "  n2 --> n9",
        "  n3 --> n9",
        "  n9 --> n5",
        "  n1 --> n10",
        "  n2 --> n10",
        "  n3 --> n10",
        "  n10 --> n6",
        "  n2 --> n11",
        "  n3 --> n11",
        "  n11 --> n7",
        "  n4 --> n12",
        "  n5 --> n12",
        "  n6 --> n12",
        "  n7 --> n12",
      ),
    )
  })

  it("draws a switch with its cases, by label or by number, and its default", () => {
    const [a, b, c] = [step("a"), step("b"), step("c")]
    const drawn = workflow("cases")
      .start(a)
      .switch(
        a,
        [
          { when: () => false, to: b, label: "urgent" },
          { when: () => false, to: c },
        ],
        b,
      )
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["a"]',
        '  n2["b"]',
        '  n3["c"]',
        '  n4{"switch"}',
        '  n5(["output"])',
        "  n0 --> n1",
        "  n1 --> n4",
        '  n4 -->|"urgent"| n2',
        '  n4 -->|"case 2"| n3',
        '  n4 -->|"default"| n2',
        "  n2 --> n5",
        "  n3 --> n5",
      ),
    )
  })

  it("draws a loop with its maximum number of passes, and its exit", () => {
    const [draft, review, publish] = [step("draft"), step("review"), step("publish")]
    const drawn = workflow("revise")
      .chain(draft, review)
      .loop(review, draft, { while: () => true, max: 5, exit: publish })
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["draft"]',
        '  n2["review"]',
        '  n3["publish"]',
        '  n4{"loop"}',
        '  n5(["output"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n2 --> n4",
        '  n4 -->|"again, at most 5"| n1',
        '  n4 -->|"exit"| n3',
        "  n3 --> n5",
      ),
    )
  })

  it("leads a loop without an exit to the output", () => {
    const [draft, review] = [step("draft"), step("review")]
    const drawn = workflow("revise")
      .chain(draft, review)
      .loop(review, draft, { until: () => true })
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["draft"]',
        '  n2["review"]',
        '  n3{"loop"}',
        '  n4(["output"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n2 --> n3",
        '  n3 -->|"again"| n1',
        '  n3 -->|"exit"| n4',
      ),
    )
  })

  it("draws a map with its concurrency, and the target of its results", () => {
    const [split, work] = [node("split", (text: string) => text.split(" ")), step("work")]
    const drawn = workflow("words").start(split).map(split, work, gather("join"), { concurrency: 4 }).build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["split"]',
        '  n2["join"]',
        '  n3[["work"]]',
        '  n4(["output"])',
        "  n0 --> n1",
        '  n1 -->|"×n, concurrency 4"| n3',
        '  n3 -->|"list"| n2',
        "  n2 --> n4",
      ),
    )
  })

  it("uses a map's concurrency of its worker, and leads a map without a target to the output", () => {
    const { graph } = compileGraph({
      name: "words",
      start: "split",
      nodes: [
        { id: "split", kind: "node" },
        { id: "work", kind: "node", concurrency: 2 },
      ],
      edges: [{ kind: "map", from: "split", worker: "work", settle: true }],
      // A worker's results are the map's, even where it is listed as an output.
      outputs: ["work"],
    })
    expect(toMermaid(graph)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["split"]',
        '  n2[["work"]]',
        '  n3(["output"])',
        "  n0 --> n1",
        '  n1 -->|"×n, concurrency 2"| n2',
        '  n2 -->|"list, settled"| n3',
      ),
    )
  })

  it("draws error edges and the limit route with dashed arrows", () => {
    const [charge, refund, stop] = [step("charge"), node("refund", () => null), node("stop", () => null)]
    const drawn = workflow("pay").start(charge).onError(charge, refund).onLimit(stop).build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["charge"]',
        '  n2["refund"]',
        '  n3["stop"]',
        '  n4(["output"])',
        '  n5(["limit"])',
        "  n0 --> n1",
        '  n1 -.->|"error"| n2',
        "  n1 --> n4",
        "  n2 --> n4",
        "  n3 --> n4",
        "  n5 -.-> n3",
      ),
    )
  })

  it("frames nested workflows, at any depth: arrows lead to their start and leave their output", () => {
    const clean = workflow("clean").start(step("trim")).build()
    const prepare = workflow("prepare").chain(clean.asNode(), step("count")).build()
    const drawn = workflow("index")
      .chain(step("load"), prepare.asNode({ id: "first" }), step("save"))
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["load"]',
        '  subgraph n2["first<br/>prepare"]',
        '    n3(["start"])',
        '    subgraph n4["clean"]',
        '      n5(["start"])',
        '      n6["trim"]',
        '      n7(["output"])',
        "      n5 --> n6",
        "      n6 --> n7",
        "    end",
        '    n8["count"]',
        '    n9(["output"])',
        "    n3 --> n5",
        "    n7 --> n8",
        "    n8 --> n9",
        "  end",
        '  n10["save"]',
        '  n11(["output"])',
        "  n0 --> n1",
        "  n1 --> n3",
        "  n9 --> n10",
        "  n10 --> n11",
      ),
    )
  })

  it("distinguishes kinds of nodes by shape; an unknown kind is a box", () => {
    const kinds = [
      "agent",
      "tool",
      "human",
      "handoff",
      "state",
      "workflow",
      "end",
      "parallel",
      "merge",
      "map",
      "x",
    ]
    const { graph } = compileGraph({
      name: "kinds",
      start: "agent",
      nodes: kinds.map((kind) => ({ id: kind, kind })),
      edges: [{ kind: "fan-out", from: "agent", to: kinds.slice(1) }],
      outputs: [],
    })
    expect(toMermaid(graph).split("\n").slice(2, 13)).toEqual([
      '  n1("agent")',
      '  n2[/"tool"/]',
      '  n3[\\"human"/]',
      '  n4>"handoff"]',
      '  n5[("state")]',
      '  n6[["workflow"]]',
      '  n7(["end"])',
      '  n8{{"parallel"}}',
      '  n9{{"merge"}}',
      '  n10{{"map"}}',
      '  n11["x"]',
    ])
  })

  it.each(["condition", "decision", "loop"])(
    "draws a %s as the choice of its switch, to the output too",
    (kind) => {
      const { graph } = compileGraph({
        name: "choice",
        start: "large?",
        nodes: [
          { id: "large?", kind },
          { id: "ask", kind: "human" },
        ],
        edges: [
          {
            kind: "switch",
            from: "large?",
            cases: [{ to: "ask", conditional: true, label: "yes" }, { conditional: false }],
          },
        ],
      })
      expect(toMermaid(graph)).toBe(
        lines(
          "flowchart TD",
          '  n0(["start"])',
          '  n1{"large#63;"}',
          '  n2[\\"ask"/]',
          '  n3(["output"])',
          "  n0 --> n1",
          '  n1 -->|"yes"| n2',
          '  n1 -->|"END"| n3',
          "  n2 --> n3",
        ),
      )
    },
  )

  it.each([
    ['say "hi"', "say #34;hi#34;"],
    ["a[b](c){d}|e", "a#91;b#93;#40;c#41;#123;d#125;#124;e"],
    ["<script>&lt;", "#60;script#62;#38;lt#59;"],
    ["#35;", "#35;35#59;"],
    ["end", "end"],
    ["__proto__", "#95;#95;proto#95;#95;"],
    ["constructor", "constructor"],
    ["first\nsecond\r\nthird", "first<br/>second<br/>third"],
    ["\n  padded\t line \n", "padded line"],
    ["Überprüfung 検査 🚀", "Überprüfung 検査 🚀"],
    ["check-credit", "check-credit"],
    ["- item --> other-", "#45; item #45;#45;#62; other#45;"],
    ["1. first", "1#46; first"],
    ["`code` *bold* ~gone~", "#96;code#96; #42;bold#42; #126;gone#126;"],
    ["%%{init: {}}%%", "#37;#37;#123;init#58; #123;#125;#125;#37;#37;"],
    ["direction LR", "direction#32;LR"],
    ["click n0 call x", "click n0 call x"],
    ["nul\u0000 half\ud800", "nul\ufffd half\ufffd"],
    ["C:\\temp", "C#58;#92;temp"],
  ])("writes the id %j as a label that Mermaid shows unchanged", (id, label) => {
    const drawn = workflow("w").chain(step("a"), step(id)).build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["a"]',
        `  n2["${label}"]`,
        '  n3(["output"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n2 --> n3",
      ),
    )
  })

  it("also escapes labels of edges and names of frames, and omits a label without text", () => {
    const [a, b, c] = [step("a"), step("b"), step("c")]
    const inner = workflow('x"]; y').start(step("i")).build().asNode({ id: "f|" })
    const drawn = workflow("w")
      .start(a)
      .edge(a, b, { label: 'a "|" b' })
      .edge(a, c, { label: " \n" })
      .edge(b, inner, { label: "", max: 2 })
      .build()
    expect(toMermaid(drawn)).toBe(
      lines(
        "flowchart TD",
        '  n0(["start"])',
        '  n1["a"]',
        '  n2["b"]',
        '  n3["c"]',
        '  subgraph n4["f#124;<br/>x#34;#93;#59; y"]',
        '    n5(["start"])',
        '    n6["i"]',
        '    n7(["output"])',
        "    n5 --> n6",
        "    n6 --> n7",
        "  end",
        '  n8(["output"])',
        "  n0 --> n1",
        '  n1 -->|"a #34;#124;#34; b"| n2',
        "  n1 --> n3",
        '  n2 -->|"at most 2"| n5',
        "  n3 --> n8",
        "  n7 --> n8",
      ),
    )
  })
})
