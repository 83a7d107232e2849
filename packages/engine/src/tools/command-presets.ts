/**
 * Named lists of commands that only read: `preset:git-read` in `allow` instead of patterns. Everything that is not listed
 * is refused: other options, abbreviations of options, and paths that lead out of the directory.
 *
 * A preset trusts the files that configure its programs: `.git/config` can name programs that git runs, and `package.json`
 * says what `npm test` does. Whoever can write these can run anything.
 */

interface Command {
  /** The program, and its subcommand if it has one. */
  readonly start: readonly string[]
  /** Letters of short options; those before a `:` take no value, those after it do. */
  readonly short?: string
  /** Long options; one that ends in `=` takes a value. */
  readonly long?: readonly string[]
  /** Whether files, revisions or other operands may follow. Default: yes. */
  readonly operands?: boolean
  /** Words that are put after the start. */
  readonly adds?: readonly string[]
}

const list = (text: string) => text.split(/\s+/)

const PRETTY = `oneline pretty pretty= format= abbrev abbrev= abbrev-commit no-abbrev-commit decorate decorate= no-decorate color=
  no-color date= relative-date no-notes graph name-only name-status stat stat= shortstat numstat summary patch no-patch raw
  unified= word-diff word-diff= ignore-all-space ignore-space-change ignore-blank-lines minimal patience histogram
  diff-filter= find-renames find-renames= find-copies no-renames relative relative= full-index no-ext-diff no-textconv text
  no-color-moved function-context exit-code check dirstat compact-summary`
const HISTORY = `max-count= skip= since= after= until= before= author= committer= grep= invert-grep all-match regexp-ignore-case
  merges no-merges first-parent all branches tags remotes reverse topo-order date-order author-date-order follow full-history
  left-right cherry-pick parents children source`

/** Neither a program of the configuration is run nor the index written. */
const GIT = ["git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false"]
const DIFF = ["--no-ext-diff", "--no-textconv"]

const git = (subcommand: string, rest: Omit<Command, "start">): Command => ({
  start: ["git", subcommand],
  ...rest,
})

const PRESETS: Readonly<Record<string, readonly Command[]>> = {
  "git-read": [
    git("status", {
      short: "suvbz:",
      long: list("short branch show-stash porcelain porcelain= long verbose untracked-files= ignored"),
    }),
    git("log", { short: "pwbszicEFM0123456789:nLSGU", long: list(`${PRETTY} ${HISTORY}`), adds: DIFF }),
    git("show", { short: "pwbszM:U", long: list(PRETTY), adds: DIFF }),
    git("diff", { short: "pwbszMR:USG", long: list(`${PRETTY} cached staged merge-base`), adds: DIFF }),
    git("shortlog", { short: "nse:", long: list("numbered summary email since= until= no-merges all") }),
    git("rev-list", { short: ":n", long: list(`${HISTORY} count`) }),
    git("rev-parse", {
      long: list(
        "short short= verify quiet abbrev-ref abbrev-ref= show-toplevel symbolic-full-name is-inside-work-tree",
      ),
    }),
    git("blame", { short: "westlfnpMC:L", long: list("show-email show-name show-number porcelain since=") }),
    git("branch", {
      short: "avr:",
      long: list("list all remotes verbose contains= merged no-merged show-current sort= format="),
      operands: false,
    }),
    git("tag", {
      short: "l:n",
      long: list("list contains= sort= format= merged= points-at="),
      operands: false,
    }),
    git("remote", { short: "v:", long: ["verbose"], operands: false }),
    git("ls-files", {
      short: "cdmoksutz:",
      long: list("cached deleted modified others stage exclude-standard full-name"),
    }),
    git("ls-tree", { short: "rtdlz:", long: list("name-only name-status long full-name abbrev=") }),
    git("describe", { long: list("all tags long always dirty abbrev= match= exact-match") }),
    git("merge-base", { short: "a:", long: list("all is-ancestor octopus independent fork-point") }),
  ],
  inspect: [
    { start: ["pwd"], short: "LP:", operands: false },
    {
      start: ["ls"],
      short: "aAlhrtRSF1dinpsgGoU:",
      long: list("all almost-all human-readable recursive reverse size color="),
    },
    { start: ["cat"], short: "nbsAEeTtvu:", long: list("number number-nonblank squeeze-blank show-all") },
    { start: ["head"], short: "qv0123456789:nc", long: list("lines= bytes= quiet verbose") },
    { start: ["tail"], short: "qv0123456789:nc", long: list("lines= bytes= quiet verbose") },
    { start: ["wc"], short: "lwcmL:", long: list("lines words bytes chars max-line-length") },
    { start: ["stat"], short: "Lt:cf", long: list("format= printf= terse dereference") },
    {
      start: ["du"],
      short: "shakmcx:d",
      long: list("summarize human-readable all max-depth= total apparent-size"),
    },
    { start: ["df"], short: "hkTi:", long: list("human-readable total print-type") },
    { start: ["file"], short: "bi:", long: list("brief mime mime-type") },
    {
      start: ["diff"],
      short: "uqrbwBiNsya:U",
      long: list(
        "unified unified= brief recursive ignore-case ignore-all-space ignore-space-change ignore-blank-lines new-file side-by-side color=",
      ),
    },
    { start: ["cmp"], short: "lsb:n", long: list("verbose quiet silent bytes=") },
    {
      start: ["grep"],
      short: "inrRlLcvwxohHEFPqsa:eABCm",
      long: list(
        "ignore-case line-number recursive files-with-matches count invert-match word-regexp only-matching extended-regexp fixed-strings perl-regexp include= exclude= exclude-dir= color= context= after-context= before-context= max-count=",
      ),
    },
    { start: ["basename"] },
    { start: ["dirname"] },
    { start: ["sha256sum"], short: "b:", long: ["tag"] },
  ],
  "npm-test": [
    ...["test", "t"].map((name) => ({ start: ["npm", name] })),
    ...["test", "lint", "check", "typecheck"].map((name) => ({ start: ["npm", "run", name] })),
  ].map(({ start }) => ({
    start,
    short: "s:w",
    long: list("silent workspaces workspace= if-present"),
    operands: false,
  })),
}

const PREFIX = "preset:"

export function isPreset(entry: string): boolean {
  return entry.startsWith(PREFIX)
}

/** The commands of a preset as text; undefined when there is no such preset. */
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

/** The words to run, or undefined when the preset does not allow them. */
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
  const { long = [], operands = true } = command
  const [flags = "", values = ""] = (command.short ?? ":").split(":")
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

/** Neither an absolute path nor one with `..`, also behind an option's name. `HEAD~1..main` is no path with `..`. */
function isInside(word: string): boolean {
  const paths = [word, word.slice(word.indexOf("=") + 1), word.replace(/^-\w/, "")]
  return paths.every(
    (path) => !/^(?:[/\\~]|[A-Za-z]:[/\\])/.test(path) && !path.split(/[/\\]/).includes(".."),
  )
}
