/**
 * A command line taken apart without a shell: words, quotes, backslashes. What only a shell can do (pipes,
 * redirections, variables, several commands) is refused instead of being handed on as text, so that nobody is
 * surprised by what ran.
 */
import { SuperstepError } from "../core/index.ts"
import { programName } from "./command-dangers.ts"
import { matchesWord } from "./path-glob.ts"
import { fitsReadings, type Reading } from "./readings.ts"

const SHELL_ONLY = "|&;<>()$`\n\r*?["
/** These mean something at the start of a word alone. */
const SHELL_START = "~#"
const MAX_LINE = 32_768

export function splitCommand(line: string): readonly string[] {
  if (line.length > MAX_LINE) throw invalid(`The command has more than ${MAX_LINE} characters.`)
  if (line.includes("\0")) throw invalid("The command has a zero character in it.")
  const words: string[] = []
  let word = ""
  let isWord = false
  for (let i = 0; i < line.length; i++) {
    const char = line[i] as string
    if (char === " " || char === "\t") {
      if (isWord) words.push(word)
      word = ""
      isWord = false
      continue
    }
    if (SHELL_ONLY.includes(char) || (!isWord && SHELL_START.includes(char))) throw shellOnly(char)
    isWord = true
    if (char === "'" || char === '"') {
      const quoted = char === "'" ? singleQuoted(line, i + 1) : doubleQuoted(line, i + 1)
      word += quoted.text
      i = quoted.end
    } else if (char === "\\") {
      const next = line[++i]
      if (next === undefined || next === "\n") throw invalid("The command ends with a backslash.")
      word += next
    } else word += char
  }
  if (isWord) words.push(word)
  if (words.length === 0 || words[0] === "") throw invalid("The command is empty.")
  return words
}

interface Quoted {
  readonly text: string
  /** Where the closing quote is. */
  readonly end: number
}

function singleQuoted(line: string, start: number): Quoted {
  const end = line.indexOf("'", start)
  if (end < 0) throw invalid("A ' is not closed.")
  return { text: line.slice(start, end), end }
}

function doubleQuoted(line: string, start: number): Quoted {
  let text = ""
  for (let i = start; i < line.length; i++) {
    const char = line[i] as string
    if (char === '"') return { text, end: i }
    if (char === "$" || char === "`") throw shellOnly(char)
    const isEscape = char === "\\" && '"\\$`'.includes(line[i + 1] ?? " ")
    text += isEscape ? line[++i] : char
  }
  throw invalid('A " is not closed.')
}

/**
 * `git status` means just that; `git log *` any arguments after `git log`, also none; `cat docs/*.md` one argument that
 * fits. To let pass (`all`), the program must be called as the pattern has it, and an argument must fit also when its path
 * is resolved. To hold back (`any`), one of the two is enough, and `rm` is also `/bin/rm` and `RM.exe`.
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

/** Whether a `*` or `?` of the pattern stands for the word at this place, or for a part of it. */
export function isOpenWord(pattern: string, index: number): boolean {
  const one = patternWords(pattern)[index]
  return one === undefined || /[*?]/.test(one)
}

function shellOnly(char: string): SuperstepError {
  const shown = char === "\n" || char === "\r" ? "A line break" : `"${char}"`
  return invalid(
    `${shown} means something to a shell, and this is not run by one. Give one command with its arguments; put the character in single quotes if it is meant as it is.`,
  )
}

function invalid(message: string): SuperstepError {
  return new SuperstepError("COMMAND_INVALID", message, { retryable: false })
}
