/**
 * Named lists of commands that only read: `preset:git-read` in `allow` instead of patterns. Everything that is not listed is
 * refused: other options, abbreviations of options, and paths that lead out of the directory.
 *
 * A preset trusts the files that configure its programs: `.git/config` can name programs that git runs, and `package.json`
 * defines what `npm test` does. Write access to these files is enough to run anything.
 */

interface Command {
  /** The program, and its subcommand if it has one. */
  readonly start: readonly string[]
  /** Letters of short options without a value. */
  readonly flags: string
  /** Letters of short options with a value. */
  readonly values: string
  /** Long options; one that ends in `=` takes a value. */
  readonly long: readonly string[]
  /** Whether files, revisions or other operands may follow. Default: yes. */
  readonly operands?: boolean
  /** Words that are added after the start. */
  readonly adds?: readonly string[]
}

/** Short options are `flags:values`. */
function command(
  start: string,
  short = "",
  long = "",
  more: Pick<Command, "operands" | "adds"> = {},
): Command {
  const [flags = "", values = ""] = short.split(":")
  return { start: start.split(" "), flags, values, long: long.match(/\S+/g) ?? [], ...more }
}

const PRETTY = `oneline pretty pretty= format= abbrev abbrev= abbrev-commit no-abbrev-commit decorate decorate= no-decorate color=
  no-color date= relative-date no-notes graph name-only name-status stat stat= shortstat numstat summary patch no-patch raw
  unified= word-diff word-diff= ignore-all-space ignore-space-change ignore-blank-lines minimal patience histogram
  diff-filter= find-renames find-renames= find-copies no-renames relative relative= full-index no-ext-diff no-textconv text
  no-color-moved function-context exit-code check dirstat compact-summary`
const HISTORY = `max-count= skip= since= after= until= before= author= committer= grep= invert-grep all-match regexp-ignore-case
  merges no-merges first-parent all branches tags remotes reverse topo-order date-order author-date-order follow full-history
  left-right cherry-pick parents children source`

/** Runs no program of the configuration and does not write the index. */
const GIT = ["git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false"]
const DIFF = { adds: ["--no-ext-diff", "--no-textconv"] }
const NO_OPERANDS = { operands: false }

const PRESETS: Readonly<Record<string, readonly Command[]>> = {
  "git-read": [
    command(
      "git status",
      "suvbz",
      "short branch show-stash porcelain porcelain= long verbose untracked-files= ignored",
    ),
    command("git log", "pwbszicEFM0123456789:nLSGU", `${PRETTY} ${HISTORY}`, DIFF),
    command("git show", "pwbszM:U", PRETTY, DIFF),
    command("git diff", "pwbszMR:USG", `${PRETTY} cached staged merge-base`, DIFF),
    command("git shortlog", "nse", "numbered summary email since= until= no-merges all"),
    command("git rev-list", ":n", `${HISTORY} count`),
    command(
      "git rev-parse",
      "",
      "short short= verify quiet abbrev-ref abbrev-ref= show-toplevel symbolic-full-name is-inside-work-tree",
    ),
    command("git blame", "westlfnpMC:L", "show-email show-name show-number porcelain since="),
    command(
      "git branch",
      "avr",
      "list all remotes verbose contains= merged no-merged show-current sort= format=",
      NO_OPERANDS,
    ),
    command("git tag", "l:n", "list contains= sort= format= merged= points-at=", NO_OPERANDS),
    command("git remote", "v", "verbose", NO_OPERANDS),
    command("git ls-files", "cdmoksutz", "cached deleted modified others stage exclude-standard full-name"),
    command("git ls-tree", "rtdlz", "name-only name-status long full-name abbrev="),
    command("git describe", "", "all tags long always dirty abbrev= match= exact-match"),
    command("git merge-base", "a", "all is-ancestor octopus independent fork-point"),
  ],
  inspect: [
    command("pwd", "LP", "", NO_OPERANDS),
    command("ls", "aAlhrtRSF1dinpsgGoU", "all almost-all human-readable recursive reverse size color="),
    command("cat", "nbsAEeTtvu", "number number-nonblank squeeze-blank show-all"),
    command("head", "qv0123456789:nc", "lines= bytes= quiet verbose"),
    command("tail", "qv0123456789:nc", "lines= bytes= quiet verbose"),
    command("wc", "lwcmL", "lines words bytes chars max-line-length"),
    command("stat", "Lt:cf", "format= printf= terse dereference"),
    command("du", "shakmcx:d", "summarize human-readable all max-depth= total apparent-size"),
    command("df", "hkTi", "human-readable total print-type"),
    command("file", "bi", "brief mime mime-type"),
    command(
      "diff",
      "uqrbwBiNsya:U",
      `unified unified= brief recursive ignore-case ignore-all-space ignore-space-change ignore-blank-lines new-file
      side-by-side color=`,
    ),
    command("cmp", "lsb:n", "verbose quiet silent bytes="),
    command(
      "grep",
      "inrRlLcvwxohHEFPqsa:eABCm",
      `ignore-case line-number recursive files-with-matches count invert-match word-regexp only-matching extended-regexp
      fixed-strings perl-regexp include= exclude= exclude-dir= color= context= after-context= before-context= max-count=`,
    ),
    command("basename"),
    command("dirname"),
    command("sha256sum", "b", "tag"),
  ],
  "npm-test": ["test", "t", "run test", "run lint", "run check", "run typecheck"].map((name) =>
    command(`npm ${name}`, "s:w", "silent workspaces workspace= if-present", NO_OPERANDS),
  ),
}

