/** Research: from a question to a report with its sources. */
export { autoResearch, deepResearch, detectResearchMode, type ResearchMode } from "./deep.ts"
export type { ReportClaim } from "./report/citations.ts"
export type {
  ReportSection,
  ReportSource,
  ReportText,
  ResearchReport,
  ResearchSource,
} from "./report/report.ts"
export { reportHtml } from "./report/report-page.ts"
export {
  type ResearchEvent,
  type ResearchEventType,
  ResearchProjection,
  type ResearchSection,
  researchEvents,
} from "./research-events.ts"
export { type EvidenceSearchOptions, iterativeResearch, searchEvidence } from "./research-loop.ts"
export {
  type DeepResearchOptions,
  type Models,
  RESEARCH_ROLES,
  type ResearchBudget,
  type ResearchOptions,
  type ResearchRole,
  type TextEmbeddings,
} from "./research-options.ts"
export type { Evidence, Iteration, JudgeAnswer, ResearchTask, ToolCallMade } from "./research-state.ts"
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
