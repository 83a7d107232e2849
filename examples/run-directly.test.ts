/** Every example, run as a program: its output is what its reader was promised. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { format } from "node:util"
import { settled } from "@superstep/engine/testing"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"

const PRINTED: Record<string, readonly string[]> = {
  "01-first-workflow": ["completed [ 'DLROW OLLEH' ]"],
  "02-conditional-edges": [
    "#1: on-call engineer paged",
    "#1: reply promised within an hour",
    '0 outputs; the condition to "page" did not hold; the condition to "reply" did not hold',
  ],
  "03-fan-out": [
    "receipt for A-1 sent",
    "receipt for A-2 sent; A-2 is to be wrapped; A-2 is to be checked for fraud",
  ],
  "04-fan-in": [
    "all:    sea for 100, of 3",
    "any:    air for 720, of 1",
    "quorum: road for 190, of 2",
    "settle: air for 180; road for 70; less than 50 kg is not shipped by sea",
  ],
  "05-switch": ["I-1 paid", "I-2 waits for approval", "I-3 waits for supplier verification"],
  "06-map": ["{ perPage: [ 4, 6, 5 ], total: 15 }"],
  "07-loop": ["Sales rose by four per cent. Costs stayed level.", "after 2 passes"],
  "08-retry": ["charged 30, at attempt 3, under payment-1:1"],
  "09-error-edge": ["A-1 shipped", "A-2 on hold (CARD_DECLINED): The card has expired."],
  "10-settle": [
    "at today's rate of 1.08",
    "at last month's rate: No rate for CHF today.",
    `{ total: 935, problems: [ 'No amount in "heating;n/a".' ] }`,
  ],
  "11-state": [
    "glass, table, chair: 122 from 2 warehouses",
    '{"total":122,"items":["glass","table","chair"],"warehouses":["north","south"],' +
      '"flags":{"fragile":true,"oversize":false},"status":"checked","dearest":80}',
  ],
  "12-local-state": ["[ '1. toner', '2. paper', '3. cables' ]"],
  "13-several-handlers": ["{ counted: 11, missing: 1 }", "refused: { sold: -1 }"],
  "14-ask-a-person": ["waiting Pay 600 for a projector?", "a projector: paid (from the training budget)"],
  "15-request-and-answer": [
    'legal: do you accept "hosting, three years"?',
    'finance: do you accept "hosting, three years"?',
    'security: do you accept "hosting, three years"?',
    "rejected by security",
  ],
  "16-sub-workflow": ["{ title: 'note', text: 'one two', words: 2 }", "board meeting: 5 words indexed"],
  "17-call": ["150", "162"],
  "18-steps": ["INV-A-1", "[ 'invoice for A-1', 'mail with INV-A-1' ]"],
  "19-streaming": [
    "superstep 1: 1 to do",
    "superstep 2: 2 to do",
    '  translate: {"chapter":"manual, part 1"}',
    '  translate: {"chapter":"manual, part 2"}',
    "superstep 3: 1 to do",
    "output: MANUAL, PART 1 | MANUAL, PART 2",
    "completed",
  ],
  "20-cancel-and-timeout": [
    "cancelled - the report is no longer needed",
    'failed - Node "export" took longer than 30 ms.',
    "limit - The run's time is up.",
  ],
  "21-budget": [
    "completed { inputTokens: 1200, outputTokens: 300, modelCalls: 3 }",
    "Budget exceeded: tokens",
    "source 1 on heat pumps; source 2 on heat pumps; source 3 on heat pumps",
  ],
  "22-flow-schedule": [
    "superstep: [ 'talk transcoded', 'talk.png published' ]",
    "flow: [ 'talk.png published', 'talk transcoded' ]",
  ],
  "23-diagrams": [
    "flowchart TD",
    '  n0(["start"])',
    '  n1["receive"]',
    '  subgraph n2["assessment"]',
    '    n3(["start"])',
    '    n4["check"]',
    '    n5["estimate"]',
    '    n6(["output"])',
    "    n3 --> n4",
    "    n4 --> n5",
    "    n5 --> n6",
    "  end",
    '  n7["escalate"]',
    '  n8["pay"]',
    '  n9{"switch"}',
    '  n10(["output"])',
    "  n0 --> n1",
    "  n1 --> n3",
    "  n6 --> n9",
    '  n9 -->|"large"| n7',
    '  n9 -->|"default"| n8',
    '  n6 -.->|"error"| n7',
    "  n7 --> n10",
    "  n8 --> n10",
    "",
    "digraph {",
    '  label="claims"',
    "  labelloc=t",
    "  node [shape=box]",
    '  n0 [label="start", shape=oval]',
    '  n1 [label="receive"]',
    "  subgraph cluster_n2 {",
    '    label="assessment"',
    '    n3 [label="start", shape=oval]',
    '    n4 [label="check"]',
    '    n5 [label="estimate"]',
    '    n6 [label="output", shape=oval]',
    "    n3 -> n4",
    "    n4 -> n5",
    "    n5 -> n6",
    "  }",
    '  n7 [label="escalate"]',
    '  n8 [label="pay"]',
    '  n9 [label="switch", shape=diamond]',
    '  n10 [label="output", shape=oval]',
    "  n0 -> n1",
    "  n1 -> n3",
    "  n6 -> n9",
    '  n9 -> n7 [label="large"]',
    '  n9 -> n8 [label="default"]',
    '  n6 -> n7 [label="error", style=dashed, color=red]',
    "  n7 -> n10",
    "  n8 -> n10",
    "}",
    "",
  ],
  "24-resume": ["waiting", "120 refunded for A-1", "ran: [ 'look up', 'approve' ]"],
  "25-telemetry": [
    "A-1 picked, A-1 labelled",
    "executor.process order, links: 0",
    "executor.process pick, links: 1",
    "executor.process label, links: 1",
    "executor.process ship, links: 2",
    "workflow.run, links: 0",
  ],
  "26-runtime": ["resumed: 1", "A-1 delivered, R-A-1", "A-1 delivered, R-A-1", "charged: [ 'A-1' ]"],
  "27-inbox": [
    'Publish "storks are back"?',
    "published: storks are back",
    'Publish "rain tomorrow"?',
    "dropped: rain tomorrow (old news)",
    'Publish "storks are back"? answered by Ada',
    'Publish "rain tomorrow"? answered by Ada',
  ],
  "28-threads": [
    "soup, gladly",
    "bread, and the soup comes too",
    "wine, and the soup and the bread comes too",
  ],
  "29-new-version": [
    'Run "a" was started with another version of workflow "quotes":',
    "  + node round",
    '  + edge {"from":"quote","kind":"single","to":"round"}',
    "Resume it with onGraphChange, or with the old version.",
    "a clock for 40, rounded",
    "a clock for 50",
  ],
  "30-looking-back": [
    "booked Rome for 90",
    "1 look up",
    "2 add fee",
    "3 book",
    "Rome for 90? answered by Ada",
    "stayed at home instead of Rome",
    'Replay of run "to Rome" of workflow "travel": different.',
    "",
    "First difference",
    '  "add fee" (task 2) sent {"city":"Rome","price":90} before, and',
    '  {"city":"Rome","price":95} now.',
    "",
    "Outputs",
    '  - ["booked Rome for 90"]',
    '  + ["booked Rome for 95"]',
    "looked up: [ 'Rome' ]",
  ],
  "31-agent": ["Both are clear, and both have 20 degrees.", "2 model calls, 2 tool calls"],
  "32-agent-in-a-workflow": ["refund: today"],
  "33-approval": [
    'Allow "clerk" to call "pay"? {',
    "  kind: 'tool-approval',",
    "  agent: 'clerk',",
    "  tool: 'pay',",
    "  call: 'call_clerk_1_2',",
    "  args: { to: 'Bob', amount: 500 }",
    "}",
    "Both are paid. [ '50 to Ada', '450 to Bob' ]",
  ],
  "34-hand-off": ["You pay 48. (4 model calls)"],
  "35-mcp": ["Emma, by Jane Austen, is on shelf 3.", "[ 'Emma to Ada' ]"],
  "36-toolsets": [
    'Allow "secretary" to call "write_file"? minutes.md',
    "The minutes are in minutes.md.",
    "# Minutes",
    "",
    "Ada: yes. Bob: no.",
  ],
  "37-research": [
    "started: Research on: Where do white storks build their nests?",
    'searching: Searching: documents "Continue research on: Where do white storks build their nests?"',
    "search_complete: 2 new sources",
    "judging: Judging the evidence",
    "judge_complete: The evidence is sufficient",
    "synthesizing: Writing the report",
    "complete: Research complete",
    "White storks build their nests on roofs, chimneys and poles. [1]",
    "",
    "## Sources",
    "",
    "1. Nests (nests.md:3)",
    "",
    "### Also read",
    "",
    "- Journeys (journeys.md:3)",
  ],
  "38-team-handoff": [
    "reception hands over to billing",
    "Which invoice is it about?",
    "billing hands over to refunds",
    "Invoice 17 is refunded.",
  ],
  "39-team-magentic": [
    "plan: - reader: look in the almanac",
    "manager: How many storks are in the almanac?",
    "reader: The almanac has no number.",
    "plan: - counter: count them",
    "manager: Count the nests, two storks each.",
    "counter: 12 nests, so 24 storks.",
    "manager: There are 24 storks.",
  ],
  "40-remote-agent": [
    "forecaster: Rimini, Sunday: sunny, 24 degrees.",
    "planner: Sunny, 24 degrees: go to the beach.",
  ],
}

/** They use other processes, index files, or the network, which takes real time. */
const OTHERS = new Set(["35-mcp", "37-research", "40-remote-agent"])

