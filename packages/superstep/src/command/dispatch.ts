/** Selects the command for a command line, runs it, and returns the exit code. */
import { nearest } from "@superstep/engine/text"
import type { Command, CommanderError } from "commander"
import { type Cli, EXIT, type ExitCode, type Io, type MakeCommand } from "./cli.ts"
import { errorLines, printError, usageError } from "./print/errors.ts"
import { padded, type Terminal, terminal } from "./terminal/terminal.ts"

export interface CommandEntry {
  readonly name: string
  /** For the list of commands. */
  readonly summary: string
  readonly load: () => Promise<MakeCommand>
}

/** Each module is loaded on first use, so that a command does not load the others. */
export const COMMANDS: readonly CommandEntry[] = [
  entry("run", "run a workflow, or talk to an agent", () => import("./commands/run.ts")),
  entry(
    "exec",
    "run a workflow in a script: text on stdout, no questions",
    () => import("./commands/run.ts"),
  ),
  entry("chat", "talk to an agent", () => import("./commands/run.ts")),
  entry("ask", "answer a question over your own data", () => import("./commands/ask.ts")),
  entry("sources", "check your data sources", () => import("./commands/sources.ts")),
  entry("research", "write a report with sources", () => import("./commands/research.ts")),
  entry("validate", "check definitions, and report every problem", () => import("./commands/validate.ts")),
  entry("graph", "draw a workflow", () => import("./commands/definition.ts")),
  entry("eject", "convert a definition to TypeScript", () => import("./commands/definition.ts")),
  entry("schema", "print JSON Schemas for editors", () => import("./commands/definition.ts")),
  entry("runs", "list, inspect, resume and remove runs", () => import("./commands/runs.ts")),
  entry("enqueue", "queue a run for a worker", () => import("./commands/enqueue.ts")),
  entry("worker", "execute queued runs and schedules", () => import("./commands/worker.ts")),
  entry("schedules", "list, inspect and change schedules", () => import("./commands/schedules.ts")),
  entry("serve", "serve workflows over HTTP", () => import("./commands/serve.ts")),
  entry("dev", "serve workflows, and reload them when they change", () => import("./commands/serve.ts")),
  entry("studio", "open a web UI over the runs of a store", () => import("./commands/serve.ts")),
  entry("mcp", "log in at remote MCP servers", () => import("./commands/mcp.ts")),
  entry("keys", "manage API keys of the server", () => import("./commands/keys.ts")),
  entry("inbox", "list open questions", () => import("./commands/inbox.ts")),
  entry("respond", "answer an open question", () => import("./commands/inbox.ts")),
  entry("apply", "create or update definitions in the store", () => import("./commands/registry.ts")),
  entry("diff", "show what applying a file would change", () => import("./commands/registry.ts")),
  entry("export", "print a definition from the store", () => import("./commands/registry.ts")),
  entry("delete", "delete a definition from the store", () => import("./commands/registry.ts")),
  entry("init", "create a project from a template", () => import("./commands/init.ts")),
  entry("storage", "report what the store holds, prune old runs", () => import("./commands/storage.ts")),
  entry("index", "index documents for search", () => import("./commands/document-index.ts")),
  entry("models", "list providers, keys and prices", () => import("./commands/models.ts")),
  entry("doctor", "check this installation", () => import("./commands/doctor.ts")),
  entry("completion", "print a completion script for a shell", completion),
]

/** The module has one command, or several by name. */
function entry<Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<{ readonly commands: Readonly<Record<Name, MakeCommand>> }>,
): CommandEntry {
  return { name, summary, load: async () => (await load()).commands[name] }
}

async function completion() {
  const { completionCommand } = await import("./commands/completion.ts")
  const make = (cli: Cli) => completionCommand(cli, COMMANDS, (one) => loadCommand(one, cli))
  return { commands: { completion: make } }
}

/** Runs a command line, without the program's own name; resolves to the exit code of the process. */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = EXIT.completed
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length)
  const look = { noColor: flags.includes("--no-color"), env: io.env }
  const cli: Cli = {
    io,
    out: terminal(io.stdout, look),
    err: terminal(io.stderr, look),
    isVerbose: flags.includes("--verbose"),
    exit: (exitCode) => {
      code = exitCode
    },
  }
  try {
    await dispatch(argv, cli)
    return code
  } catch (error) {
    if (!isCommanderError(error)) return await printError(error, cli)
    return error.exitCode === 0 ? EXIT.completed : EXIT.usage
  }
}

