/**
 * The shell toolset: programs that an agent may run.
 *
 * 1. Unless `enabled` is true, the toolset has no tools.
 * 2. Only commands in `allow` run, and none in `deny`. No shell is involved, unless `shellStrings` is set; then a list of
 *    commands is useless, and must be ["*"]. A `*` at the end of a pattern does not match options that are known to write
 *    files or run programs (command-line.ts).
 * 3. A command gets a clean environment: our keys are not in it.
 * 4. Time and output are limited; the process group is killed (run-process.ts).
 *
 * It is not a sandbox: an allowed program can do what the user of this process can do. Run this process in a container if
 * you do not trust the agent with that.
 */
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { isSecretName } from "../../text/index.ts"
import type { Approval } from "../approval.ts"
import { type ConfinedRoot, confinedRoot } from "../filesystem/confined-root.ts"
import { Masking } from "../secrets.ts"
import { objectInput, type ToolCallContext, type Toolset, tool } from "../tool.ts"
import {
  allowsAnyProgram,
  dangerIn,
  fitsCommand,
  isOpenWord,
  patternWords,
  splitCommand,
} from "./command-line.ts"
import { plainEnvironment, programPath, runProcess } from "./run-process.ts"

export interface ShellOptions {
  readonly enabled: boolean
  /** The directory that commands run in; a call may name one inside of it. */
  readonly root: string
  /**
   * Presets such as `preset:git-read`, and patterns: `npm test` allows just that, `make *` any arguments except known
   * dangerous ones, `cat docs/*.md` one that matches, `*` everything.
   */
  readonly allow?: readonly string[] | undefined
  /** Patterns like those of `allow`; they come first. */
  readonly deny?: readonly string[] | undefined
  /** Passes the line to `/bin/sh`, with pipes, redirections and variables. Needs `allow: ["*"]`. */
  readonly shellStrings?: boolean | undefined
  /** Variables for commands. The values of those with the name of a secret are masked in the output. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Names of our own variables that commands get, and whose values are masked in the output. */
  readonly secrets?: readonly string[] | undefined
  /** Milliseconds a command may take. Default 60,000. */
  readonly timeout?: number | undefined
  /** Bytes kept of each of its outputs. Default 50,000. */
  readonly maxOutput?: number | undefined
  /** Default "always": a person is asked. */
  readonly approval?: Approval | undefined
}

interface ShellArgs {
  readonly cmd: string
  readonly cwd?: string
  readonly timeout?: number
}

export interface ShellResult {
  readonly exit_code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly note?: string
}

const TIMEOUT = 60_000
const CMD = { type: "string", description: "The command with its arguments." }
const CWD = { type: "string", description: "A directory, relative to the root. Default: the root." }
const SECONDS = { type: "number", exclusiveMinimum: 0, description: "Seconds it may take." }

export function shell(options: ShellOptions): Toolset {
  const { allow = [], deny = [] } = options
  if (options.shellStrings === true && (allow.join() !== "*" || deny.length > 0)) {
    throw invalid(
      'A shell line cannot be checked against a list: with shellStrings, set allow to ["*"] and leave deny empty.',
    )
  }
  for (const entry of allow) checkAllowed(entry)
  const preset = deny.find(isPreset)
  if (preset !== undefined) {
    throw invalid(`"${preset}" is a preset of what is allowed: \`deny\` takes patterns.`)
  }
  // The string "false" from a file must not enable it.
  const enabled = options.enabled === true
  const root = confinedRoot(options.root, { deny: [] })

  const run = tool({
    name: "shell",
    description: describe(options),
    input: objectInput({ cmd: CMD, cwd: CWD, timeout: SECONDS }, ["cmd"]),
    approval: options.approval ?? "always",
    run: (args: ShellArgs, call) => runCommand(options, root, args, call),
  })
  return { name: "shell", tools: () => (enabled ? [run] : []) }
}