const PREFIX = "preset:"

export function isPreset(entry: string): boolean {
  return entry.startsWith(PREFIX)
}

/** The commands of a preset; undefined if there is no such preset. */
export function presetSummary(entry: string): string | undefined {
  const commands = commandsOf(entry)
  return commands && [...new Set(commands.map(({ start }) => start.join(" ")))].join(", ")
}

export function presetNames(): readonly string[] {
  return Object.keys(PRESETS).map((name) => PREFIX + name)
}

function commandsOf(entry: string): readonly Command[] | undefined {
  const name = entry.slice(PREFIX.length)
  return Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined
}

/** The words to run, or undefined if the preset does not allow them. */
export function fitPreset(entry: string, words: readonly string[]): readonly string[] | undefined {
  for (const command of commandsOf(entry) ?? []) {
    const { start, adds = [] } = command
    const rest = words.slice(start.length)
    if (!start.every((word, index) => word === words[index]) || !fits(command, rest)) continue
    const [program = "", ...subcommand] = start
    const before = program === "git" ? GIT : [program]
    return [...before, ...subcommand, ...adds, ...rest]
  }
  return undefined
}

function fits(command: Command, args: readonly string[]): boolean {
  const { flags, values, long, operands = true } = command
  let isOperand = false
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] as string
    if (!isInside(word)) return false
    if (isOperand || !word.startsWith("-") || word === "-") {
      if (!operands) return false
    } else if (word === "--") {
      if (!operands) return false
      isOperand = true
    } else if (word.startsWith("--")) {
      const [name = ""] = word.slice(2).split("=", 1)
      const takesValue = long.includes(`${name}=`)
      const isBare = !word.includes("=")
      if (!(isBare ? takesValue || long.includes(name) : takesValue)) return false
      // With an optional value, the next word is an operand, and checked as one.
      if (isBare && takesValue && !long.includes(name)) {
        index += 1
        if (!isValue(args[index])) return false
      }
    } else {
      const at = [...word].findIndex((letter, place) => place > 0 && values.includes(letter))
      const letters = at < 0 ? word.slice(1) : word.slice(1, at)
      if (![...letters].every((letter) => flags.includes(letter))) return false
      if (at === word.length - 1) {
        index += 1
        if (!isValue(args[index])) return false
      }
    }
  }
  return true
}

/** A value that looks like an option may be taken for one, by programs whose option needs none. */
function isValue(word: string | undefined): boolean {
  return word !== undefined && !word.startsWith("-") && isInside(word)
}

/** Neither an absolute path nor one with `..`, also behind an option's name. `HEAD~1..main` is not a path with `..`. */
function isInside(word: string): boolean {
  const paths = [word, word.slice(word.indexOf("=") + 1), word.replace(/^-\w/, "")]
  return paths.every(
    (path) => !/^(?:[/\\~]|[A-Za-z]:[/\\])/.test(path) && !path.split(/[/\\]/).includes(".."),
  )
}
