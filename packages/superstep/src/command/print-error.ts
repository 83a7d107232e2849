/** An error as people see it: a sentence that says what to do, and never a stack unless they ask for it. */
import { isSuperstepError } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import { isDefinitionError } from "./definition-error.ts"
import { EXIT, type ExitCode } from "./exit-codes.ts"
import { foreign, type Terminal, wrapped } from "./terminal.ts"
import { isUsage } from "./usage-error.ts"

/** Tells it on stderr, and gives what to exit with. */
export async function printError(error: unknown, cli: Pick<Cli, "err" | "isVerbose">): Promise<ExitCode> {
  const { err, isVerbose } = cli
  if (isDefinitionError(error)) {
    await error.print(err)
    return EXIT.usage
  }
  for (const line of saidBy("superstep:", foreign(messageOf(error)), err)) err.line(line)
  for (const line of causeLines(error, err)) err.line(line)
  if (isVerbose) for (const stack of stacksOf(error)) err.line(foreign(stack))
  return isUsage(error) ? EXIT.usage : EXIT.failed
}

/** A message under a name, in lines that fit. */
export function saidBy(name: string, message: string, { width, paint }: Terminal): string[] {
  const [first = "", ...others] = wrapped(message, width - name.length - 1)
  return [`${paint.red(name)} ${first}`, ...others.map((line) => (line === "" ? "" : `  ${line}`))]
}

const MOST_CAUSES = 5

interface Caused {
  readonly message: string
  readonly cause?: unknown
}

/** Why it happened, cause by cause, as far as the messages before do not say it already. */
export function causeLines(error: unknown, { width }: Pick<Terminal, "width">): string[] {
  const lines: string[] = []
  let said = messageOf(error)
  let { cause } = (error ?? {}) as Partial<Caused>
  for (let depth = 0; cause !== undefined && cause !== null && depth < MOST_CAUSES; depth++) {
    const message = messageOf(cause)
    if (!said.includes(message)) lines.push(...wrapped(foreign(`caused by: ${message}`), width - 2))
    said += `\n${message}`
    cause = (cause as Partial<Caused>).cause
  }
  return lines.map((line) => `  ${line}`)
}

/** Its own, and those of what caused it. */
function stacksOf(error: unknown): string[] {
  const stacks: string[] = []
  for (let one = error; one instanceof Error && stacks.length < MOST_CAUSES; one = one.cause)
    stacks.push(`${stacks.length === 0 ? "" : "caused by "}${one.stack ?? one.message}`)
  return stacks
}

function messageOf(error: unknown): string {
  if (isSuperstepError(error)) return error.message
  // In a result that was read from a store an error is data.
  const { message } = (error ?? {}) as Partial<Caused>
  if (!(error instanceof Error)) return typeof message === "string" ? message : String(error)
  const { code } = error as { code?: unknown }
  const what = error.message || error.name
  // What is not of our family may be anybody's, a user's module included.
  return typeof code === "string" && !what.includes(code) ? `${what} (${code})` : what
}
