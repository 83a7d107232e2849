/** Teams: several agents that work on one task, as an ordinary workflow that takes a string or a conversation. */
export { type Choosing, type GroupChatOptions, groupChat, type SelectSpeaker } from "./group-chat.ts"
export { type HandoffOptions, handoff } from "./handoff.ts"
export {
  type Finding,
  type MagenticOptions,
  magentic,
  type PlanAnswer,
  type ProgressLedger,
} from "./magentic.ts"
export {
  isReservedName,
  type Member,
  type PersonOptions,
  person,
  type SomeAgent,
  type TeamInput,
  type TeamMessage,
} from "./member.ts"
export { type Aggregate, type ConcurrentOptions, concurrent, sequential } from "./single-pass.ts"
export type { Ended, Team, TeamOptions, TeamState, Terminate } from "./team.ts"
