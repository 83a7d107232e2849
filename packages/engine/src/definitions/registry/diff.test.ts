import { expect, test } from "vitest"
import type { Json } from "../../core/index.ts"
import { type JsonRecord, rowsOf } from "./document-rows.ts"
import { chat, executor } from "./documents.test-support.ts"
import { diffDefinition } from "./registry.ts"

const words = (before: JsonRecord, after: JsonRecord) =>
  diffDefinition(rowsOf(before).definition, after, { agents: rowsOf(before).agents }).map(
    (change) => change.words,
  )

const list = (value: Json | undefined) => value as readonly JsonRecord[]

test("a document that equals the stored one has no differences", () => {
  expect(words(chat(), chat())).toEqual([])
  expect(words(executor, executor)).toEqual([])
})

test("added, removed and changed nodes and edges are reported by their ids", () => {
  const [first, second] = list(chat().nodes)
  const after = {
    ...chat(),
    nodes: [first, { ...second, nodeName: "Helper", agentId: null }, { id: "n4", nodeType: "AGENT" }],
    edges: list(chat().edges).slice(1),
  } as JsonRecord
  expect(words(chat(), after)).toEqual([
    'node "n3" removed',
    'node "n2" changed: nodeName "Worker" → "Helper"; agentId "worker" → null',
    'node "n4" added',
    'edge "e1" removed',
  ])
})

test("fields of the workflow are reported under the document's names, nested ones with dots", () => {
  const { description: _, ...rest } = chat()
  const before = { ...rest, limits: { max_steps: 5, deep: { a: [1] } } }
  const after = { ...chat(), name: "Talk", limits: { max_steps: 6, deep: { a: [1, 2] }, timeout_ms: 9 } }
  expect(diffDefinition(rowsOf(before).definition, after)).toEqual([
    {
      kind: "changed",
      of: "workflow",
      id: "chat",
      fields: [
        { field: "name", before: "Chat", after: "Talk" },
        { field: "limits.max_steps", before: 5, after: 6 },
        { field: "limits.deep.a", before: [1], after: [1, 2] },
        { field: "limits.timeout_ms", before: undefined, after: 9 },
        { field: "description", before: undefined, after: "A router and a worker." },
      ],
      words:
        'workflow "chat" changed: name "Chat" → "Talk"; limits.max_steps 5 → 6; limits.deep.a [1] → [1,2]; limits.timeout_ms 9 added; description "A router and a worker." added',
    },
  ])
})

test("fields are reported in the document's own spelling", () => {
  const [start, check] = list(executor.nodes)
  const after = {
    ...executor,
    nodes: [start, check, { id: "write", type: "agent", agent_id: "b" }],
  } as JsonRecord
  expect(words(executor, after)).toEqual([
    'node "write" changed: agent_id "writer-1" → "b"; inputs {"goal":"goal"} removed; max_iters 3 removed',
  ])
})

test("long values are truncated in the text, and complete in the data", () => {
  const after = { ...chat(), description: "x".repeat(500) }
  const [change] = diffDefinition(rowsOf(chat()).definition, after)
  expect(change?.words.length).toBeLessThan(200)
  expect(change?.fields[0]?.after).toBe("x".repeat(500))
})

test("agents of the document are compared with the stored ones", () => {
  const before = { ...chat(), agents: { router: { model: "a" }, gone: {} } }
  const after = { ...chat(), agents: { router: { model: "b" }, worker: {} } }
  expect(words(before, after)).toEqual([
    'agent "gone" removed',
    'agent "router" changed: model "a" → "b"',
    'agent "worker" added',
  ])
})

test("everything is added if nothing is stored", () => {
  const changes = diffDefinition(undefined, chat())
  expect(changes).toHaveLength(7)
  expect(changes.every(({ kind }) => kind === "added")).toBe(true)
})

test("another order of nodes, edges, fields or agents is reported as reordered", () => {
  const agents = { router: { model: "a", prompt: "b" }, worker: {} }
  const before: JsonRecord = { ...chat(), agents }
  for (const after of [
    { ...before, nodes: list(before.nodes).toReversed() },
    { ...before, edges: list(before.edges).toReversed() },
    { ...before, agents: { worker: {}, router: { model: "a", prompt: "b" } } },
    Object.fromEntries(Object.entries(before).reverse()),
  ]) {
    expect(words(before, after)).toEqual(['workflow "chat" reordered'])
  }
  const after = { ...before, agents: { router: { prompt: "b", model: "a" }, worker: {} } }
  expect(words(before, after)).toEqual(['agent "router" reordered'])
})
