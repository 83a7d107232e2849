// The systems that are compared, and what each can be asked.
//
// A system is a module that exports
//   open(path, { full })    makes the file, ready to be written                      → a session
//     session.steps(count)     one run; each step adds a message to its state         → a pass: () => Promise<messages>
//     session.concurrent(runs) runs of 10 such steps, all under way at once           → a pass: () => Promise<messages>
//     session.close()
//   wait(path, { steps, growing })    makes a run that has done so many steps and waits for a person
//   resume(path, { steps, growing })  brings that run to where it can be answered    → { lastMessage, close() }
// `full` asks for durability against power failure; only raw and ours have it here. Mastra has
// no `wait`, and is left out of the tables about resuming. Where state does not grow, a step replaces the message before it.
// Building the graph and making the file are outside the pass.
import { isInstalled } from "../../environment.mjs"

/** Names in the order in which tables show them; `raw` is the limit the others are held against. */
export const systemNames = ["raw", "superstep", "langgraph", "langgraph delta", "mastra"]

const modules = {
  raw: "./raw.mjs",
  superstep: "./superstep.mjs",
  langgraph: "./langgraph.mjs",
  "langgraph delta": "./langgraph-delta.mjs",
  mastra: "./mastra.mjs",
}

/** Loads one system; only the process that measures it does so. */
export function loadSystem(name) {
  return import(modules[name])
}

const saver = "@langchain/langgraph-checkpoint-sqlite"
const needed = { langgraph: saver, "langgraph delta": saver, mastra: "@mastra/libsql" }

/** Why a system cannot be measured here, or undefined when it can. */
export function missing(name) {
  const peer = needed[name]
  if (peer === undefined || isInstalled(peer)) return undefined
  return `${peer} is not installed: run npm ci here. Where better-sqlite3 neither downloads nor compiles, npm leaves it out`
}
