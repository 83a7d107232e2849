/** Sub-workflow: a workflow as a node of another one. */
import { node, workflow } from "superstep"

interface Document {
  readonly title: string
  readonly text: string
}

const clean = node("clean", ({ title, text }: Document) => ({
  title,
  text: text.trim().replace(/\s+/g, " "),
}))
const measure = node("measure", (document: Document) => ({
  ...document,
  words: document.text.split(" ").length,
}))

// A complete workflow: it can be run, tested and drawn alone, and be part of others.
export const prepare = workflow("prepare").chain(clean, measure).build()

const load = node("load", (title: string): Document => ({ title, text: `  Minutes of   the ${title}.\n` }))
const index = node(
  "index",
  ({ title, words }: Document & { words: number }) => `${title}: ${words} words indexed`,
)

export const indexing = workflow("indexing").chain(load, prepare.asNode(), index).build()

if (import.meta.filename === process.argv[1]) {
  console.log(...(await prepare.run({ title: "note", text: " one  two " })).outputs)
  console.log(...(await indexing.run("board meeting")).outputs)
}
