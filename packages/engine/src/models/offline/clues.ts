/** Things that a text names outright: addresses, paths, quoted words, names, numbers, `key: value`. */
import { findFormat } from "./formats.ts"
import { rootsOf, spaced } from "./words.ts"

export type ClueKind =
  | "path"
  | "url"
  | "email"
  | "date"
  | "place"
  | "person"
  | "id"
  | "expression"
  | "language"
  | "phone"

const KINDS: readonly (readonly [ClueKind, RegExp])[] = [
  ["email", /\b(?:e ?mail|recipient)\b/],
  ["url", /\b(?:url|uri|link|href|website|webpage)\b/],
  ["path", /\b(?:path|paths|file|filename|directory|dir|folder)\b/],
  ["date", /\b(?:date|day|deadline|due|when)\b/],
  ["phone", /\b(?:phone|telephone|mobile)\b/],
  ["place", /\b(?:city|location|place|country|town|destination|origin|region|address)\b/],
  [
    "person",
    /\b(?:person|author|customer name|full name|first name|last name|founder|director|ceo|president|inventor|assignee|owner|contact)\b/,
  ],
  ["expression", /\b(?:expression|formula|calculation|equation)\b/],
  ["language", /\b(?:language|lang|locale)\b/],
  ["id", /\b(?:id|ids|identifier|order number|ticket|sku|reference|code)\b/],
]

/** Kinds that must not be made up: without one in the text there is none. */
export const EXACT: ReadonlySet<ClueKind> = new Set(["path", "url", "email", "id", "phone"])

export function clueKind(name: string): ClueKind | undefined {
  const words = spaced(name).toLowerCase()
  return KINDS.find(([, pattern]) => pattern.test(words))?.[0]
}

const LANGUAGES =
  /\b(english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|japanese|korean|arabic|hindi|turkish|swedish|danish|norwegian|finnish|greek|czech|ukrainian|latin)\b/gi

export function findClues(kind: ClueKind, text: string): string[] {
  switch (kind) {
    case "url":
    case "email":
      return findFormat(kind, text)
    case "date":
      return [
        ...findFormat("date", text),
        ...matches(
          /\b(?:today|tomorrow|yesterday|next week|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/gi,
          text,
        ),
      ]
    case "path":
      return findPaths(text)
    case "phone":
      return matches(/\+?\d[\d ()/-]{5,18}\d/g, text)
    case "id":
      return [
        ...matches(/\b[A-Z]{1,6}[-_]?\d[\w-]*\b|\b[a-z]+[-_]\d[\w-]*\b/g, text),
        ...matches(/(?<=#)\w+|\b\d{3,}\b/g, text),
      ]
    case "expression":
      return matches(/(?:\d|\()[\d\s.()+*/^%x×÷-]{0,200}[\d)]/g, text).filter((found) =>
        /\d\s*[+*/^%x×÷-]\s*[\d(]/.test(found),
      )
    case "language":
      return matches(LANGUAGES, text)
    case "place":
      return [...capitalised(text, /\b(?:in|at|for|of|from|to|near|around)\s+(?:the\s+)?/), ...names(text)]
    case "person":
      return [...capitalised(text, /\bby\s+/), ...names(text)]
  }
}

function matches(pattern: RegExp, text: string): string[] {
  return (text.match(pattern) ?? []).map((found) => found.trim())
}

const PATH =
  /(?<![\w@./-])(?:(?:~|\.{1,2})?\/?(?:[\w.@-]{1,64}\/){1,32}[\w.@-]{0,64}|\/[\w.@-]{1,64}|[\w-][\w.-]{0,63}\.[A-Za-z][A-Za-z0-9]{0,5}\b)/g

function findPaths(text: string): string[] {
  const withoutUrls = text.replace(/https?:\/\/\S+/g, " ")
  return (withoutUrls.match(PATH) ?? [])
    .map((path) => path.replace(/[.,;:]{1,3}$/, ""))
    .filter((path) => path !== "" && !/^(?:e\.g|i\.e)$/i.test(path))
}

/** Text in quotation marks or back ticks. */
export function quoted(text: string): string[] {
  return [
    ...text.matchAll(
      /"([^"\n]{1,2000})"|“([^”\n]{1,2000})”|`([^`\n]{1,2000})`|(?<![\w])'([^'\n]{2,2000})'(?![\w])/g,
    ),
  ].map((found) => found.slice(1).find((group) => group !== undefined) ?? "")
}

const NOT_A_NAME = new Set(
  rootsOf(
    "what who when where why how which please find show read write list search get tell give send compare summarise summarize translate book order check open create delete calculate fetch explain weather hello thanks monday tuesday",
  ),
)

/** Words with a capital that stand together; a single one at the start of a sentence is not taken. */
export function names(text: string): string[] {
  const found: string[] = []
  for (const match of text.matchAll(
    /\p{Lu}[\p{L}\p{N}'’.-]*(?:[ \t]+(?:(?:of|de|van|von|la|le|and)[ \t]+)?\p{Lu}[\p{L}\p{N}'’.-]*)*/gu,
  )) {
    const words = match[0].replace(/(?<![.'’-])[.'’-]+$/, "").split(/\s+/)
    const isStart =
      match.index === 0 || /[.!?\n:]\s*$/.test(text.slice(Math.max(0, match.index - 3), match.index))
    while (words.length > 0 && isPlain(words[0] ?? "", isStart && words.length === 1)) words.shift()
    const name = words.join(" ").replace(/['’]s$/, "")
    if (name.length > 1 && !found.includes(name)) found.push(name)
  }
  return found
}

function isPlain(word: string, isAlone: boolean): boolean {
  const [root] = rootsOf(word)
  return root === undefined || NOT_A_NAME.has(root) || (isAlone && !/^\p{Lu}{2,}/u.test(word))
}

/** Capitalised words right after what the pattern finds. */
function capitalised(text: string, before: RegExp): string[] {
  const pattern = new RegExp(
    String.raw`(?:${before.source})((?:\p{Lu}[\p{L}'’-]*)(?:\s+\p{Lu}[\p{L}'’-]*)*)`,
    "gu",
  )
  return [...text.matchAll(pattern)].map((found) => found[1] ?? "").filter((found) => found !== "")
}

interface NumberClue {
  readonly value: number
  readonly at: number
}

export function numbers(text: string): NumberClue[] {
  const plain = text.replace(/https?:\/\/\S+/g, (url) => " ".repeat(url.length))
  return [
    ...plain.matchAll(
      /(?<![\w.,])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]{0,40}[-_]?[A-Za-z]{4,40}\d)/g,
    ),
  ].map((found) => ({
    value: Number(found[0].replaceAll(",", "").replace("−", "-")),
    at: found.index,
  }))
}

/** What follows the field's name in the text: `limit: 5`, `order id is A-17`, `priority=high`. */
export function labelled(name: string, text: string): string | undefined {
  const words = spaced(name)
  if (words.length < 2) return undefined
  const label = words.split(" ").map(escaped).join("[\\s_-]*")
  const pattern = new RegExp(
    String.raw`(?<![\p{L}\p{N}])${label}\s*(?:[:=]|is\b|of\b|#|\s(?=\d))\s*(?:"([^"]+)"|([^\s,;]+))`,
    "iu",
  )
  const found = pattern.exec(text)
  return (found?.[1] ?? found?.[2])?.replace(/(?<![.?!])[.?!]+$/, "")
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
}
