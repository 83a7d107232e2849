/** Agents of other processes, as ordinary workflows. */
export { a2aAgent } from "./a2a-agent.ts"
export type { A2aAgentOptions } from "./a2a-client.ts"
export type { A2aVersion } from "./a2a-wire.ts"
export { type FoundryAgentOptions, foundryAgent } from "./foundry-agent.ts"
export type { RemoteAgent, RemoteInput, RemoteOptions, RemoteToken } from "./remote-agent.ts"
