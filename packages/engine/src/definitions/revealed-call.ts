/**
 * A tool that is called with secrets: everybody sees references in its arguments (the person who is asked, the record, a
 * trace), and the tool itself gets the values. What it gives back, or fails with, has no secrets in it.
 */
import { fromErrorData, isSuperstepError, type Json, SuperstepError, toErrorData } from "../core/index.ts"
import { maskError } from "../tools/call-tool.ts"
import { Masking, type Tool, type ToolCallContext } from "../tools/index.ts"
import { toJson } from "../tools/tool-result.ts"

export interface RevealedArgs {
  readonly args: Json
  /** The values in them that must not come out again. */
  readonly secrets: readonly string[]
}

/** `real` is asked when the tool runs, and not for a call that is on record. */
export function revealing(tool: Tool, shown: Json, real: () => RevealedArgs): Tool {
  const run = async (args: unknown, call: ToolCallContext): Promise<unknown> => {
    const revealed = real()
    if (revealed.secrets.length === 0) return await tool.run(args as never, call)
    if (tool.durable === true) throw unsupported(tool.name)
    const masking = Masking.of(revealed.secrets)
    const [before, after] = [await tool.parse(shown), await tool.parse(revealed.args)]
    if (!before.ok || !after.ok) throw misfit(tool.name, after.ok ? "" : masking.text(after.reason))
    const filled = filledIn(args, before.args, after.args)
    try {
      return masking.json(toJson(await tool.run(filled as never, call), tool.name))
    } catch (error) {
      if (isSuperstepError(error) && (error.limit === true || error.fatal === true)) throw error
      throw fromErrorData(maskError(toErrorData(error), masking))
    }
  }
  return { ...tool, run: run as Tool["run"] }
}

/** A person may have changed the arguments: what was left as shown is what it stands for. */
function filledIn(args: unknown, shown: unknown, real: unknown): unknown {
  if (typeof args !== "object" || args === null) return args === shown ? real : args
  if (typeof shown !== "object" || shown === null || typeof real !== "object" || real === null) return args
  const [before, after] = [shown as Record<string, unknown>, real as Record<string, unknown>]
  if (Array.isArray(args)) return args.map((item, i) => filledIn(item, before[i], after[i]))
  const entries = Object.entries(args).map(([name, item]) => [
    name,
    filledIn(item, before[name], after[name]),
  ])
  return Object.fromEntries(entries)
}

/** It would record what it is given. */
function unsupported(tool: string): SuperstepError {
  const text = `The tool "${tool}" records what it does, so it cannot be given a secret. Give it to a tool that calls something outside.`
  return new SuperstepError("SECRET_UNSUPPORTED", text, { retryable: false, fatal: true })
}

function misfit(tool: string, reason: string): SuperstepError {
  return new SuperstepError("TOOL_ARGS", `The arguments of "${tool}" do not fit: ${reason}.`, {
    retryable: false,
  })
}
