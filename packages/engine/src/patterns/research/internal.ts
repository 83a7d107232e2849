/** What other patterns use besides the public entry. */
export { tagged } from "./research-agents.ts"
