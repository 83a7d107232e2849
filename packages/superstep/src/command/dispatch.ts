/** From the words of a command line to a command, and from its end to an exit code. */
import type { Command, CommanderError } from "commander"
import type { Cli } from "./cli.ts"
import { COMMANDS, type CommandEntry } from "./commands.ts"
import { EXIT, type ExitCode } from "./exit-codes.ts"
import type { Io } from "./io.ts"
import { printError, saidBy } from "./print-error.ts"
import { padded, type Terminal, terminal } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

/** Runs a command line, without the program's own name; resolves with what the process is to exit with. */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = EXIT.completed
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length)
  const look = { noColor: flags.includes("--no-color"), env: io.env }
  const cli: Cli = {
    io,
    out: terminal(io.stdout, look),
    err: terminal(io.stderr, look),
    isVerbose: flags.includes("--verbose"),
    exit: (given) => {
      code = given
    },
  }
  try {
    await dispatch(argv, cli)
    return code
  } catch (error) {
    return isCommanderError(error) ? exitCodeOf(error) : await printError(error, cli)
  }
}

async function dispatch(argv: readonly string[], cli: Cli): Promise<void> {
  const [first, ...others] = argv
  if (first === undefined) {
    cli.err.write(help(cli.err))
    return cli.exit(EXIT.usage)
  }
  if (first === "--help" || first === "-h") return cli.out.write(help(cli.out))
  if (first === "--version" || first === "-V") return cli.out.line(await version())
  if (first === "help") {
    if (others.length === 0) return cli.out.write(help(cli.out))
    return await dispatch([...others, "--help"], cli)
  }
  const command = await load(entryFor(first), cli)
  checkBelow(command, others)
  await command.parseAsync(others, { from: "user" })
}

function entryFor(name: string): CommandEntry {
  const entry = COMMANDS.find((one) => one.name === name)
  if (entry !== undefined) return entry
  const near =
    COMMANDS.find((one) => one.name.startsWith(name.slice(0, 3))) ??
    COMMANDS.find((one) => lettersOf(one.name) === lettersOf(name))
  const hint = near === undefined ? "See superstep --help." : `Did you mean superstep ${near.name}?`
  throw usageError(
    name.startsWith("-")
      ? `There is no flag "${name}" before a command. Write superstep COMMAND ${name}.`
      : `There is no command "${name}". ${hint}`,
  )
}

/** In order: most slips swap two of them. */
function lettersOf(word: string): string {
  return [...word].sort().join("")
}

/** Where a command is done without one below it too, a word that is none of them would be taken for its argument. */
function checkBelow(command: Command, [word]: readonly string[]): void {
  const names = command.commands.map((below) => below.name())
  if (names.length === 0 || word === undefined || word.startsWith("-")) return
  if (word === "help" || names.includes(word)) return
  throw usageError(`There is no command "${command.name()} ${word}". There are: ${names.join(", ")}.`)
}

/** The command with all below it, set up to write where the others write and to leave the end of the process to `main`. */
export async function load(entry: CommandEntry, cli: Cli): Promise<Command> {
  const command = (await entry.load()).command(cli).name(`superstep ${entry.name}`)
  settle(command, cli)
  return command
}

function settle(command: Command, cli: Cli): void {
  command
    .exitOverride()
    .showHelpAfterError("Add --help to see how it is used.")
    .configureOutput({
      writeOut: (text) => cli.out.write(text),
      writeErr: (text) => cli.err.write(text),
      outputError: (text, write) => {
        for (const line of saidBy("superstep:", text.replace(/^error: /, "").trim(), cli.err))
          write(`${line}\n`)
      },
      getOutHelpWidth: () => cli.out.width,
      getErrHelpWidth: () => cli.err.width,
    })
  for (const below of command.commands) settle(below, cli)
}

function isCommanderError(error: unknown): error is CommanderError {
  return (
    error instanceof Error && "exitCode" in error && "code" in error && /^commander\./.test(`${error.code}`)
  )
}

function exitCodeOf({ exitCode }: CommanderError): ExitCode {
  return exitCode === 0 ? EXIT.completed : EXIT.usage
}

function help({ paint }: Terminal): string {
  const { bold, dim } = paint
  const width = Math.max(...COMMANDS.map(({ name }) => name.length))
  return [
    `${bold("superstep")}: AI-agent workflows that lose nothing and repeat nothing`,
    "",
    `${bold("Usage:")} superstep COMMAND …`,
    "",
    ...COMMANDS.map(({ name, summary }) => `  ${padded(name, width)}  ${dim(summary)}`),
    "",
    `${bold("For example:")}`,
    '  superstep run story.yaml "a story about the sea"',
    "  superstep help run",
    "",
    "Exit codes: 0 completed, 1 failed, 2 bad definition or usage, 3 waiting for a",
    "person, 4 limit or budget reached, 130 cancelled.",
    "",
  ].join("\n")
}

async function version(): Promise<string> {
  const { createRequire } = await import("node:module")
  const { version } = createRequire(import.meta.url)("superstep/package.json") as { version: string }
  return version
}
