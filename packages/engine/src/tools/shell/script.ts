/**
 * The script toolset: commands that the author wrote, with arguments that the model fills in.
 *
 * S1 An argument reaches the command as an environment variable, never as part of its text: in `grep -- "$word" notes.txt`
 *    nothing that a model writes becomes another command. Quote it, and put `--` before it, as in any script.
 * S2 Only declared arguments are accepted, and none may have the name of a variable that changes how programs run.
 * S3 The command gets a plain environment: our keys are not in it unless `inherit` names them. The values of variables with
 *    the name of a secret are masked in its output.
 */
import { type Json, SuperstepError } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { isSecretName } from "../../text/index.ts"
import type { Approval } from "../approval.ts"
import { Masking } from "../secrets.ts"
import { objectInput, type Tool, type Toolset, tool } from "../tool.ts"
import { type ProcessResult, plainEnvironment, runProcess } from "./run-process.ts"

export interface ScriptTool {
  /** For `/bin/sh -c`. */
  readonly cmd: string
  readonly description?: string | undefined
  /** JSON Schemas of its arguments by name; without a type they are strings. */
  readonly args?: Readonly<Record<string, Json>> | undefined
  /** Names of the required arguments. Default: all. */
  readonly required?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly working_dir?: string | undefined
}

export interface ScriptOptions {
  readonly tools: Readonly<Record<string, ScriptTool>>
  /** For all commands; a tool's own comes first. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Names of our own variables that commands get; true: all. */
  readonly inherit?: readonly string[] | true | undefined
  /** Milliseconds a command may take. Default 60,000. */
  readonly timeout?: number | undefined
  /** Bytes kept of each of its outputs. Default 50,000. */
  readonly maxOutput?: number | undefined
  readonly approval?: Approval | undefined
}

export function script(options: ScriptOptions): Toolset {
  const entries = Object.entries(options.tools)
  if (entries.length === 0) throw invalid("it has no tools; add { name: { cmd, description } }.")
  const tools = entries.map(([name, definition]) => scriptTool(name, definition, options))
  return { name: "script", tools: () => tools }
}

function scriptTool(name: string, definition: ScriptTool, options: ScriptOptions): Tool {
  const { cmd, description, args = {}, required = Object.keys(args) } = definition
  if (typeof cmd !== "string" || cmd.trim() === "")
    throw invalid(`"${name}" needs cmd, the command that it runs.`)
  for (const arg of Object.keys(args)) checkArg(name, arg)
  const missing = required.filter((one) => !Object.hasOwn(args, one))
  if (missing.length > 0) throw invalid(`"${name}" requires ${missing.join(", ")}, which args does not have.`)
  const properties = Object.fromEntries(Object.entries(args).map(([arg, schema]) => [arg, typed(schema)]))
  return tool({
    name,
    description: description === undefined || description === "" ? `Runs: ${cmd}` : description,
    input: objectInput(properties, required),
    approval: options.approval,
    run: async (values: Readonly<Record<string, Json>>, { signal, ctx }) => {
      const { timeout = 60_000, maxOutput, inherit = [], env } = options
      const inherited = plainEnvironment(inherit === true ? Object.keys(process.env) : inherit)
      const own = { ...inherited, ...env, ...definition.env }
      const result = await runProcess({
        command: "/bin/sh",
        args: ["-c", cmd],
        cwd: definition.working_dir,
        env: { ...own, ...variables(values) },
        signal,
        timeout,
        maxOutput,
        clock: ctx.clock,
      })
      return outcomeOf(name, result, timeout, new Masking(own, Object.keys(own).filter(isSecretName)))
    },
  })
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Variables that decide which programs run and what they load. Only Windows ignores their case. */
const RESERVED_NAMES = new RegExp(
  "^(PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH|HOME|LD_.*|DYLD_.*|NODE_.*|" +
    "PYTHON.*|PERL.*|RUBY.*|JAVA_.*|GIT_.*|SSH_.*|EDITOR|PAGER|LESSOPEN|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|" +
    ".*_PROXY|.*_proxy)$",
  process.platform === "win32" ? "i" : "",
)

function checkArg(name: string, arg: string): void {
  if (!NAME.test(arg)) {
    throw invalid(`"${arg}", an argument of "${name}", becomes a variable: use letters, digits and "_".`)
  }
  if (RESERVED_NAMES.test(arg)) {
    throw invalid(`"${arg}", an argument of "${name}", would change how programs run: rename it.`)
  }
}

function typed(schema: Json): Json {
  if (!isRecord(schema)) return { type: "string" }
  const known = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"].some((key) =>
    Object.hasOwn(schema, key),
  )
  return known ? schema : { ...schema, type: "string" }
}

function variables(args: Readonly<Record<string, Json>>): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(args)) {
    if (value === null || value === undefined) continue
    const text = typeof value === "string" ? value : JSON.stringify(value)
    if (text.includes("\0")) {
      throw terminalError("TOOL_ARGS_INVALID", `"${name}" contains NUL, which a variable cannot hold.`)
    }
    env[name] = text
  }
  return env
}

function outcomeOf(name: string, result: ProcessResult, timeout: number, masking: Masking): string {
  const { code, signal, stopped } = result
  const stdout = result.stdout.text(masking)
  const stderr = result.stderr.text(masking)
  if (code === 0 && stopped === undefined) return stderr === "" ? stdout : `${stdout}\n[stderr]\n${stderr}`
  const how = {
    timeout: `was stopped after ${timeout} ms`,
    output: "was stopped because it wrote too much output",
    exit: signal === null ? `exited with code ${code}` : `was killed by ${signal}`,
  }[stopped ?? "exit"]
  const output = [stderr, stdout].filter((text) => text !== "")
  throw new SuperstepError("SCRIPT_FAILED", [`${name} ${how}.`, ...output].join("\n"))
}

function invalid(reason: string): SuperstepError {
  return terminalError("SCRIPT_INVALID", `The script toolset: ${reason}`)
}
