/** Prints errors for people: a sentence with advice, and a stack only with `--verbose`. */
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import type { Loaded } from "@superstep/engine/definitions"
import { type Cli, EXIT, type ExitCode } from "../cli.ts"
import { paragraph, sanitize, type Terminal } from "../terminal/terminal.ts"

/** An incorrect call of the CLI. The message explains the correct call. */
export function usageError(message: string, cause?: unknown): SuperstepError {
  return new SuperstepError("USAGE", message, { cause, retryable: false })
}

/** Codes of errors in the call, the definition or the store, as opposed to errors in a run. */
const USAGE_CODES = new Set([
  "USAGE",
  "AGENT_INVALID",
  "AGENT_UNKNOWN",
  "DEFINITION_INVALID",
  "DEFINITION_UNKNOWN",
  "GRAPH_INVALID",
  "INDEX_EMBEDDINGS_OTHER",
  "INDEX_UNUSABLE",
  "INPUT_INVALID",
  "MODEL_CONFIG_INVALID",
  "MODEL_KEY_MISSING",
  "MODEL_NAME_INVALID",
  "MODEL_PROVIDER_MISSING",
  "MODEL_PROVIDER_UNKNOWN",
  "NODE_UNKNOWN",
  "OPTION_INVALID",
  "REQUEST_INVALID",
  "REQUEST_UNKNOWN",
  "RUN_EXISTS",
  "RUN_NOT_FAILED",
  "RUN_UNKNOWN",
  "SCRIPT_INVALID",
  "STORE_UNUSABLE",
  "SCHEDULE_INVALID",
  "SCHEDULE_UNKNOWN",
  "SUPERSTEP_UNKNOWN",
  "VALUE_TOO_LARGE",
])

/** A definition that cannot run, with all its problems and their source. */
class DefinitionError extends SuperstepError {
  readonly loaded: Loaded

  constructor(message: string, loaded: Loaded) {
    super("DEFINITION_INVALID", message, { retryable: false })
    this.loaded = loaded
  }
}

export async function definitionError(loaded: Loaded): Promise<SuperstepError> {
  const { listErrors } = await import("@superstep/engine/definitions")
  return new DefinitionError(listErrors(loaded), loaded)
}

/** Whether a file is something else than a definition, such as the configuration of another program. */
export function isNoDefinition(error: unknown): boolean {
  return (
    error instanceof DefinitionError &&
    error.loaded.diagnostics.every(({ code }) => code === "DIALECT_UNKNOWN")
  )
}

/** Prints the problems of a definition with their source, and their number. Prints nothing if there are none. */
export async function printLoaded(loaded: Loaded, terminal: Terminal): Promise<void> {
  if (loaded.diagnostics.length === 0) return
  const { printProblems } = await import("@superstep/engine/definitions")
  const { hasColor: color, width } = terminal
  terminal.write(printProblems(loaded, { color, width }))
}

/** An error for people, with the source of a definition that cannot run. */
export async function errorText(error: unknown, { hasColor: color, width }: Terminal): Promise<string> {
  if (!(error instanceof DefinitionError)) return sanitize(messageOf(error))
  const { printProblems } = await import("@superstep/engine/definitions")
  return printProblems(error.loaded, { color, width }).trimEnd()
}

/** Prints an error on stderr, and returns the exit code. */
export async function printError(error: unknown, cli: Pick<Cli, "err" | "isVerbose">): Promise<ExitCode> {
  const { err, isVerbose } = cli
  if (error instanceof DefinitionError) {
    await printLoaded(error.loaded, err)
    return EXIT.usage
  }
  for (const line of [...errorLines(sanitize(messageOf(error)), err), ...causeLines(error, err)])
    err.line(line)
  if (isVerbose) for (const stack of stacksOf(error)) err.line(sanitize(stack))
  return isSuperstepError(error) && USAGE_CODES.has(error.code) ? EXIT.usage : EXIT.failed
}

/** A message after the CLI's name, wrapped to the terminal. */
export function errorLines(message: string, { width, paint }: Terminal): string[] {
  return paragraph(message, width, { label: `${paint.red("superstep:")} `, indent: 2 })
}

const MAX_CAUSES = 5

interface Caused {
  readonly message: string
  readonly cause?: unknown
}

/** The causes whose text is not already part of the message. */
export function causeLines(error: unknown, { width }: Pick<Terminal, "width">): string[] {
  const lines: string[] = []
  let known = messageOf(error)
  let { cause } = (error ?? {}) as Partial<Caused>
  for (let depth = 0; cause !== undefined && cause !== null && depth < MAX_CAUSES; depth++) {
    const message = messageOf(cause)
    if (!known.includes(bareMessageOf(cause)))
      lines.push(...paragraph(sanitize(`caused by: ${message}`), width, { indent: 2 }))
    known += `\n${message}`
    cause = (cause as Partial<Caused>).cause
  }
  return lines
}

function stacksOf(error: unknown): string[] {
  const stacks: string[] = []
  for (let one = error; one instanceof Error && stacks.length < MAX_CAUSES; one = one.cause)
    stacks.push(`${stacks.length === 0 ? "" : "caused by "}${one.stack ?? one.message}`)
  return stacks
}

/** The message without its code. */
function bareMessageOf(error: unknown): string {
  // Node lists the modules that required a missing one, which says nothing to a user.
  if (error instanceof Error) return error.message.split("\nRequire stack:")[0] || error.name
  // In a result from a store, an error is data.
  const { message } = (error ?? {}) as Partial<Caused>
  return typeof message === "string" ? message : String(error)
}

function messageOf(error: unknown): string {
  const message = bareMessageOf(error)
  if (isSuperstepError(error) || !(error instanceof Error)) return message
  const { code } = error as { code?: unknown }
  // An error of another family may come from anywhere, including a user's module.
  return typeof code === "string" && !message.includes(code) ? `${message} (${code})` : message
}
