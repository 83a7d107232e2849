/** Exports that need a Markdown parser. Import this file lazily: most programs never load the parser. */
export { addressesIn } from "./markdown/safe-markdown.ts"
export { citedIn, mapCitations, ownWords } from "./report/citations.ts"
