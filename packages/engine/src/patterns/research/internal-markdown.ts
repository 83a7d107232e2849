/** What needs a parser of Markdown. Import it where it is used: most programs never load the parser. */
export { addressesIn } from "./markdown/safe-markdown.ts"
export { citedIn, mapCitations, ownWords } from "./report/citations.ts"
