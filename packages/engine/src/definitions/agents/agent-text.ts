/** What an agent is told beside its instructions: the date, where it is, files of the project. */
import { readFileSync } from "node:fs"
import { platform, release } from "node:os"
import { isAbsolute, resolve } from "node:path"
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"

export type Instructions = string | ((input: unknown, ctx: Context) => string | Promise<string>)

export interface AgentTextOptions {
  readonly date?: boolean | undefined
  readonly environment?: boolean | undefined
  /** Read anew for every task. */
  readonly files?: readonly string[] | undefined
}

export function agentText(
  instructions: Instructions,
  options: AgentTextOptions,
): (input: unknown, ctx: Context) => Promise<string> {
  const { date, environment, files = [] } = options
  return async (input, ctx) => {
    const own = typeof instructions === "string" ? instructions : await instructions(input, ctx)
    const parts = [own]
    if (date) parts.push(`Today's date: ${new Date(ctx.clock.now()).toISOString().slice(0, 10)}`)
    if (environment) {
      parts.push(`Working directory: ${process.cwd()}\nOperating system: ${platform()} ${release()}`)
    }
    for (const file of files) parts.push(`Instructions from ${file}:\n${read(file)}`)
    return parts.filter((part) => part !== "").join("\n\n")
  }
}

function read(file: string): string {
  try {
    return readFileSync(isAbsolute(file) ? file : resolve(file), "utf8")
  } catch (cause) {
    const text = `The prompt file "${file}" cannot be read. Put it there, or take it out of add_prompt_files.`
    throw new SuperstepError("FILE_UNREADABLE", text, { cause, retryable: false })
  }
}
