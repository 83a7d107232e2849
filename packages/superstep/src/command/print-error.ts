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
  if (isVerbose && error instanceof Error && error.stack !== undefined) err.line(foreign(error.stack))
  return isUsage(error) ? EXIT.usage : EXIT.failed
}

/** A message under a name, in lines that fit. */
export function saidBy(name: string, message: string, { width, paint }: Terminal): string[] {
  const [first = "", ...others] = wrapped(message, width - name.length - 1)
  return [`${paint.red(name)} ${first}`, ...others.map((line) => (line === "" ? "" : `  ${line}`))]
}

function messageOf(error: unknown): string {
  if (isSuperstepError(error)) return error.message
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  const what = error.message || error.name
  // What is not of our family may be anybody's, a user's module included.
  return typeof code === "string" && !what.includes(code) ? `${what} (${code})` : what
}
