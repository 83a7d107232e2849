/** Asks before something is gone for good. */
import type { Cli } from "./cli.ts"
import { EXIT } from "./exit-codes.ts"
import { usageError } from "./usage-error.ts"

/** False when the person says no; the command then ends as cancelled. Without a person, `--yes` has to say it. */
export async function confirmed(cli: Cli, question: string, isSure: boolean | undefined): Promise<boolean> {
  if (isSure) return true
  const { io, err } = cli
  if (!io.stdin.isTTY || !err.isTerminal) throw usageError(`${question} Nobody is here to answer: add --yes.`)
  const { confirm } = await import("@clack/prompts")
  const answer = await confirm({
    message: question,
    initialValue: false,
    input: io.stdin,
    output: io.stderr,
    withGuide: false,
  })
  if (answer === true) return true
  cli.exit(EXIT.cancelled)
  return false
}
