/** Map: one task per item of a list, with limited concurrency, and the results in the order of the items. */
import { node, workflow } from "superstep"

const pages = node("pages", (document: string) => document.split("\n---\n"))
const count = node("count", async (page: string) => page.split(/\s+/).filter(Boolean).length)
const report = node("report", (counts: readonly number[]) => ({
  perPage: counts,
  total: counts.reduce((sum, words) => sum + words, 0),
}))

// At most two pages are processed at once, however long the document is.
export const wordCount = workflow("word-count")
  .start(pages)
  .map(pages, count, report, { concurrency: 2 })
  .build()

export const contract = [
  "The supplier delivers monthly.",
  "The buyer pays within thirty days.",
  "Either side may end this.",
].join("\n---\n")

if (import.meta.filename === process.argv[1]) {
  console.log(...(await wordCount.run(contract)).outputs)
}
