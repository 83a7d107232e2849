/** The functions that create the agents of a definition, with their tools and guardrails. */

import { platform, release } from "node:os"
import { agent, conversation, judge, lastItems, patternGuardrail } from "../../agents/index.ts"
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import { readTextFile } from "../../files/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  api,
  filesystem,
  jsonSchema,
  memory,
  openapi,
  providerTool,
  script,
  shell,
  think,
  todo,
  toolsetWith,
  webFetch,
} from "../../tools/index.ts"
import { functionsFrom, type PlanFunctions } from "../plan/index.ts"
import { expressionGuardrail } from "./guardrails.ts"

export const agentFunctions: PlanFunctions = {
  ...functionsFrom("superstep/agents", { agent, conversation, judge, lastItems, patternGuardrail }),
  ...functionsFrom("superstep/definitions", { agentText, expressionGuardrail }),
  ...functionsFrom("superstep/tools", {
    api,
    filesystem,
    jsonSchema,
    memory,
    openapi,
    providerTool,
    script,
    shell,
    think,
    todo,
    toolsetWith,
    webFetch,
  }),
}

export type Instructions = string | ((input: unknown, ctx: Context) => string | Promise<string>)

export interface AgentTextOptions {
  readonly date?: boolean | undefined
  readonly environment?: boolean | undefined
  /** Read again for every task, up to 1 MB each. */
  readonly files?: readonly string[] | undefined
  /** The folder that must contain them, after resolving links. Default: any. */
  readonly folder?: string | undefined
}

/** Instructions with the date, the environment and project files. */
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
    const text = `A prompt file cannot be read. ${reason} Create it, or remove it from add_prompt_files.`
    const code = isSuperstepError(cause) ? cause.code : "FILE_UNREADABLE"
    throw new SuperstepError(code, text, { cause, retryable: false })
  }
}
