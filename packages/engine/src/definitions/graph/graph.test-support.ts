/** For tests of graphs: loads one, with a model that is scripted by agent, and runs it. */
import type { Json } from "../../core/index.ts"
import type { Diagnostic } from "../../document/index.ts"
import { type Script, type ScriptedModel, scriptedModel } from "../../models/index.ts"
import type { RunOptions } from "../../runtime/index.ts"
import type { Definition, LoadOptions } from "../definition.ts"
import { loadDefinition } from "../load.ts"

export type Graph = { readonly [field: string]: unknown }

export function load(graph: Graph | string, options: LoadOptions = {}): Definition {
  const { definition, diagnostics } = tryLoad(graph, options)
  if (definition === undefined) throw new Error(diagnostics.map(shown).join("\n"))
  return definition
}

export function tryLoad(graph: Graph | string, options: LoadOptions = {}) {
  const text = typeof graph === "string" ? graph : JSON.stringify(graph, undefined, 2)
  return loadDefinition({ file: typeof graph === "string" ? "graph.yaml" : "graph.json", text }, options)
}

/** `code message`, and the suggestion. */
export function shown({ code, message, suggestion }: Diagnostic): string {
  return `${code} ${message}${suggestion === undefined ? "" : ` (${suggestion}?)`}`
}

export function problemsOf(graph: Graph | string, options: LoadOptions = {}): string[] {
  return tryLoad(graph, options).diagnostics.map(shown)
}

interface Played {
  readonly options?: LoadOptions | undefined
  readonly run?: RunOptions | undefined
}

/** Runs it with a script of replies by agent. Returns the calls in order. */
export async function play(
  graph: Graph | string,
  script: Script,
  goal = "Go",
  { options, run }: Played = {},
) {
  const model = scriptedModel(script)
  const { workflow } = load(graph, { ...options, model: () => model })
  const visited: string[] = []
  const running = workflow.stream(goal, run)
  for await (const event of running) if (event.type === "task.started") visited.push(event.node)
  const result = await running.result
  return { ...result, visited: visited.filter((id) => !id.startsWith("#")), ...asked(model) }
}

/** The called agents and their prompts. */
function asked(model: ScriptedModel) {
  const contentsOf = (role: string) =>
    model.calls.map(({ prompt }) =>
      prompt
        .filter((message) => message.role === role)
        .map(({ content }) => (typeof content === "string" ? content : wordsOf(content)))
        .join("\n"),
    )
  return {
    agents: model.calls.map(({ agent }) => agent),
    prompts: contentsOf("user"),
    systems: contentsOf("system"),
    tools: model.calls.map(({ options }) => (options.tools ?? []).map(({ name }) => name)),
    roles: model.calls.map(({ prompt }) => prompt.map(({ role }) => role)),
  }
}

function wordsOf(content: readonly { readonly type: string }[]): string {
  return content.map((part) => ("text" in part ? String(part.text) : "")).join("")
}

/** A conversation as rows: `Router > RC2` is an edge chosen by that name, `Router >` one to the end. */
export function chat(nodes: readonly string[], edges: readonly string[], more: Graph = {}): Graph {
  const typeOf = (name: string) =>
    name === "tools" ? "TOOL_EXECUTOR" : name === "person" ? "HUMAN_HANDOFF" : "AGENT"
  const isAgent = (name: string) => typeOf(name) === "AGENT"
  return {
    id: "chat",
    name: "Chat",
    entrypointNodeId: nodes[0],
    nodes: nodes.map((name) => ({
      id: name,
      workflowId: "chat",
      nodeType: typeOf(name),
      nodeName: name,
      agentId: isAgent(name) ? name : null,
    })),
    edges: edges.map((text, i) => edgeOf(text, i)),
    agents: Object.fromEntries(nodes.filter(isAgent).map((name) => [name, { model: "offline" }])),
    ...more,
  }
}

/** `a -> b` is always followed, `a -x-> b` if x is next; `END` is the end. */
function edgeOf(text: string, i: number): { [field: string]: Json } {
  const [, from = "", value, to = ""] = /^(\S+) -(?:(\S+)-)?> (\S+)$/.exec(text) ?? []
  return {
    id: `e${i + 1}`,
    workflowId: "chat",
    sourceNodeId: from,
    targetNodeId: to === "END" ? null : to,
    conditionType: value === undefined ? "ALWAYS" : "CONDITIONAL",
    conditionValue: value ?? null,
  }
}

/** The executor's JSON. Agents have the names of their nodes; `a -> b if latest == "x"`. */
export function flow(nodes: readonly Graph[], edges: readonly string[], more: Graph = {}): Graph {
  const ids = nodes.flatMap(({ type, agent_id }) => (type === "agent" ? [String(agent_id)] : []))
  return {
    id: "flow",
    nodes,
    edges: edges.map((text) => {
      const [, from_node, to_node, condition] = /^(\S+) -> (\S+)(?: if (.*))?$/.exec(text) ?? []
      return {
        from_node,
        to_node: to_node === "END" ? null : to_node,
        ...(condition === undefined ? {} : { condition }),
      }
    }),
    agents: Object.fromEntries(ids.map((id) => [id, { model: "offline" }])),
    ...more,
  }
}

export function agentNode(id: string, more: Graph = {}): Graph {
  return { id, type: "agent", agent_id: id, ...more }
}

/** A tool that needs no shell. */
export const THINKER = { model: "offline", toolsets: [{ type: "think" }] }
