/** Exports for other patterns, in addition to the public entry. */
export { tagged } from "./research-agents.ts"
