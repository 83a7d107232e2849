/** Validates one definition and runs it against a stand-in model. */
import { memoryStore, type RunResult } from "superstep"
import { type Loaded, loadDefinition, type PlanFunctions } from "superstep/definitions"
import { type Toolset, tool } from "superstep/tools"
import { smallest } from "./stand-in-server.ts"

export interface TriedFile {
  readonly file: string
  readonly validates: boolean
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
  /** The status of its run, and why it failed; absent if it was not run. */
  readonly outcome?: string | undefined
  readonly result?: RunResult | undefined
}

export interface TryOptions {
  /** The address of the stand-in model. */
  readonly url: string
  readonly prompt?: string | undefined
  /** More functions for plans, and others instead of its own. */
  readonly functions?: PlanFunctions | undefined
  readonly env?: { readonly [name: string]: string } | undefined
  /** Milliseconds that a run may take. Default 30,000. */
  readonly timeout?: number | undefined
  /** What a person answers. Default: denies tool calls, and gives the smallest answer that fits a form. */
  readonly answer?: ((request: RunResult["requests"][number]) => unknown) | undefined
}

const MAX_QUESTIONS = 20

export async function tryFile(file: string, options: TryOptions): Promise<TriedFile> {
  const { url, prompt = "Say hello.", functions, env, timeout = 30_000, answer = defaultAnswer } = options
  const model = () => ({ provider: "openai-compatible", model: "stand-in", baseUrl: url })
  let loaded: Loaded
  try {
    loaded = loadDefinition(file, { model, env: { ...process.env, ...env }, ...(functions && { functions }) })
  } catch (error) {
    return { file, validates: false, problems: [messageOf(error)], warnings: [] }
  }
  const linesOf = (severity: string) =>
    loaded.diagnostics
      .filter((one) => one.severity === severity)
      .map(({ place, message }) => `${place?.line ?? 0}:${place?.column ?? 0} ${message}`)
  const [problems, warnings] = [linesOf("error"), linesOf("warning")]
  const { definition } = loaded
  if (definition === undefined) return { file, validates: false, problems, warnings }
  try {
    const run = definition.workflow.run(prompt, { store: memoryStore() })
    const timer = setTimeout(() => void run.cancel("It takes too long."), timeout)
    let result = await run.result
    for (let n = 0; result.status === "waiting" && n < MAX_QUESTIONS; n++) {
      for (const request of result.requests) await run.respond(request.id, answer(request))
      result = await run.result
    }
    clearTimeout(timer)
    const why = result.error === undefined ? "" : `: ${result.error.message.split("\n")[0]}`
    return {
      file,
      validates: true,
      problems,
      warnings,
      outcome: `${result.status}${why}`,
      result: result as RunResult,
    }
  } catch (error) {
    return { file, validates: true, problems, warnings, outcome: messageOf(error) }
  } finally {
    await definition.close()
  }
}

function defaultAnswer({ data, schema }: RunResult["requests"][number]): unknown {
  const { kind } = Object(data) as { kind?: unknown }
  if (kind === "tool-approval") return { approve: false, reason: "Nobody is here." }
  return schema === undefined || schema === null ? "yes" : smallest(schema)
}

/** A server of tools that does not exist here. */
export function standInToolset(server: string): Toolset {
  const name = `${server.replace(/[^A-Za-z0-9]+/g, "_").slice(0, 40)}_stand_in`
  const only = tool({ name, description: `Stands in for the tools of ${server}.`, run: () => "nothing" })
  return { name: server, tools: () => [only] }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)
}
