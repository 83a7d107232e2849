/** Research: from a question to a report with its sources. */
export { autoResearch } from "./auto.ts"
export { deepResearch } from "./deep.ts"
export { detectResearchMode, type ResearchMode } from "./detect-mode.ts"
export { type EvidenceSearchOptions, searchEvidence } from "./evidence-search.ts"
export { iterativeResearch } from "./iterative.ts"
export type { JudgeAnswer, ResearchTask } from "./research-answers.ts"
export {
  type ResearchEvent,
  type ResearchEventType,
  ResearchProjection,
  type ResearchSection,
  researchEvents,
} from "./research-events.ts"
export {
  type DeepResearchOptions,
  type Models,
  RESEARCH_ROLES,
  type ResearchBudget,
  type ResearchOptions,
  type ResearchRole,
  type TextEmbeddings,
} from "./research-options.ts"
export type { Evidence, Iteration, ToolCallMade } from "./research-state.ts"
export {
  documentsTool,
  pageTool,
  type ResearchCall,
  type ResearchTool,
  type ToolFinding,
  type ToolSource,
  type WebSearchToolOptions,
  webSearchTool,
} from "./research-tools.ts"
