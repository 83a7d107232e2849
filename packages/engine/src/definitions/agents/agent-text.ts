/** What an agent is told beside its instructions: the date, where it is, files of the project. */
import { platform, release } from "node:os"
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import { readTextFile } from "../../files/index.ts"
import type { Context } from "../../runtime/index.ts"

export type Instructions = string | ((input: unknown, ctx: Context) => string | Promise<string>)

export interface AgentTextOptions {
  readonly date?: boolean | undefined
  readonly environment?: boolean | undefined
  /** Read anew for every task, up to 1 MB each. */
  readonly files?: readonly string[] | undefined
  /** Where they must be, links resolved. Default: anywhere. */
  readonly folder?: string | undefined
}

export function agentText(
  instructions: Instructions,
  options: AgentTextOptions,
): (input: unknown, ctx: Context) => Promise<string> {
  const { date, environment, files = [], folder } = options
  return async (input, ctx) => {
    const own = typeof instructions === "string" ? instructions : await instructions(input, ctx)
    const parts = [own]
    if (date) parts.push(`Today's date: ${new Date(ctx.clock.now()).toISOString().slice(0, 10)}`)
    if (environment) {
      parts.push(`Working directory: ${process.cwd()}\nOperating system: ${platform()} ${release()}`)
    }
    for (const file of files) parts.push(`Instructions from ${file}:\n${read(file, folder)}`)
    return parts.filter((part) => part !== "").join("\n\n")
  }
}

function read(file: string, folder: string | undefined): string {
  try {
    return readTextFile(file, { folder })
  } catch (cause) {
    const reason = isSuperstepError(cause) ? cause.message : String(cause)
    const text = `A prompt file is missing. ${reason} Put it there, or take it out of add_prompt_files.`
    const code = isSuperstepError(cause) ? cause.code : "FILE_UNREADABLE"
    throw new SuperstepError(code, text, { cause, retryable: false })
  }
}
