/**
 * Splits a command line without a shell: words, quotes, backslashes. What only a shell can do (pipes, redirections, variables,
 * several commands) is refused instead of being passed on as text, so that no command runs differently than expected.
 */
import { posix } from "node:path"
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { matchesWord } from "../glob.ts"
import { programName } from "./command-dangers.ts"

/** Spaces, text in single or double quotes, an escaped character, or a character without a meaning to a shell. */
const PIECE = /([ \t]+)|'([^']*)'|"((?:[^"\\$`]|\\.)*)"|\\([^\n])|([^ \t'"\\|&;<>()$`\n\r*?[])/sy
const MAX_LINE = 32_768

export function splitCommand(line: string): readonly string[] {
  if (line.length > MAX_LINE) throw invalid(`The command has more than ${MAX_LINE} characters.`)
  if (line.includes("\0")) throw invalid("The command contains a NUL character.")
  const words: string[] = []
  let word: string | undefined
  for (PIECE.lastIndex = 0; PIECE.lastIndex < line.length; ) {
    const at = PIECE.lastIndex
    const piece = PIECE.exec(line)
    if (piece === null) throw unreadable(line, at)
    const [, space, single, double, escaped, plain = ""] = piece
    if (space !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
      continue
    }
    // These are special only at the start of a word.
    if (word === undefined && /[~#]/.test(plain)) throw shellOnly(plain)
    word = (word ?? "") + (single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain)
  }
  if (word !== undefined) words.push(word)
  if (words.length === 0 || words[0] === "") throw invalid("The command is empty.")
  return words
}

function unreadable(line: string, at: number): SuperstepError {
  const char = line[at] ?? ""
  if (char === "\\") return invalid("The command ends with a backslash.")
  if (char === "'") return invalid("A ' is not closed.")
  if (char !== '"') return shellOnly(char)
  const end = /^"(?:[^"\\$`]|\\.)*([$`])/s.exec(line.slice(at))?.[1]
  return end === undefined ? invalid('A " is not closed.') : shellOnly(end)
}

/**
 * Whether a string matches a rule in `any` of its readings, which is enough for a rule that denies, or in `all` of them, which
 * a rule that allows needs.
 */
export type Reading = "any" | "all"

/** The readings are the string itself, with its spaces collapsed, and with its path or address resolved. */
export function fitsReadings(text: string, reading: Reading, fits: (one: string) => boolean): boolean {
  const plain = text.trim().replace(/\s+/g, " ")
  const resolved = /^[a-z][a-z\d+.-]*:\/\//i.test(plain) ? resolvedAddress(plain) : resolvedPath(plain)
  const readings = [text, plain, resolved]
  return reading === "any" ? readings.some(fits) : readings.every(fits)
}

/** Without a name before an `@`, and without the dot that a host may end in. */
function resolvedAddress(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.username = ""
  url.password = ""
  url.hostname = url.hostname.replace(/\.$/, "")
  return url.href === `${text}/` ? text : url.href
}

function resolvedPath(text: string): string {
  return /\/\.{0,2}(\/|$)|^\.\//.test(text) ? posix.normalize(text) : text
}

const HARMLESS = /\d?>&\d|\d?>\s*\/dev\/null\b/g
const SEPARATOR = /[;&|<>`()\n\r]/

/** The commands that a shell would run for a line, and the files that it would open. Rather too many than too few. */
export function commandsIn(line: string): readonly string[] {
  return line
    .replace(HARMLESS, " ")
    .split(SEPARATOR)
    .map((command) => command.replace(/\$$/, "").trim())
    .filter((command) => command !== "")
}

/**
 * `git status` matches just that; `git log *` any arguments after `git log`, also none; `cat docs/*.md` one argument that
 * matches. To allow (`all`), the program must be called as in the pattern, and an argument must also match when its path is
 * resolved. To deny (`any`), one of the two is enough, and `rm` is also `/bin/rm` and `RM.exe`.
 */
export function fitsCommand(pattern: string, words: readonly string[], reading: Reading): boolean {
  const wanted = patternWords(pattern)
  const open = wanted.length > 1 && wanted.at(-1) === "*"
  const fixed = open ? wanted.slice(0, -1) : wanted
  if (pattern.trim() === "*") return true
  if (words.length < fixed.length || (!open && words.length > fixed.length)) return false
  return fixed.every((one, index) => {
    const word = words[index] ?? ""
    if (index > 0) return fitsReadings(word, reading, (text) => matchesWord(one, text))
    return one === word || (reading === "any" && programName(one) === programName(word))
  })
}

export function patternWords(pattern: string): readonly string[] {
  return pattern.trim().split(/\s+/)
}

/** Whether a `*` or `?` of the pattern stands for the word at this index, or for a part of it. */
export function isOpenWord(pattern: string, index: number): boolean {
  const one = patternWords(pattern)[index]
  return one === undefined || /[*?]/.test(one)
}

function shellOnly(char: string): SuperstepError {
  const shown = char === "\n" || char === "\r" ? "A line break" : `"${char}"`
  return invalid(
    `${shown} has a meaning in a shell, but the command does not run in one. Pass one command with its arguments; put the character in single quotes if it is literal.`,
  )
}

function invalid(message: string): SuperstepError {
  return terminalError("COMMAND_INVALID", message)
}
