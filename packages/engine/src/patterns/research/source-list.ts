/** A model that lists sources itself, whatever it is told: under a heading, after `Sources:`, as definitions of links. */
import { codeMasked } from "./markdown/markdown-code.ts"

const WORD =
  "sources?|references?|bibliography|citations?|footnotes?|literature|works cited|further reading|quellen(?:angaben|verzeichnis)?|literatur(?:verzeichnis)?|références|bibliographie|fuentes|referencias|bibliografía|fonti|riferimenti|fontes|referências|bronnen|källor|источники|литература|参考文献|参考资料|資料來源|来源|出典|참고문헌"
const SOURCES = `(?:list of )?(?:${WORD})(?: cited| used)?(?: (?:and|&|und|et|y) (?:${WORD}|notes))?`
const HEADING = /^(#{1,6})\s/
const HEADED = new RegExp(String.raw`^#{1,6}\s+(?:\d+[.)]\s*)?[*_]{0,2}${SOURCES}:?[*_]{0,2}:?[\s#]*$`, "iu")
const BARE = new RegExp(
  String.raw`^(?:${SOURCES}:|(\*\*|__|\*|_)${SOURCES}:?\1:?|${SOURCES}(?=\n(?:-{3,}|={3,})\s*$))\s*`,
  "iu",
)
const ITEM = /^(?:\s*$|\s*\[\^?\d+\]|\s*\d+[.)]\s|\s*[-*+•]\s|\s*https?:|\s{2,}\S|-{3,}\s*$|={3,}\s*$)/
const NUMBERED = /^\s*\[\^?\d+\]:\s/

export function withoutSourceList(text: string): string {
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
