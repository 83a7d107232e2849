/**
 * What a model wrote, without what it must not write: links and images, lists of sources of its own, and citation numbers
 * that no evidence has.
 */
import { isCheapMarkdown, withoutMarkup } from "../markdown/markdown-cost.ts"
import { codeMasked } from "../markdown/markdown-parts.ts"
import { type IsKnownAddress, type NumberOf, safeMarkdown } from "../markdown/safe-markdown.ts"
import { sourceKey } from "../source-key.ts"
import { mapCitations } from "./citations.ts"

/** By its number, from 1; absent for evidence that cannot be cited, as the writer was not shown it. */
export type Citable = readonly ({ readonly url: string } | undefined | null)[]

export function ownWords(text: string, evidence: Citable, isKnown?: IsKnownAddress): string {
  const numbers = new Map(evidence.flatMap((one, i) => (one ? [[sourceKey(one.url), i + 1] as const] : [])))
  const readable = isCheapMarkdown(text) ? text : withoutMarkup(text)
  return settled(withoutSourceList(readable), evidence, (url) => numbers.get(sourceKey(url)), isKnown)
}

const MAX_ROUNDS = 4

/** Safe Markdown that cites only known sources. Repeats, as removing a citation can create a link, and the other way round. */
function settled(source: string, evidence: Citable, numberOf: NumberOf, isKnown?: IsKnownAddress): string {
  let text = source.trim()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const safe = safeMarkdown(text, numberOf, isKnown)
    const known = mapCitations(safe, (number) => (evidence[number - 1] ? number : undefined)).trim()
    if (known === text) return text
    text = known
  }
  return withoutMarkup(text)
}

const WORD =
  "sources?|references?|bibliography|citations?|footnotes?|literature|works cited|further reading|quellen(?:angaben|verzeichnis)?|literatur(?:verzeichnis)?|références|bibliographie|fuentes|referencias|bibliografía|fonti|riferimenti|fontes|referências|bronnen|källor|источники|литература|参考文献|参考资料|資料來源|来源|出典|참고문헌"
const SOURCES = `(?:list of )?(?:${WORD})(?: cited| used)?(?: (?:and|&|und|et|y) (?:${WORD}|notes))?`
const HEADING = /^ {0,3}(#{1,6})\s/
const HEADED = new RegExp(
  String.raw`^ {0,3}#{1,6}\s+(?:\d+[.)]\s*)?[*_]{0,2}${SOURCES}:?[*_]{0,2}:?[\s#]*$`,
  "iu",
)
const BARE = new RegExp(
  String.raw`^(?:${SOURCES}:|(\*\*|__|\*|_)${SOURCES}:?\1:?|${SOURCES}(?=\n(?:-{3,}|={3,})\s*$))\s*`,
  "iu",
)
const ITEM = /^(?:\s*$|\s*\[\^?\d+\]|\s*\d+[.)]\s|\s*[-*+•]\s|\s*https?:|\s{2,}\S|-{3,}\s*$|={3,}\s*$)/
const NUMBERED = /^\s*\[\^?\d+\]:\s/

function withoutSourceList(text: string): string {
  const kept: string[] = []
  const lines = codeMasked(text).split("\n")
  /** The level of the heading that it is under; 7 without one. */
  let list: number | undefined
  let at = 0
  for (const [i, line] of lines.entries()) {
    const level = HEADING.exec(line)?.[1]?.length
    if (HEADED.test(line)) list = Math.min(list ?? 7, level ?? 7)
    else if (isBareTitle(line, lines[i + 1])) list ??= 7
    else if (level !== undefined && level <= (list ?? 0)) list = undefined
    else if (list === 7 && !ITEM.test(line)) list = undefined
    if (list === undefined && !NUMBERED.test(line)) kept.push(text.slice(at, at + line.length))
    at += line.length + 1
  }
  return kept.join("\n")
}

/** `Sources:`, `**Sources**`, or the word with a line drawn under it. */
function isBareTitle(line: string, next = ""): boolean {
  const title = BARE.exec(`${line}\n${next}`)?.[0]
  return title !== undefined && title.trim() === line.trim()
}