async function dispatch(argv: readonly string[], cli: Cli): Promise<void> {
  const [first, ...others] = argv
  if (first === undefined) {
    cli.err.write(help(cli.err))
    return cli.exit(EXIT.usage)
  }
  if (first === "--version" || first === "-V") return cli.out.line(await version())
  if (first === "help" && others.length > 0) return await dispatch([...others, "--help"], cli)
  if (first === "help" || first === "--help" || first === "-h") return cli.out.write(help(cli.out))
  if (first === "__complete") {
    const { completeValues } = await import("./commands/completed-values.ts")
    return await completeValues(cli, others)
  }
  const command = await loadCommand(entryFor(first), cli)
  checkSubcommand(command, others)
  await command.parseAsync(others, { from: "user" })
}

function entryFor(name: string): CommandEntry {
  const known = COMMANDS.find((one) => one.name === name)
  if (known !== undefined) return known
  if (name === "-v" || name === "version") {
    throw usageError(
      `Unknown ${name === "-v" ? "flag" : "command"} "${name}". Did you mean superstep --version?`,
    )
  }
  if (name.startsWith("-")) {
    throw usageError(`Unknown flag "${name}". Flags follow the command: superstep COMMAND ${name}.`)
  }
  const near = nearest(
    name,
    COMMANDS.map((one) => one.name),
  )
  const hint = near === undefined ? "See superstep --help." : `Did you mean superstep ${near}?`
  throw usageError(`Unknown command "${name}". ${hint}`)
}

/** A command with a default subcommand would treat an unknown word as an argument of that subcommand. */
function checkSubcommand(command: Command, [word]: readonly string[]): void {
  const names = command.commands.map((below) => below.name())
  // One that takes arguments itself, such as the files of `serve`.
  if (command.registeredArguments.length > 0) return
  if (names.length === 0 || word === undefined || word.startsWith("-")) return
  if (word === "help" || names.includes(word)) return
  throw usageError(`Unknown command "${command.name()} ${word}". Available: ${names.join(", ")}.`)
}

export async function loadCommand({ name, load }: CommandEntry, cli: Cli): Promise<Command> {
  const make = await load()
  return configure(make(cli).name(`superstep ${name}`), cli)
}

/** Makes the command and its subcommands write to the CLI's streams, and leave the exit to `main`. */
function configure(command: Command, cli: Cli): Command {
  for (const below of command.commands) configure(below, cli)
  return command
    .exitOverride()
    .showHelpAfterError("Add --help for usage.")
    .configureHelp({
      // One form: a sentence on its own page, a phrase in a list.
      commandDescription: (shown) => sentence(shown.description()),
      subcommandDescription: (below) => below.description(),
    })
    .configureOutput({
      writeOut: (text) => cli.out.write(text),
      writeErr: (text) => cli.err.write(text),
      outputError: (text, write) => {
        for (const line of errorLines(usageText(text), cli.err)) write(`${line}\n`)
      },
      getOutHelpWidth: () => cli.out.width,
      getErrHelpWidth: () => cli.err.width,
    })
}

/** What commander says about a command line, in the words of the CLI. */
function usageText(text: string): string {
  const plain = text
    .replace(/^error: /, "")
    .trim()
    .replace(/^option '(--[\w-]+).*?' argument '(.*)' is invalid\./s, '$1: "$2" is not valid.')
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\./s, 'The $2 "$1" is not valid.')
    .replace(/^missing required argument '(.*)'$/, "Missing argument: $1.")
    .replace(/^required option '(.*)' not specified$/, "Missing option: $1.")
    .replace(/^unknown option '(.*)'/s, 'Unknown option "$1".')
    // It removes the questions, and is never what somebody meant by a typing error.
    .replace(/\s*\(Did you mean --yolo\?\)$/, "")
    .replace(/\s*\(Did you mean one of (.*)\?\)$/s, " Did you mean one of $1?")
    .replace(/\s*\(Did you mean (.*)\?\)$/s, " Did you mean $1?")
  return plain.replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}

function isCommanderError(error: unknown): error is CommanderError {
  return (
    error instanceof Error && "exitCode" in error && "code" in error && /^commander\./.test(`${error.code}`)
  )
}

function help({ paint }: Terminal): string {
  const { bold, dim } = paint
  const width = Math.max(...COMMANDS.map(({ name }) => name.length))
  return `${bold("superstep")}: run durable AI-agent workflows

${bold("Usage:")} superstep COMMAND …

${COMMANDS.map(({ name, summary }) => `  ${padded(name, width)}  ${dim(summary)}`).join("\n")}

${bold("Examples:")}
  superstep run story.yaml "a story about the sea"
  superstep help run

Exit codes: 0 completed, 1 failed, 2 bad definition or usage, 3 waiting for a
person, 4 limit or budget reached, 130 cancelled.
`
}

async function version(): Promise<string> {
  const { createRequire } = await import("node:module")
  const { version } = createRequire(import.meta.url)("superstep/package.json") as { version: string }
  return version
}
