/** A report in HTML, with a parser of Markdown that is loaded when it is asked for. */
import { loadModule } from "../../../core/internal.ts"
import type { ResearchReport } from "./report.ts"

/** One file that loads nothing and runs nothing, for screens and paper. `state.report` of a research has the report. */
export async function reportHtml(report: ResearchReport): Promise<string> {
  const page = await loadModule(() => import("./report-html.ts"))
  return page.reportHtml(report)
}
