import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { compileGraph } from "../core/index.ts"
import { cellWidth } from "../text/index.ts"
import type { Pen } from "./boxes.ts"
import { ASCII, canvasLines, UNICODE } from "./canvas.ts"
import { type Diagram, diagramOf, partsByEnd, textLines } from "./diagram.ts"
import { toText } from "./index.ts"
import { randomWorkflow } from "./random-workflow.test-support.ts"
import { distinctNames, drawTree } from "./text.ts"

const step = (id: string) => node(id, (text: string) => text)

function lines(...text: readonly string[]): string {
  return `${text.join("\n")}\n`
}

/** Terminals show these in two cells. The letters and symbols of the random graphs hold no others. */
function columns(line: string): number {
  return Array.from(line).reduce(
    (sum, sign) => sum + (/[\u3000-\u9fff\u{1f000}-\u{1ffff}]/u.test(sign) ? 2 : 1),
    0,
  )
}

describe("toText", () => {
  it("draws a chain", () => {
    expect(toText(workflow("shout").chain(step("upper"), step("reverse")).build())).toBe(
      lines(
        "shout",
        "",
        " ( start )",
        "     ▼",
        " ┌───────┐",
        " │ upper │",
        " └───┬───┘",
        "     ▼",
        "┌─────────┐",
        "│ reverse │",
        "└────┬────┘",
        "     ▼",
        "( output )",
      ),
    )
  })

  it("draws branches with their labels, and where they join", () => {
    const [receive, pay, verify] = [step("receive"), step("pay"), step("verify")]
    const drawn = workflow("invoices")
      .start(receive)
      .switch(receive, [{ when: () => true, to: verify, label: "new supplier" }], pay)
      .build()
    expect(toText(drawn)).toBe(
      lines(
        "invoices",
        "",
        "        ( start )",
        "            ▼",
        "       ┌─────────┐",
        "       │ receive │",
        "       └────┬────┘",
        "            ▼",
        "       < switch >",
        "      ┌─────┴─────┐",
        "new supplier   default",
        "      ▼           ▼",
        " ┌─────────┐   ┌─────┐",
        " │ verify  │   │ pay │",
        " └────┬────┘   └──┬──┘",
        "      └─────┬─────┘",
        "            ▼",
        "       ( output )",
      ),
    )
  })

  it("draws a loop as a line upwards, with its head at its target", () => {
    const [draft, review] = [step("draft"), step("review")]
    const drawn = workflow("revise")
      .chain(draft, review)
      .loop(review, draft, { until: () => true })
      .build()
    expect(toText(drawn, { ascii: true })).toBe(
      lines(
        "revise",
        "",
        "      ( start )",
        "          v",
        "      +-------+",
        "      | draft |",
        "      +-+---+-+",
        "        |   ^",
        "        |   +--+",
        "        v      |",
        "+---------+  again",
        "| review  |    |",
        "+-------+-+    |",
        "        |   +--+",
        "        v   |",
        "      < loop >",
        "        exit",
        "          v",
        "     ( output )",
      ),
    )
  })

  it("draws a nested workflow in a frame, or separately below if it does not fit", () => {
    const clean = workflow("clean").start(step("trim the text")).build()
    const drawn = workflow("index")
      .chain(clean.asNode({ id: "first" }), step("save"))
      .build()
    expect(toText(drawn)).toBe(
      lines(
        "index",
        "",
        "      ( start )",
        "          ▼",
        "┏━━━━━━━━━━━━━━━━━━━┓",
        "┃ first             ┃",
        "┃ clean             ┃",
        "┃                   ┃",
        "┃     ( start )     ┃",
        "┃         ▼         ┃",
        "┃ ┌───────────────┐ ┃",
        "┃ │ trim the text │ ┃",
        "┃ └───────┬───────┘ ┃",
        "┃         ▼         ┃",
        "┃    ( output )     ┃",
        "┗━━━━━━━━━┯━━━━━━━━━┛",
        "          ▼",
        "      ┌───────┐",
        "      │ save  │",
        "      └───┬───┘",
        "          ▼",
        "     ( output )",
      ),
    )
    const split = step("split")
    const wide = workflow("clean")
      .start(split)
      .fanOut(split, [step("left half"), step("right half")])
      .build()
    const narrow = toText(
      workflow("index")
        .chain(wide.asNode({ id: "first" }))
        .build(),
      { width: 32 },
    )
    expect(narrow).toContain("│    first    │")
    expect(narrow).toContain("\nfirst (clean):\n")
    expect(narrow).toContain("│ right half")
  })

  it("shows the kind of a node in the border of its box", () => {
    const { graph } = compileGraph({
      name: "kinds",
      start: "write",
      nodes: [
        { id: "write", kind: "agent" },
        { id: "sign", kind: "human" },
        { id: "post", kind: "http" },
      ],
      edges: [
        { kind: "single", from: "write", to: "sign" },
        { kind: "single", from: "sign", to: "post" },
      ],
    })
    expect(toText(graph)).toBe(
      lines(
        "kinds",
        "",
        " ( start )",
        "     ▼",
        "╭─ agent ─╮",
        "│  write  │",
        "╰────┬────╯",
        "     ▼",
        "╔═ human ═╗",
        "║  sign   ║",
        "╚════╤════╝",
        "     ▼",
        "┌─ http ──┐",
        "│  post   │",
        "└────┬────┘",
        "     ▼",
        "( output )",
      ),
    )
  })

  it("is no wider than requested, in ASCII on request, and the same without colours", () => {
    fc.assert(
      fc.property(
        fc.nat(100_000),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(24, 40, 80),
        fc.boolean(),
        (seed, size, width, ascii) => {
          const graph = randomWorkflow(seed, size)
          const text = toText(graph, { width, ascii })
          for (const line of text.split("\n")) expect(columns(line)).toBeLessThanOrEqual(width)
          if (ascii) expect(text).toMatch(/^[\n -~]*$/)
          const coloured = toText(graph, { width, ascii, color: true })
          // biome-ignore lint/suspicious/noControlCharactersInRegex: what colours are made of.
          expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(text)
        },
      ),
      { numRuns: 25 },
    )
  })

  it("draws two hundred nodes", () => {
    const text = toText(randomWorkflow(1, 200))
    for (let i = 0; i < 200; i++) expect(text).toMatch(new RegExp(` ${i}\\b`))
  })

  it("lets no name move the cursor or reverse a line", () => {
    const text = toText(workflow("w").start(step("a\u001b[2J\u202eb\u0007\u200b")).build())
    expect(text).toContain("│ a\ufffd[2J\ufffdb\ufffd\ufffd")
  })
})

