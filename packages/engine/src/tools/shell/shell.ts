/**
 * The shell toolset: programs that an agent may run.
 *
 * 1. Off unless `enabled` is true: then there is no tool at all.
 * 2. Only commands in `allow` run, and none in `deny`. No shell is between, unless `shellStrings` says so; then a list of
 *    commands is useless, and must be ["*"]. A `*` at the end of a pattern does not stand for options that are known to write
 *    files or run programs (command-dangers.ts).
 * 3. A command gets a clean environment: our keys are not in it.
 * 4. Time and output are limited; the process group is killed (run-process.ts).
 *
 * It is not a sandbox: an allowed program can do what the user of this process can do. Run this process in a container if you
 * do not trust the agent with that.
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
import { allowsAnyProgram, dangerIn } from "./command-dangers.ts"
import { fitsCommand, isOpenWord, patternWords, splitCommand } from "./command-line.ts"
import { fitPreset, isPreset, presetNames, presetSummary } from "./command-presets.ts"
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
  // A string "false" out of a file must not turn it on.
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
