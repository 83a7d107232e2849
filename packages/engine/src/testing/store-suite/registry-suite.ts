/**
 * The conformance suite of registries, as a list of cases for any test runner:
 *
 *     for (const { name, run } of registrySuite("my store", () => myStore().registry)) test(name, run)
 */

import assert from "node:assert/strict"
import {
  type AgentRow,
  type EdgeRow,
  type NodeRow,
  type Registry,
  type RegistryChange,
  registryVersion,
  type StoredDefinition,
} from "../../runtime/index.ts"
import { tamper } from "../simulation/tamper.ts"
import { plain, rejects, withMade } from "./steps.ts"
import type { StoreCase } from "./store-suite.ts"

export interface RegistrySuiteOptions<R extends Registry> {
  /** Called after each case with its registry. */
  dispose?(registry: R): unknown
}

/** `store` is the prefix of every case name; `make` creates an empty registry for each case. */
export function registrySuite<R extends Registry>(
  store: string,
  make: () => R | Promise<R>,
  options: RegistrySuiteOptions<R> = {},
): readonly StoreCase[] {
  return Object.entries(CASES).map(([name, check]) => ({
    name: `${store}: definitions: ${name}`,
    run: () => withMade(make, options.dispose, check),
  }))
}

const CASES: { readonly [name: string]: (registry: Registry) => Promise<void> } = {
  async "is empty at first"(registry) {
    assert.deepEqual(await registry.agents(), [])
    assert.deepEqual(await registry.agents(["a"]), [])
    assert.deepEqual(await registry.definitions(), [])
    assert.equal(await registry.definition("w"), undefined)
    await registry.write({})
    await registry.write({ removedAgents: ["a"], removedDefinitions: ["w"] })
  },

  async "returns a definition as it was written, with all fields of its rows"(registry) {
    const full: StoredDefinition = {
      workflow: {
        id: "w",
        name: "The workflow",
        description: 'What it does.\nIn "two" lines, with a \\ and 日本 🙂.',
        isConversational: true,
        entrypointNodeId: "n1",
        config: { limits: { max_steps: 7 }, $keys: ["id"], list: [1, null, "a", { deep: [true] }] },
      },
      nodes: [
        node("w", "n1", { agentId: "a", nodeName: "Router" }),
        node("w", "n2", { nodeType: "TOOL_EXECUTOR", config: { retries: 3 } }),
      ],
      edges: [
        edge("w", "e1", { conditionType: "CONDITIONAL", conditionValue: "END" }),
        edge("w", "e2", { targetNodeId: "n2", config: { label: "" } }),
      ],
    }
    await registry.write({ definitions: [full] })
    assert.deepEqual(await registry.definition("w"), full)
    assert.deepEqual(await registry.definitions(), [full.workflow])
    assert.equal(
      JSON.stringify((await registry.definition("w"))?.workflow.config),
      JSON.stringify(full.workflow.config),
    )
  },

  async "returns agents as they were written, with all fields of their rows"(registry) {
    const full = agent("a", {
      name: "The writer",
      description: "",
      prompt: "Write.\n\tWell: 'so', \"so\" and \\so.",
      model: "openai/gpt",
      tools: [{ type: "think" }, "search"],
      config: { temperature: 0.5, sub_agents: [], nothing: null },
    })
    const values = [false, 0, "", "text", [], {}].map((tools, i) => agent(`v${i}`, { tools, config: tools }))
    await registry.write({ agents: [full, agent("b"), ...values] })
    assert.deepEqual(await registry.agents(), [full, agent("b"), ...values])
  },

  async "returns nodes and edges in the order in which they were written"(registry) {
    const names = Array.from({ length: 40 }, (_, i) => `${(i * 17) % 40}`)
    await registry.write({ definitions: [definition("w", names, names)] })
    await registry.write({ definitions: [definition("w", names.toReversed(), names.slice(5))] })
    const stored = await registry.definition("w")
    assert.deepEqual(stored?.nodes.map(ids), names.toReversed())
    assert.deepEqual(stored?.edges.map(ids), names.slice(5))
  },

  async "replaces a definition completely"(registry) {
    await registry.write({ definitions: [definition("w", ["a", "b"], ["x", "y"])] })
    const other = definition("w", ["b", "c"], [], { name: "other", description: "new" })
    await registry.write({ definitions: [other] })
    assert.deepEqual(await registry.definition("w"), other)
    assert.deepEqual(await registry.definitions(), [other.workflow])
  },

  async "separates the nodes and edges of two definitions with the same ids"(registry) {
    const [one, two] = [definition("one", ["a"], ["x"]), definition("two", ["a", "b"], ["x"])]
    await registry.write({ definitions: [one, two] })
    assert.deepEqual(await registry.definition("one"), one)
    assert.deepEqual(await registry.definition("two"), two)
    await registry.write({ removedDefinitions: ["one"] })
    assert.equal(await registry.definition("one"), undefined)
    assert.deepEqual(await registry.definition("two"), two)
  },

  async "returns agents and definitions in the order of their creation, however often they change"(registry) {
    for (const id of ["b", "c", "a"]) {
      await registry.write({ agents: [agent(id)], definitions: [definition(id, [], [])] })
    }
    await registry.write({
      agents: [agent("b", { prompt: "new" })],
      definitions: [definition("b", ["n"], [])],
    })
    assert.deepEqual((await registry.agents()).map(ids), ["b", "c", "a"])
    assert.deepEqual((await registry.definitions()).map(ids), ["b", "c", "a"])
    assert.equal((await registry.agents(["b"]))[0]?.prompt, "new")
    const again = { agents: [agent("b")], definitions: [definition("b", [], [])] }
    await registry.write({ removedAgents: ["b"], removedDefinitions: ["b"], ...again })
    assert.deepEqual((await registry.agents()).map(ids), ["c", "a", "b"])
    assert.deepEqual((await registry.definitions()).map(ids), ["c", "a", "b"])
  },

  async "returns the requested agents, each once, and omits unknown ones"(registry) {
    await registry.write({ agents: ["a", "b", "c"].map((id) => agent(id)) })
    assert.deepEqual((await registry.agents(["c", "none", "a", "c"])).map(ids), ["a", "c"])
    assert.deepEqual(await registry.agents([]), [])
    assert.equal((await registry.agents()).length, 3)
  },

  async "removes what is named, and nothing else"(registry) {
    const all = ["a", "b", "c"]
    await registry.write({
      agents: all.map((id) => agent(id)),
      definitions: all.map((id) => definition(id, ["n"], [])),
    })
    await registry.write({ removedAgents: ["a", "none"], removedDefinitions: ["b", "none"] })
    assert.deepEqual((await registry.agents()).map(ids), ["b", "c"])
    assert.deepEqual((await registry.definitions()).map(ids), ["a", "c"])
    assert.deepEqual(await registry.definition("a"), definition("a", ["n"], []))
  },

  async "applies a change atomically"(registry) {
    const before = { agents: [agent("a")], definitions: [definition("w", ["n"], ["e"])] }
    await registry.write(before)
    const rest: RegistryChange = { removedAgents: ["a"], removedDefinitions: ["w"], agents: [agent("new")] }
    const bad: readonly RegistryChange[] = [
      { ...rest, definitions: [definition("x", ["n", "n"], [])] },
      { ...rest, definitions: [definition("x", [], ["e", "e"])] },
      { ...rest, definitions: [definition("x", [], []), definition("x", [], [])] },
      { ...rest, definitions: [{ ...definition("x", [], []), nodes: [node("other", "n")] }] },
      { ...rest, definitions: [definition("", [], [])] },
      { ...rest, agents: [agent("new"), agent("new")] },
      { ...rest, agents: [agent("new", { config: { n: Number.NaN } })] },
    ]
    for (const change of bad) await rejects(() => registry.write(change), "DEFINITION_INVALID")
    assert.deepEqual(await registry.agents(), before.agents)
    assert.deepEqual(await registry.definition("w"), before.definitions[0])
  },

  async "rejects strings that not every database can store, and keeps all others"(registry) {
    const strange = [
      "",
      " ",
      "'",
      '"',
      "\\",
      "\\n",
      "\n\r\t",
      "\u007f",
      "\ufeff",
      "é",
      "e\u0301",
      "🙂",
      "a/b",
      "%_*",
    ]
    const rows = strange.map((text, i) =>
      agent(`${i}${text}`, { name: text, prompt: text, description: text }),
    )
    await registry.write({ agents: rows })
    assert.deepEqual(await registry.agents(), rows)
    for (const text of ["\u0000", "a\u0000b", "\ud800", "\udc00a"]) {
      for (const field of ["id", "name", "description", "prompt", "model"] as const) {
        await rejects(() => registry.write({ agents: [agent("x", { [field]: text })] }), "DEFINITION_INVALID")
      }
      await registry.write({ agents: [agent("json", { config: { text }, tools: [text] })] })
      assert.deepEqual(await registry.agents(["json"]), [agent("json", { config: { text }, tools: [text] })])
    }
  },

  async "finds and removes nothing by an id that no row can have"(registry) {
    await registry.write({ agents: [agent("\ufffd")], definitions: [definition("\ufffd", ["n"], [])] })
    for (const id of ["\ud800", "\ufffd\u0000"]) {
      assert.equal(await registry.definition(id), undefined)
      assert.deepEqual(await registry.agents([id]), [])
      await registry.write({ removedAgents: [id], removedDefinitions: [id] })
    }
    assert.deepEqual((await registry.agents()).map(ids), ["\ufffd"])
    assert.deepEqual(await registry.definition("\ufffd"), definition("\ufffd", ["n"], []))
  },

  async "keeps large definitions"(registry) {
    const names = Array.from({ length: 2_000 }, (_, i) => `n${i}`)
    const large = definition("w", names, names, {
      description: "x".repeat(200_000),
      config: { t: "é".repeat(100_000) },
    })
    await registry.write({ definitions: [large], agents: names.map((id) => agent(id)) })
    assert.deepEqual(await registry.definition("w"), large)
    assert.equal((await registry.agents(names)).length, 2_000)
  },

  async "overwrites only what the writer has seen"(registry) {
    const first = definition("w", ["n"], [])
    await registry.write({ definitions: [first], agents: [agent("a")] }, none())
    await rejects(
      () => registry.write({ definitions: [definition("w", [], [])] }, none()),
      "REGISTRY_CONFLICT",
    )
    const seen = {
      definitions: { w: registryVersion((await registry.definition("w")) as StoredDefinition) },
      agents: { a: registryVersion((await registry.agents(["a"]))[0] as AgentRow) },
    }
    const second = definition("w", ["n", "n2"], ["e"])
    await registry.write({ definitions: [second] }, seen)
    // A second writer with the same version is too late, and changes nothing.
    const late = { definitions: [definition("w", [], [])], agents: [agent("a", { prompt: "late" })] }
    await rejects(() => registry.write(late, seen), "REGISTRY_CONFLICT")
    assert.deepEqual(await registry.definition("w"), second)
    assert.deepEqual(await registry.agents(), [agent("a")])
    await rejects(() => registry.write({ removedDefinitions: ["w"] }, seen), "REGISTRY_CONFLICT")
    await rejects(() => registry.write({}, { agents: { b: seen.agents.a } }), "REGISTRY_CONFLICT")
    await registry.write({ agents: [agent("a", { prompt: "in time" })] }, { agents: seen.agents })
    assert.equal((await registry.agents())[0]?.prompt, "in time")
  },

  async "lets one of many writers with the same version win"(registry) {
    const written = await Promise.allSettled(
      Array.from({ length: 10 }, async (_, i) =>
        registry.write({ agents: [agent("a", { prompt: `${i}` })] }, { agents: { a: null } }),
      ),
    )
    assert.equal(written.filter(({ status }) => status === "fulfilled").length, 1)
    const winner = written.findIndex(({ status }) => status === "fulfilled")
    assert.equal((await registry.agents())[0]?.prompt, `${winner}`)
  },

  async "returns copies: a later change does not change what was read"(registry) {
    await registry.write({ agents: [agent("a")], definitions: [definition("w", ["n"], [])] })
    const [agents, stored] = [await registry.agents(), await registry.definition("w")]
    await registry.write({ agents: [agent("a", { prompt: "new" })], definitions: [definition("w", [], [])] })
    assert.deepEqual(agents, [agent("a")])
    assert.deepEqual(stored, definition("w", ["n"], []))
  },

  async "is not changed when a caller changes rows that it passed or received"(registry) {
    const config = () => ({ list: [1, { deep: "value" }] })
    const change = {
      agents: [agent("a", { tools: [config()], config: config() })],
      definitions: [definition("w", ["n"], ["e"], { config: config() })],
    }
    const all = async () => ({
      agents: await registry.agents(),
      definitions: await registry.definitions(),
      definition: await registry.definition("w"),
    })
    await registry.write(change)
    const before = plain(await all())
    tamper(change)
    assert.deepEqual(plain(await all()), before, "what was passed to it")
    tamper(await all())
    assert.deepEqual(plain(await all()), before, "what it returned")
  },
}

function none() {
  return { definitions: { w: null }, agents: { a: null } }
}

function ids({ id }: { readonly id: string }): string {
  return id
}

function agent(id: string, more: Partial<AgentRow> = {}): AgentRow {
  return { id, name: id, description: null, prompt: null, model: null, tools: null, config: null, ...more }
}

function node(workflowId: string, id: string, more: Partial<NodeRow> = {}): NodeRow {
  return { id, workflowId, nodeType: "AGENT", nodeName: id, agentId: null, config: null, ...more }
}

function edge(workflowId: string, id: string, more: Partial<EdgeRow> = {}): EdgeRow {
  const always = { targetNodeId: null, conditionType: "ALWAYS", conditionValue: null, config: null }
  return { id, workflowId, sourceNodeId: "n1", ...always, ...more }
}

function definition(
  id: string,
  nodes: readonly string[],
  edges: readonly string[],
  more: Partial<StoredDefinition["workflow"]> = {},
): StoredDefinition {
  const row = { id, name: id, description: null, isConversational: false, entrypointNodeId: "", config: null }
  return {
    workflow: { ...row, ...more },
    nodes: nodes.map((one) => node(id, one)),
    edges: edges.map((one) => edge(id, one)),
  }
}