const pen: Pen = { symbols: UNICODE, ascii: false, maxWidth: 80 }

function tree(diagram: Diagram, width = 80, with_ = pen): string[] {
  return canvasLines(drawTree(diagram, width, with_), false)
}

/** Each line of an arrow, below the name of its source. */
function rowsOf(lines: readonly string[]): string[] {
  const current = new Map<number, string>()
  return lines.flatMap((line) => {
    const indent = /^(?:│ {2}| {3})*/.exec(line)?.[0].length as number
    const [, sign = "", text = ""] = /^([├└]─ |↓ |)(.*)$/.exec(line.slice(indent)) as RegExpExecArray
    const parent = current.get(indent)
    const isReference = /(?:^|: )(?:→|↺ back to) /.test(text)
    const name = text.split(": ").at(-1) as string
    if (!isReference && sign !== "") current.set(indent + (sign === "↓ " ? 0 : sign.length), name)
    if (sign === "" && !isReference) current.set(indent, name)
    return sign === "" && !isReference ? [] : [`${parent} | ${text.replace(/(→|↺ back to) /, "")}`]
  })
}

function arrowsOf(diagram: Diagram): string[] {
  const ends = partsByEnd(diagram)
  const names = distinctNames(diagram, pen)
  const name = (end: string) => names.get(ends.get(end) as Diagram["parts"][number])
  return diagram.arrows.map(({ from, to, label }) => {
    const text = textLines(label, 1_000, false).join(" ")
    return `${name(from)} | ${text === "" ? "" : `${text}: `}${name(to)}`
  })
}

describe("a tree", () => {
  it("follows a chain, indents at branches, refers to parts that are already drawn, and marks back arrows", () => {
    const [draft, review, publish] = [step("draft"), step("review"), step("publish")]
    const file = node("file", (kept: unknown) => String(kept))
    const drawn = workflow("revise")
      .chain(draft, review)
      .switch(
        review,
        [
          { when: () => true, to: draft, label: "weak" },
          { when: () => true, to: publish, label: "good" },
        ],
        file,
      )
      .onError(publish, file)
      .onLimit(file)
      .output(publish, file)
      .build()
    expect(tree(diagramOf(drawn))).toEqual([
      "( start )",
      "↓ draft",
      "↓ review",
      "↓ < switch >",
      "├─ weak: ↺ back to draft",
      "├─ good: publish",
      "│  ├─ error: file",
      "│  │  ↓ ( output )",
      "│  └─ → ( output )",
      "└─ default: → file",
      "",
      "( limit )",
      "→ file",
    ])
    expect(tree(diagramOf(drawn), 80, { ...pen, symbols: ASCII, ascii: true })).toEqual([
      "( start )",
      "v draft",
      "v review",
      "v < switch >",
      "|- weak: ^ back to draft",
      "|- good: publish",
      "|  |- error: file",
      "|  |  v ( output )",
      "|  `- -> ( output )",
      "`- default: -> file",
      "",
      "( limit )",
      "-> file",
    ])
  })

  it("wraps long text under its own indent", () => {
    const drawn = workflow("w").chain(step("a"), step("check whether the customer may have it")).build()
    expect(tree(diagramOf(drawn), 24)).toEqual([
      "( start )",
      "↓ a",
      "↓ check whether the",
      "  customer may have it",
      "↓ ( output )",
    ])
  })

  it("has a line for every arrow and names every part, whatever the graph", () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.integer({ min: 1, max: 60 }), (seed, size) => {
        const diagram = diagramOf(randomWorkflow(seed, size, 0))
        expect(rowsOf(tree(diagram, 2_000)).toSorted()).toEqual(arrowsOf(diagram).toSorted())
      }),
      { numRuns: 25 },
    )
  })

  it("continues further down if there is too little space, and stays within its width", () => {
    const ids = Array.from({ length: 31 }, (_, i) => i)
    const { graph } = compileGraph({
      name: "deep",
      start: "n0",
      nodes: ids.flatMap((i) => [`n${i}`, `m${i}`]).map((id) => ({ id, kind: "node" })),
      edges: ids.map((i) => ({ kind: "fan-out", from: `n${i}`, to: [i < 30 ? `n${i + 1}` : "m0", `m${i}`] })),
    })
    const lines = tree(diagramOf(graph), 40)
    expect(lines.filter((line) => line.includes("..."))).not.toEqual([])
    for (let i = 0; i < 30; i++) expect(lines.some((line) => line.endsWith(`─ m${i}`))).toBe(true)
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(40)
  })
})
