/** Research: from a question to a report with its sources. */
export { autoResearch, detectResearchMode, type ResearchMode } from "./auto.ts"
export { deepResearch } from "./deep.ts"
export { type EvidenceSearchOptions, searchEvidence } from "./evidence.ts"
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
export { iterativeResearch } from "./research-loop.ts"
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
