/** Ready-made patterns, each an ordinary workflow, and the ports of the sources that they search. */

export type { Evidence as GoalEvidence } from "./goal/answer/evidence.ts"
export type { GoalBasis, GoalSource } from "./goal/answer/goal-sources.ts"
export type { ConfiguredSource, GoalBackends } from "./goal/goal-backends.ts"
export { goalChat } from "./goal/goal-chat.ts"
export type { GoalAgent, GoalConfig, GoalSearch, SqlSearch } from "./goal/goal-config.ts"
export type { DatabaseSettings, GraphSettings, IndexSettings } from "./goal/goal-shape.ts"
export {
  type GoalWorkflow,
  type GraphGoalConfig,
  goalWorkflow,
  graphWorkflow,
  runGoal,
  runGraphWorkflow,
} from "./goal/graph-workflow.ts"
export {
  type GoalFile,
  isGoalConfig,
  type LoadedGoal,
  type LoadGoalOptions,
  loadGoalConfig,
} from "./goal/load-goal-config.ts"
export { type FormatOptions, formatRows } from "./goal/search/database-text.ts"
export type { GoalRoute } from "./goal/search/search-stages.ts"
export { runSequentialGoal, sequentialGoal } from "./goal/sequential-goal.ts"
export type {
  AskOptions,
  BestDatabase,
  Column,
  CypherQueries,
  Database,
  DatabaseProfile,
  ForeignKey,
  Found,
  PageReader,
  QueryOptions,
  QueryResult,
  RankedSource,
  Retriever,
  SchemaRetriever,
  SearchOptions,
  SourceRanker,
  SourceRanking,
  Sources,
  Table,
  WebPage,
  WebResult,
  WebSearch,
} from "./ports.ts"
export { a2aAgent } from "./remote/a2a-agent.ts"
export type { A2aAgentOptions } from "./remote/a2a-client.ts"
export type { A2aVersion } from "./remote/a2a-wire.ts"
export { type FoundryAgentOptions, foundryAgent } from "./remote/foundry-agent.ts"
export type { RemoteAgent, RemoteInput, RemoteOptions, RemoteToken } from "./remote/remote-agent.ts"
export {
  autoResearch,
  type DeepResearchOptions,
  deepResearch,
  detectResearchMode,
  documentsTool,
  type Evidence,
  type EvidenceSearchOptions,
  type Iteration,
  iterativeResearch,
  type JudgeAnswer,
  type Models,
  pageTool,
  type ReportClaim,
  type ReportSection,
  type ReportSource,
  type ReportText,
  type ResearchBudget,
  type ResearchCall,
  type ResearchEvent,
  type ResearchEventType,
  type ResearchMode,
  type ResearchOptions,
  ResearchProjection,
  type ResearchReport,
  type ResearchRole,
  type ResearchSection,
  type ResearchSource,
  type ResearchTask,
  type ResearchTool,
  reportHtml,
  researchEvents,
  searchEvidence,
  type TextEmbeddings,
  type ToolCallMade,
  type ToolFinding,
  type ToolSource,
  type WebSearchToolOptions,
  webSearchTool,
} from "./research/index.ts"
export {
  type Aggregate,
  type Choosing,
  type ConcurrentOptions,
  concurrent,
  type Ended,
  type Finding,
  type GroupChatOptions,
  groupChat,
  type HandoffOptions,
  handoff,
  type MagenticOptions,
  type Member,
  magentic,
  type PersonOptions,
  type PlanAnswer,
  type ProgressLedger,
  person,
  type SelectSpeaker,
  type SomeAgent,
  sequential,
  type Team,
  type TeamInput,
  type TeamMessage,
  type TeamOptions,
  type TeamState,
  type Terminate,
} from "./teams/index.ts"
