/** A small store that has something of everything, and all that can be read from it. */
import { LARGE_VALUE as LIMIT } from "@superstep/engine/stores"
import type { SqliteStore } from "../sqlite-store.ts"
import { created, lease, records } from "../stored-values.test-support.ts"

export async function fill(store: SqliteStore): Promise<void> {
  const request = (id: string) => ({ id, node: "n", task: 1, prompt: "Which?", openedAt: 1, to: "Ada" })
  await store.append(lease("first"), 0, records(1, 3, "some value"), {
    ...created({ key: "key", thread: "thread", labels: { file: "order.yaml" } }),
    graphs: [{ hash: "g", graph: { nodes: ["a", "b"] } }],
    opened: [request("q1"), request("q2")],
    thread: [
      { key: "messages", kind: "append", value: ["hello"] },
      { key: "level", kind: "set", value: 3 },
    ],
  })
  await store.append(lease("first"), 3, records(4, 2, { text: "large".repeat(LIMIT / 5 + 1) }), {
    closed: [{ id: "q1", outcome: "answered", at: 1_005, by: "Ada" }],
    status: "waiting",
  })
  await store.saveSnapshot(lease("first"), { seq: 4, data: { state: [1, 2, 3] } })
  await store.append(
    lease("fork"),
    2,
    records(3, 2, "another"),
    created({ forkOf: { runId: "first", seq: 2 } }),
  )
  await store.append(lease("over"), 0, records(1, 1), { ...created(), status: "completed" })
  await store.release(lease("fork"), 77)
  await store.pin("over", true)
  await store.post({
    id: "mail",
    runId: "first",
    at: 3,
    command: { type: "answer", request: "q2", value: "that one" },
  })
  await store.schedules.write(
    { id: "daily", workflow: "w", nextAt: 99, version: "1", body: { cron: "0 9 * * *" } },
    undefined,
  )
  await store.records.put("api-key", "k1", { name: "key", role: "viewer" }, null)
  const none = { description: null, prompt: null, model: null, tools: null, config: null }
  await store.registry.write({
    agents: [
      { id: "a", name: "Agent", ...none, prompt: "Write." },
      { id: "b", name: "Other", ...none },
    ],
    definitions: [
      {
        workflow: {
          id: "w",
          name: "Flow",
          description: null,
          isConversational: false,
          entrypointNodeId: "n",
          config: { limit: 5 },
        },
        nodes: [
          { id: "n", workflowId: "w", nodeType: "AGENT", nodeName: "N", agentId: "a", config: null },
          { id: "m", workflowId: "w", nodeType: "AGENT", nodeName: "M", agentId: "b", config: null },
        ],
        edges: [],
      },
    ],
  })
}

/** What is asked for by its name: damage must be seen, or it is as it was. Errors stand for their values. */
export async function allOf(store: SqliteStore): Promise<Record<string, unknown>> {
  const reads: Record<string, () => Promise<unknown>> = { graph: () => store.graph("g") }
  for (const runId of ["first", "fork", "over", "none"]) {
    reads[`run ${runId}`] = () => store.run(runId)
    reads[`journal ${runId}`] = () => store.read(runId, 0)
    reads[`snapshot ${runId}`] = () => store.snapshot(runId)
  }
  reads.thread = () => store.thread("thread")
  reads["earlier thread"] = () => store.thread("thread", 1)
  reads.schedule = () => store.schedules.get("daily")
  reads.record = () => store.records.get("api-key", "k1")
  reads.definition = () => store.registry.definition("w")
  return await settled(reads)
}

/** Lists. Damage to an index may leave something out of them; what is in them must be as it was. */
export async function listsOf(store: SqliteStore): Promise<Record<string, unknown>> {
  return await settled({
    runs: () => store.runs({}),
    "waiting runs": () => store.runs({ status: ["waiting"] }),
    "runs of a workflow": () => store.runs({ workflow: "w" }),
    "runs with a label": () => store.runs({ labels: { file: "order.yaml" } }),
    "runs by a part of a name": () => store.runs({ text: "first" }),
    requests: () => store.requests({ outcome: ["open", "answered"] }),
    mail: () => store.mail("h"),
    free: () => store.free({ workflows: ["w"], now: 100, limit: 9, suspects: false }),
    schedules: () => store.schedules.list({}),
    records: () => store.records.list("api-key"),
    agents: () => store.registry.agents(),
    definitions: () => store.registry.definitions(),
  })
}

async function settled(reads: Record<string, () => Promise<unknown>>): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {}
  for (const [what, read] of Object.entries(reads)) values[what] = await read().catch((error) => error)
  return values
}
