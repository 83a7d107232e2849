/** Agents that live elsewhere, by their address: used wherever an agent is. */
export { type A2aAgentOptions, a2aAgent } from "./a2a-agent.ts"
export type { A2aVersion } from "./a2a-wire.ts"
export { type FoundryAgentOptions, foundryAgent } from "./foundry-agent.ts"
export type { RemoteAgent, RemoteInput, RemoteOptions, Token } from "./remote-agent.ts"
