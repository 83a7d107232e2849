/**
 * Splits a command line without a shell: words, quotes, backslashes. What only a shell can do (pipes, redirections, variables,
 * several commands) is refused instead of being passed on as text, so that no command runs differently than expected.
 */
import { posix } from "node:path"
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { matchesWord } from "../glob.ts"

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
 * Whether a string must match a rule in `any` of its readings, as for a rule that denies, or in `all` of them, as for a
 * rule that allows.
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

/** The commands that a shell would run for a line, and the files that it would open. May include too many, never too few. */
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

/** Whether a `*` or `?` of the pattern matches the word at this index, or a part of it. */
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

// Options with which a harmless-looking program writes a file or runs another program. A `*` in a pattern does not match
// them: to allow `git log --output=report.txt`, write it in full. The list contains the known options. It makes patterns
// for these programs safer, not safe; presets (shell.ts) list what is allowed instead.

/** Lists are separated by spaces. */
interface Dangers {
  /** Long options. Any prefix of one counts too, as programs complete unique prefixes. */
  readonly long?: string
  /** Long options that are harmless although they are a prefix of one above. */
  readonly harmless?: string
  /** Letters of short options, also within a cluster: `-ro`, `-ofile`. */
  readonly short?: string
  /** Letters whose value is the rest of the word, so that it is not a cluster. */
  readonly values?: string
  /** Whole words: primaries of find, subcommands of git. */
  readonly words?: string
  /** At least one of these must be present. */
  readonly needs?: string
  /** The number of operands before the one that is a file to write. */
  readonly operands?: number
}

const list = (text: string): readonly string[] => text.match(/\S+/g) ?? []

const GIT = {
  long: `output output-directory ext-diff textconv open-files-in-pager exec extcmd upload-pack receive-pack config template
    smtp-server sendmail-cmd to-cmd cc-cmd export-marks`,
  harmless: "text to cc",
}
const GIT_SUBCOMMANDS = list(
  `bisect config credential daemon difftool filter-branch hook instaweb mergetool send-email submodule web--browse`,
)
/** Before the subcommand, where -c sets what programs git runs. */
const GIT_GLOBAL = { long: "config-env exec-path git-dir work-tree paginate", short: "cCp" }
/** Short options mean different things to different subcommands. */
const GIT_SHORT: Readonly<Record<string, string>> = {
  archive: "o",
  clone: "uc",
  "format-patch": "o",
  grep: "O",
  rebase: "x",
}

