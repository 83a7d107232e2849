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
  if (isVerbose) for (const stack of stacksOf(error)) err.line(foreign(stack))
  return isUsage(error) ? EXIT.usage : EXIT.failed
}

/** A message under a name, in lines that fit. */
export function saidBy(name: string, message: string, { width, paint }: Terminal): string[] {
  const [first = "", ...others] = wrapped(message, width - name.length - 1)
  return [`${paint.red(name)} ${first}`, ...others.map((line) => (line === "" ? "" : `  ${line}`))]
}

const MOST_CAUSES = 5

/** Its own, and those of what caused it. */
function stacksOf(error: unknown): string[] {
  const stacks: string[] = []
  for (let one = error; one instanceof Error && stacks.length < MOST_CAUSES; one = one.cause)
    stacks.push(`${stacks.length === 0 ? "" : "caused by "}${one.stack ?? one.message}`)
  return stacks
}

function messageOf(error: unknown): string {
  if (isSuperstepError(error)) return error.message
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  const what = error.message || error.name
  // What is not of our family may be anybody's, a user's module included.
  return typeof code === "string" && !what.includes(code) ? `${what} (${code})` : what
}
