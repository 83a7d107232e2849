import { expect, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const row = { workflowId: "desk" }
const node = (id: string, nodeType: string, nodeName: string, agentId: string | null) => ({
  id,
  ...row,
  nodeType,
  nodeName,
  agentId,
})
const edge = (id: string, from: string, to: string | null, value: string | null) => ({
  id,
  ...row,
  sourceNodeId: from,
  targetNodeId: to,
  conditionType: value === null ? "ALWAYS" : "CONDITIONAL",
  conditionValue: value,
})
const DESK = JSON.stringify({
  id: "desk",
  isConversational: true,
  entrypointNodeId: "uuid-1",
  nodes: [node("uuid-1", "AGENT", "Router", "router"), node("uuid-2", "HUMAN_HANDOFF", "Front desk", null)],
  edges: [edge("e1", "uuid-1", "uuid-2", "Front desk"), edge("e2", "uuid-1", null, "END")],
  agents: { router: { model: "openai/x" } },
})
const files = { "desk.json": DESK, "script.yaml": `router: ['{"next":"Front desk"}']\n` }

test("people see the names of nodes, and nodes that only connect others are not shown; --verbose shows ids", async () => {
  const io = testIo({ files })
  const { code, stderr } = await superstep(
    ["run", "desk.json", "Hi", "--run-id", "r", "--model", "scripted:script.yaml"],
    io,
  )
  expect([code, stderr]).toEqual([3, expect.stringMatching(/^✓ Router /m)])
  const shown = (await superstep(["runs", "show", "r"], io)).stdout
  expect(shown).toMatch(/^ {2}Router +1 {2}finished/m)
  expect(shown).toMatch(/^ {2}Front desk +1 {2}parked/m)
  expect(shown).not.toMatch(/uuid|#/)
  expect((await superstep(["inbox"], io)).stdout).toContain("desk · Front desk")
  const ids = (await superstep(["runs", "show", "r", "--verbose"], io)).stdout
  expect(ids).toMatch(/^ {2}uuid-1 /m)
  expect(ids).toContain("#start")
  const events = (await superstep(["runs", "events", "r"], io)).stdout
  expect(events).toMatch(/task\.finished +Router#\d/)
  expect(events).not.toMatch(/uuid-\d#/)
  expect((await superstep(["runs", "events", "r", "--verbose"], io)).stdout).toMatch(/uuid-1#\d/)
  const task = /Router#(\d+)/.exec(events)?.[1] as string
  expect((await superstep(["runs", "why", "r", task], io)).stdout).toMatch(/→ Front desk/)
})

test("a diagram has names, and labels what ends the run and what a false condition leads to", async () => {
  const steps = `workflow:
  - { id: ask, type: human, prompt: Well? }
  - { id: check, type: condition, condition: "$steps.ask.output == 'yes'", true: [{ id: done, type: human, prompt: Done? }], false: [{ goto: ask }] }
`
  const io = testIo({ files: { ...files, "steps.yaml": steps } })
  const desk = (await superstep(["graph", "desk.json", "--format", "mermaid"], io)).stdout
  expect(desk).toContain("Router")
  expect(desk).toContain("END")
  expect(desk).not.toContain("uuid")
  expect(desk).not.toContain("#35;")
  const flow = (await superstep(["graph", "steps.yaml", "--format", "mermaid"], io)).stdout
  expect(flow).toContain('-->|"true"|')
  expect(flow).toContain('-->|"false"|')
})