const PROGRAMS: Readonly<Record<string, Dangers>> = {
  find: { words: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls" },
  fd: { long: "exec exec-batch", short: "xX", values: "edEtSoj" },
  tar: {
    long: `to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script
      absolute-names remove-files index-file`,
    short: "IFP",
    values: "fCbgHLNTVX",
  },
  sort: { long: "output compress-program", short: "o", values: "ktST" },
  shuf: { long: "output", short: "o", values: "in" },
  uniq: { operands: 1 },
  xxd: { operands: 1 },
  iconv: { long: "output", short: "o", values: "ft" },
  base64: { long: "output", short: "o", values: "bwi" },
  tree: { long: "output", short: "o", values: "LPIHT" },
  diff: { long: "paginate", short: "l", values: "CUFILWxXS" },
  rg: { long: "pre hostname-bin", values: "eAfBCEgjmMrtTd" },
  sed: { long: "in-place file", short: "if", values: "el", needs: "--sandbox" },
  awk: {
    long: "file include load dump-variables profile",
    short: "filodpE",
    values: "vF",
    needs: "--sandbox -S",
  },
  yq: { long: "inplace in-place split-exp", short: "is" },
  curl: {
    long: `output output-dir remote-name remote-name-all remote-header-name config upload-file cookie-jar dump-header trace
      trace-ascii trace-config stderr libcurl hsts alt-svc etag-save write-out engine`,
    short: "oOJKTcDw",
    values: "AbdeEFhHmPQrtuUxXyYzC",
  },
  wget: {
    long: `output-document output-file append-output directory-prefix execute config use-askpass save-cookies warc-file
      hsts-file rejected-log post-file body-file`,
    short: "OoaPe",
    values: "iABDQRTtUw",
  },
  rsync: { long: "rsh rsync-path log-file write-batch only-write-batch", short: "e", values: "fMTB" },
  scp: { short: "SoF", values: "ciJlPXD" },
  zip: { long: "unzip-command out", short: "TO" },
  go: { words: "-exec --exec -toolexec --toolexec -vettool --vettool -o --o -overlay --overlay -C" },
  npm: {
    long: "script-shell node-options prefix userconfig globalconfig git shell editor viewer call",
    short: "Cc",
    values: "w",
  },
  man: { long: "pager html preprocessor", short: "PHp", values: "MSLmeE" },
}

const OTHER_NAMES: Readonly<Record<string, string>> = {
  bsdtar: "tar",
  gawk: "awk",
  gfind: "find",
  gsed: "sed",
  gsort: "sort",
  gtar: "tar",
  mawk: "awk",
  nawk: "awk",
}

/** Programs that run the program named by their arguments: a `*` after them allows every program. */
const LAUNCHERS = new Set(
  list(
    `ash bash busybox chroot chrt command csh dash doas env exec fish flock ionice ksh nice nohup nsenter parallel
    powershell pwsh script setsid sh ssh stdbuf strace su sudo tcsh time timeout tmux unshare watch xargs zsh cmd`,
  ),
)

/** `/usr/bin/Git.EXE` is git where file names ignore case; elsewhere no harmless program has this name. */
function programName(word: string): string {
  const name = (word.split(/[/\\]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, "")
  return OTHER_NAMES[name] ?? name
}

/** Options, settings and numbers, which a launcher takes before the program. */
const BEFORE_PROGRAM = /^(?:-|\d|[A-Za-z_]\w*=)/

/** Whether a `*` in the pattern matches the program itself: `env *`, `sh -c *`, `timeout 10 *`. */
export function allowsAnyProgram(pattern: readonly string[]): boolean {
  const [program = "", ...rest] = pattern
  return LAUNCHERS.has(programName(program)) && rest.find((word) => !BEFORE_PROGRAM.test(word)) === "*"
}

/** Whether the program has options that a `*` must not match. */
export function hasDangers(program: string): boolean {
  const name = programName(program)
  return name === "git" || LAUNCHERS.has(name) || Object.hasOwn(PROGRAMS, name)
}

/** The first word that a `*` must not match, or undefined. `isOpen` returns which words a `*` matches. */
export function dangerIn(words: readonly string[], isOpen: (index: number) => boolean): string | undefined {
  const [program = "", ...args] = words
  const name = programName(program)
  const openAt = (index: number) => isOpen(index + 1)
  if (LAUNCHERS.has(name)) {
    const start = args.findIndex((word) => !BEFORE_PROGRAM.test(word))
    return start < 0 ? undefined : dangerIn(args.slice(start), (index) => openAt(index + start))
  }
  if (name === "git") return dangerInGit(args, openAt)
  const dangers = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined
  if (dangers === undefined) return undefined
  const found = args.find((word, index) => openAt(index) && isDangerous(word, dangers))
  if (found !== undefined) return found
  // `tar xIf gzip …`, as tar has been called since before options had a dash.
  const [first = ""] = args
  if (name === "tar" && openAt(0) && !first.startsWith("-") && /[IFP]/.test(first)) return first
  const { operands } = dangers
  const needs = list(dangers.needs ?? "")
  const hasOpen = args.some((_, index) => openAt(index))
  if (needs.length > 0 && hasOpen && !args.some((word) => needs.includes(word))) {
    return `a script without ${needs.join(" or ")}`
  }
  if (operands === undefined) return undefined
  const more = args.filter((word) => word === "-" || !word.startsWith("-"))[operands]
  return more !== undefined && openAt(args.lastIndexOf(more)) ? more : undefined
}

function dangerInGit(args: readonly string[], isOpen: (index: number) => boolean): string | undefined {
  const start = args.findIndex((word) => !word.startsWith("-"))
  const command = start < 0 ? args.length : start
  const subcommand = args[command] ?? ""
  const short = (Object.hasOwn(GIT_SHORT, subcommand) && GIT_SHORT[subcommand]) || ""
  return args.find((word, index) => {
    if (!isOpen(index)) return false
    if (index < command) return isDangerous(word, GIT_GLOBAL)
    if (index === command) return GIT_SUBCOMMANDS.includes(word)
    // A transport that runs a program.
    if (/(?:^|=)ext::/.test(word)) return true
    return isDangerous(word, { ...GIT, short })
  })
}

function isDangerous(word: string, dangers: Dangers): boolean {
  const { long = "", harmless = "", short = "", values = "", words = "" } = dangers
  if (list(words).includes(word)) return true
  if (word.startsWith("--")) {
    const [name = ""] = word.slice(2).split("=")
    const isKnown = list(long).some((option) => option.startsWith(name))
    return name !== "" && isKnown && !list(harmless).includes(name)
  }
  if (!word.startsWith("-")) return false
  for (const letter of word.slice(1)) {
    if (short.includes(letter)) return true
    if (values.includes(letter)) return false
  }
  return false
}
