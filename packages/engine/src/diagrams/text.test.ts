import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { compileGraph } from "../core/index.ts"
import { toText } from "./index.ts"
import { randomWorkflow } from "./random-workflow.test-support.ts"

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

  it("draws branches with their labels, and where they come together", () => {
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

  it("draws a loop as a line up, with its head at the box it goes back to", () => {
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

  it("draws a nested workflow in a frame, and by itself below where that does not fit", () => {
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

  it("is no wider than asked for, in ASCII if asked for, and the same with colours taken out", () => {
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
      { numRuns: 60 },
    )
  })

  it("draws two hundred nodes", () => {
    const text = toText(randomWorkflow(1, 200))
    for (let i = 0; i < 200; i++) expect(text).toMatch(new RegExp(` ${i}\\b`))
  })

  it("lets no name move the cursor or turn a line around", () => {
    const text = toText(workflow("w").start(step("a\u001b[2J\u202eb\u0007\u200b")).build())
    expect(text).toContain("│ a\ufffd[2J\ufffdb\ufffd\ufffd")
  })
})
