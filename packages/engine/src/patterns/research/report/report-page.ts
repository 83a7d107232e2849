/** Renders a report as HTML. The Markdown parser is loaded on first use. */
import { loadModule } from "../../../core/internal.ts"
import type { ResearchReport } from "./report.ts"

/**
 * One self-contained file, without external resources and scripts, for screens and paper. `state.report` of a research
 * has the report.
 */
export async function reportHtml(report: ResearchReport): Promise<string> {
  const page = await loadModule(() => import("./report-html.ts"))
  return page.reportHtml(report)
}
