// The systems that are compared, and what each can be asked.
//
// A system is a module that exports some of these. One it does not export is left out of that table.
//   chain(steps)    a chain of async nodes, each adding one        → a pass: () => Promise<steps>
//   loop(passes)    two nodes in a loop, each adding one           → a pass: () => Promise<2 × passes>
//   fanOut(items)   a list, one task per item, the list gathered   → a pass: () => Promise<checksum>
//   stream(steps)   a chain whose events are all consumed          → a pass: () => Promise<steps>
//   pending(items)  a fan-out whose workers all wait on a gate     → { finish(): Promise<checksum> }
//   idle(runs)      runs that wait for an answer from outside      → { finish(): Promise<sum of answers> }
// Building the graph is outside the pass: users build once and run often.
import { isInstalled } from "../environment.mjs"

/** Names in the order in which tables show them; `plain` is the limit the others are held against. */
export const systemNames = [
  "plain",
  "superstep",
  "superstep + memory store",
  "langgraph",
  "langgraph functional",
  "mastra",
  "xstate",
]

const modules = {
  plain: "./plain.mjs",
  superstep: "./superstep.mjs",
  "superstep + memory store": "./superstep-memory-store.mjs",
  langgraph: "./langgraph.mjs",
  "langgraph functional": "./langgraph-functional.mjs",
  mastra: "./mastra.mjs",
  xstate: "./xstate.mjs",
}

const needed = {
  langgraph: "@langchain/langgraph",
  "langgraph functional": "@langchain/langgraph",
  mastra: "@mastra/core",
  xstate: "xstate",
}

/** Why a system cannot be measured here, or undefined when it can. */
export function missing(name) {
  const peer = needed[name]
  return peer === undefined || isInstalled(peer) ? undefined : `${peer} is not installed`
}

/** Loads one system; only the process that measures it does so. */
export function loadSystem(name) {
  return import(modules[name])
}
