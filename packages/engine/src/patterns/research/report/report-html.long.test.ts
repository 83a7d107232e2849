import { expect, test } from "vitest"
import { finishReport } from "./finish-report.ts"
import { reportHtml } from "./report-html.ts"

test.each(["*a ", "_a_ ", "**", "* ", "[1]", "`", "<b>"])(
  "a page of 200 KB of %j takes linear time",
  (part) => {
    const text = part.repeat(200_000 / part.length)
    const page = reportHtml(
      finishReport({ question: "What is tea?", text, evidence: [], isShown: () => true, incomplete: [] }),
    )
    expect(page).toContain("</html>")
  },
)