const folder = import.meta.dirname
const names = readdirSync(folder)
  .filter((file) => /^\d\d-.*(?<!\.test)\.ts$/.test(file))
  .map((file) => file.replace(/\.ts$/, ""))
  .sort()

describe("an example that is run directly", () => {
  const program = process.argv[1]
  const lines: string[] = []

  beforeEach(() => {
    lines.length = 0
    vi.spyOn(console, "log").mockImplementation((...values) => {
      lines.push(...format(...values).split("\n"))
    })
  })
  afterEach(() => {
    process.argv[1] = program as string
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it.each(names)("%s prints what it promises", async (name) => {
    const file = join(folder, `${name}.ts`)
    process.argv[1] = file
    if (OTHERS.has(name)) return await import(file).then(() => expect(lines).toEqual(PRINTED[name]))
    // Delays of milliseconds pass immediately.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })
    let running = true
    const done = import(file).finally(() => {
      running = false
    })
    while (running) {
      await settled()
      await vi.advanceTimersToNextTimerAsync()
    }
    await done
    expect(lines).toEqual(PRINTED[name])
  })
})

describe("the list of examples", () => {
  it("has every example with its opening sentence", () => {
    const rows = names.map((name) => {
      const opening = /^\/\*\* (?<sentence>.+) \*\/$/m.exec(readFileSync(join(folder, `${name}.ts`), "utf8"))
      return `| [${name}](${name}.ts) | ${opening?.groups?.sentence} |`
    })
    const readme = readFileSync(join(folder, "README.md"), "utf8").split("\n")
    expect(readme.filter((line) => /^\| \[/.test(line))).toEqual(rows)
  })
})