/** Refuses patterns that allow more than they seem to, before anything runs. */
function checkAllowed(entry: string): void {
  if (isPreset(entry)) {
    if (presetSummary(entry) !== undefined) return
    throw invalid(`Unknown preset "${entry}". Presets: ${presetNames().join(", ")}.`)
  }
  const words = patternWords(entry)
  if (!allowsAnyProgram(words)) return
  throw invalid(
    `The pattern "${entry}" allows every program, because ${words[0]} runs the program that its arguments name. ` +
      'Name that program in the pattern, or write "*" to allow everything.',
  )
}

async function runCommand(
  options: ShellOptions,
  root: ConfinedRoot,
  args: ShellArgs,
  { signal, ctx }: ToolCallContext,
): Promise<ShellResult> {
  const [command = "", ...rest] = commandOf(options, args.cmd)
  const target = await root.locate(args.cwd ?? "")
  const base = await root.directory()
  const { secrets = [], maxOutput } = options
  const timeout = Math.min(options.timeout ?? TIMEOUT, (args.timeout ?? Infinity) * 1_000)
  const env = plainEnvironment(secrets)
  const masking = new Masking({ ...env, ...options.env }, [
    ...secrets,
    ...Object.keys(options.env ?? {}).filter(isSecretName),
  ])
  const result = await runProcess({
    command,
    args: rest,
    cwd: join(base, ...target.parts),
    env: { ...env, PATH: programPath(env.PATH ?? "", [options.root, base]), TERM: "dumb", ...options.env },
    timeout,
    maxOutput,
    signal,
    clock: ctx.clock,
  })
  return {
    exit_code: result.code,
    stdout: result.stdout.text(masking, plain),
    stderr: result.stderr.text(masking, plain),
    ...(result.stopped && { note: NOTES[result.stopped](timeout) }),
  }
}

const NOTES = {
  timeout: (timeout: number) =>
    `The command was stopped after ${timeout / 1_000} s; this is its output until then.`,
  output: () => "The command was stopped because it wrote too much output.",
} as const

/** The words of the command, if it may run. */
function commandOf(options: ShellOptions, line: string): readonly string[] {
  if (options.shellStrings === true) return ["/bin/sh", "-c", line]
  const words = splitCommand(line)
  const { allow = [], deny = [] } = options
  const isDenied = deny.some((pattern) => fitsCommand(pattern, words, "any"))
  let danger: string | undefined
  for (const entry of isDenied ? [] : allow) {
    if (isPreset(entry)) {
      const fitted = fitPreset(entry, words)
      if (fitted !== undefined) return fitted
    } else if (fitsCommand(entry, words, "all")) {
      const found = entry.trim() === "*" ? undefined : dangerIn(words, (index) => isOpenWord(entry, index))
      if (found === undefined) return words
      danger ??= found
    }
  }
  const why =
    danger === undefined
      ? ""
      : ` With ${danger} it can write files or run programs, which a "*" does not allow: write it out in a pattern to allow it.`
  const message = `"${words[0]}" is not allowed with these arguments.${why} Allowed: ${allowedText(allow)}.`
  throw terminalError("COMMAND_DENIED", message)
}

function allowedText(allow: readonly string[]): string {
  const shown = allow.map((entry) => {
    const summary = isPreset(entry) ? presetSummary(entry) : undefined
    return summary === undefined ? entry : `${summary} (reading only, options in full, paths inside the root)`
  })
  return shown.join(", ") || "nothing"
}

function invalid(message: string): SuperstepError {
  return terminalError("SHELL_INVALID", message)
}

/** Without the codes that color a terminal or move its cursor. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  return stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, "")
}

function describe(options: ShellOptions): string {
  if (options.shellStrings === true) return "Runs a line in /bin/sh and returns its exit code and output."
  return `Runs one program and returns its exit code and output. There is no shell: no pipes, redirections, variables or several commands. Allowed: ${allowedText(options.allow ?? [])}.`
}

// Named lists of read-only commands: `preset:git-read` in `allow` instead of patterns. Everything that is not listed is
// rejected: other options, abbreviated options, and paths that lead out of the directory. A preset trusts the files that
// configure its programs: `.git/config` can name programs that git runs, and `package.json` defines what `npm test` does.
// Write access to these files is enough to run anything.

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

function isPreset(entry: string): boolean {
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

/** Rejects values that look like options: some programs parse them as options. */
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
