/**
 * What a model writes, without links: it may name addresses that nobody found, and a page that it read may have told it to.
 * A picture is loaded by whoever shows the report, so its address can carry away what stands in it. What links said stays.
 */
import { outsideCode } from "./markdown-code.ts"

/** Of `[text](address "title")`: what is between the brackets, and what is between the parentheses. */
const TEXT = String.raw`\[((?:[^[\]]|\[[^[\]]*\])*)\]`
const ADDRESS = String.raw`<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*`
const TITLE = String.raw`(?:\s+(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\([^()]*\)))?`
const PICTURE = new RegExp(String.raw`!${TEXT}(?:\(\s*(?:${ADDRESS})${TITLE}\s*\)|\[[^[\]]*\])`, "g")
const LINK = new RegExp(String.raw`${TEXT}\(\s*(${ADDRESS})${TITLE}\s*\)`, "g")
/** `[name]: address` on a line of its own, or on two. */
const DEFINITION =
  /^[ \t>]*\[(?!\^)[^\]\n]+\]:[ \t]*\n?[ \t]*\S+(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$\n?/gm
const CITATION = /^\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*$/
const BARE = /<?((?:https?:\/\/|\bwww\.)[^\s<>"'`|\\]*[^\s<>"'`|\\.,;:!?)\]}*_])>?/gi
/** A sign of code where there is none: with another one that is written here, there would be. */
const TICKS = /(?<!\\)((?:\\\\)*)`/g
/** Of HTML, only what lays out text. */
const TAG = /<(?!\/?(?:br|sub|sup|b|i|em|strong|u|s|kbd)\s*\/?>)(?=[a-z/!?])/gi

/** `numberOf` knows the sources: a link to one of them becomes its number. */
export function withoutLinks(text: string, numberOf: (url: string) => number | undefined): string {
  return outsideCode(text, (plain) =>
    plain
      .replace(DEFINITION, "")
      .replace(/\n{3,}/g, "\n\n")
      .replace(PICTURE, "$1")
      .replace(LINK, (_, said: string, address: string) => {
        if (CITATION.test(said.trim())) return `[${said.trim()}]`
        const number = numberOf(address.replace(/^<|>$/g, ""))
        return number === undefined ? said : `${said} [${number}]`
      }),
  )
}

/** Addresses that are written out, and HTML, as words. Nothing may be taken out afterwards that keeps signs apart. */
export function asWords(text: string): string {
  return outsideCode(text, (plain) =>
    plain.replace(TICKS, "$1&#96;").replace(BARE, shown).replace(TAG, "&lt;"),
  )
}

/** In code nobody makes a link of it. Code that is next to it stays apart. */
function shown(found: string, address: string, at: number, whole: string): string {
  const [before, after] = [whole[at - 1] ?? "`", whole[at + found.length] ?? "`"]
  return `${/[`\\]/.test(before) ? " " : ""}\`${address}\`${after === "`" ? " " : ""}`
}
