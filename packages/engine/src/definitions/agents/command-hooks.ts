/**
 * Commands that run around the work of an agent: `hooks` of a definition. Each gets a JSON object on its standard input and
 * answers with its exit code and its output.
 *
 * C1 A hook runs within its time limit, in an environment without our keys.
 * C2 What a hook decides is recorded: a resumed run does not run it again. One that a crash interrupts runs again.
 * C3 A `pre_tool_use` hook that fails or takes too long denies the call: a guard that cannot decide must not allow.
 */
import { resolve } from "node:path"
import { z } from "zod"
import type { AgentEnd, HookInfo, Middleware } from "../../agents/index.ts"
import { isSuperstepError, type Json } from "../../core/index.ts"
import { isRecord } from "../../core/internal.ts"
import type { Path } from "../../document/index.ts"
import { compilePattern, isFound, PatternError } from "../../text/patterns/index.ts"
import { plainEnvironment, runProcess } from "../../tools/internal.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { jsonShape } from "../json-shape.ts"
import { type Arg, type ArgObject, call, definedArgs } from "../plan/index.ts"

const hookShape = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("command"),
    command: z.string().min(1).describe("For /bin/sh -c. Reads a JSON object from its standard input."),
    timeout: z.number().positive().optional().describe("Seconds that it may take. Default 60."),
    name: z.string().optional(),
    env: z.record(z.string(), z.string()).optional().describe("Environment variables of the command."),
    working_dir: z.string().optional().describe("Its folder. Default: the working directory."),
    // It has no effect here, and is reported with a warning.
    on_error: z.string().optional(),
  }),
  // Hooks that do not exist here: each is left out with a warning.
  z.looseObject({ type: z.enum(["builtin", "model"]) }),
])

const matchedShape = z.array(
  z.strictObject({
    matcher: z.string().optional().describe("A regular expression of tool names; * for all, the default."),
    hooks: z.array(hookShape),
  }),
)

const hooksList = z.array(hookShape)

const ignoredShape = jsonShape.optional()

/** Events of other tools without a counterpart: their hooks are left out with a warning. */
const unsupportedEvents = {
  permission_request: ignoredShape,
  user_prompt_submit: ignoredShape,
  turn_start: ignoredShape,
  turn_end: ignoredShape,
  before_llm_call: ignoredShape,
  after_llm_call: ignoredShape,
  tool_response_transform: ignoredShape,
  pre_compact: ignoredShape,
  before_compaction: ignoredShape,
  after_compaction: ignoredShape,
  subagent_stop: ignoredShape,
  on_agent_switch: ignoredShape,
  on_session_resume: ignoredShape,
  on_error: ignoredShape,
  on_max_iterations: ignoredShape,
}

export const hooksShape = z
  .strictObject({
    pre_tool_use: matchedShape
      .optional()
      .describe("Before a tool call: may deny, ask a person, or change it."),
    post_tool_use: matchedShape.optional().describe("After a tool call: may add to its result."),
    session_start: hooksList.optional().describe("When the agent begins: may add to its instructions."),
    session_end: hooksList.optional().describe("When the agent has ended."),
    on_user_input: hooksList.optional().describe("Before a person is asked."),
    stop: hooksList.optional().describe("When the agent has answered."),
    notification: hooksList.optional().describe("When the agent fails."),
    ...unsupportedEvents,
  })
  .describe("Commands that run around its work.")

type HooksData = z.infer<typeof hooksShape>
type CommandHookData = Extract<z.infer<typeof hookShape>, { type: "command" }>

export interface CommandHook {
  /** For `/bin/sh -c`. */
  readonly command: string
  /** Milliseconds that it may take. Default 60,000. */
  readonly timeout?: number | undefined
  /** Environment variables besides PATH and HOME. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Its folder, relative to the working directory, which is the default. */
  readonly workingDir?: string | undefined
}

export interface ToolHooks {
  /** A regular expression of whole tool names. Default: all. */
  readonly matcher?: string | undefined
  readonly hooks: readonly CommandHook[]
}

export interface CommandHooksOptions {
  readonly preToolUse?: readonly ToolHooks[] | undefined
  readonly postToolUse?: readonly ToolHooks[] | undefined
  readonly sessionStart?: readonly CommandHook[] | undefined
  readonly sessionEnd?: readonly CommandHook[] | undefined
  readonly onUserInput?: readonly CommandHook[] | undefined
  readonly stop?: readonly CommandHook[] | undefined
  readonly notification?: readonly CommandHook[] | undefined
}

/** The argument that creates the hooks of an agent. Patterns that are not valid are reported. */
export function hooksArg(data: HooksData | undefined, path: Path, report: DocumentReport): Arg {
  if (data === undefined) return undefined
  for (const event of Object.keys(unsupportedEvents) as (keyof typeof unsupportedEvents)[]) {
    const at = [...path, event]
    if (data[event] !== undefined && report.hasField(at)) report.unsupported(`The hook "${event}"`, at, "key")
  }
  const plain = (hooks: HooksData["stop"], at: Path, asksInstead = false) =>
    hooks?.flatMap((hook, i) => {
      if (hook.type === "command") return [commandArg(hook, [...at, i], report)]
      const isAsked = asksInstead && hook.type === "model"
      const instead = isAsked ? "a person is asked before these calls" : "it is left out"
      report.warning("NOT_SUPPORTED", `A hook of type ${hook.type} is not supported: ${instead}.`, [
        ...at,
        i,
        "type",
      ])
      return isAsked ? [{ command: ASK }] : []
    })
  const matched = (field: "pre_tool_use" | "post_tool_use") =>
    data[field]?.map(({ matcher, hooks }, i) => {
      const problem = matcher === undefined ? undefined : matcherProblem(matcher)
      if (problem !== undefined) report.error("HOOK_INVALID", problem, [...path, field, i, "matcher"])
      const planned = plain(hooks, [...path, field, i, "hooks"], field === "pre_tool_use") ?? []
      return { ...(matcher !== undefined && { matcher }), hooks: planned }
    })
  const listed = (field: "session_start" | "session_end" | "on_user_input" | "stop" | "notification") =>
    plain(data[field], [...path, field])
  const options = definedArgs({
    preToolUse: matched("pre_tool_use"),
    postToolUse: matched("post_tool_use"),
    sessionStart: listed("session_start"),
    sessionEnd: listed("session_end"),
    onUserInput: listed("on_user_input"),
    stop: listed("stop"),
    notification: listed("notification"),
  })
  return options === undefined ? undefined : call("commandHooks", options)
}

/** A model that judges calls cannot run here. Allowing what it might deny would be worse than asking. */
const ASK = `echo '{"hook_specific_output":{"permission_decision":"ask"}}'`

function commandArg(hook: CommandHookData, at: Path, report: DocumentReport): ArgObject {
  const { command, timeout, env, working_dir } = hook
  if (hook.on_error !== undefined) report.unsupported('"on_error" of a hook', [...at, "on_error"], "key")
  return {
    command,
    ...(timeout && { timeout: Math.round(timeout * 1_000) }),
    ...(env && { env }),
    ...(working_dir && { workingDir: working_dir }),
  }
}

const PATTERN_LIMITS = { length: 1_000, instructions: 2_000 }

function toolMatcher(matcher = "*"): (tool: string) => boolean {
  if (matcher === "*" || matcher === "") return () => true
  const pattern = compilePattern(`^(?:${matcher})$`, PATTERN_LIMITS)
  return (tool) => isFound(pattern, tool, () => {})
}

function matcherProblem(matcher: string): string | undefined {
  try {
    toolMatcher(matcher)
    return undefined
  } catch (error) {
    if (error instanceof PatternError)
      return `The matcher "${matcher}" is not a valid pattern: ${error.message}.`
    throw error
  }
}

/** Hooks of an agent that run commands. */
export function commandHooks(options: CommandHooksOptions): Middleware {
  const { sessionStart = [], sessionEnd = [], onUserInput = [], stop = [], notification = [] } = options
  const [before, after] = [matchedHooks(options.preToolUse), matchedHooks(options.postToolUse)]
  const notify = (info: HookInfo) => runEach(onUserInput, info, { hook_event_name: "on_user_input" })
  return {
    ...(sessionStart.length > 0 && {
      async beforeAgent(info) {
        const input = { hook_event_name: "session_start", source: "startup" }
        const texts = (await runEach(sessionStart, info, input)).map(contextOf).filter((text) => text !== "")
        return texts.length === 0 ? undefined : { instructions: texts.join("\n\n") }
      },
    }),
    ...(before.length + onUserInput.length > 0 && {
      async onToolCall(info) {
        const decided = await decide(before, info)
        if (info.tool === "user_prompt" && (decided === undefined || !("deny" in decided))) await notify(info)
        return decided
      },
    }),
    ...(onUserInput.length > 0 && {
      async onAsk(info) {
        await notify(info)
      },
    }),
    ...(after.length > 0 && {
      async afterToolCall(info) {
        const input = {
          ...toolInput(info, info.args),
          hook_event_name: "post_tool_use",
          tool_response: info.result,
        }
        const answers = await runEach(hooksFor(after, info.tool), info, input)
        const notes = answers.map((one) => refusal(one) ?? contextOf(one)).filter((text) => text !== "")
        return notes.length === 0 ? undefined : { note: notes.join("\n") }
      },
    }),
    ...(sessionEnd.length + stop.length + notification.length > 0 && {
      async afterAgent(info) {
        await runEach("answer" in info.end ? stop : notification, info, endInput(info.end))
        const reason = "answer" in info.end ? "answered" : "failed"
        await runEach(sessionEnd, info, { hook_event_name: "session_end", reason })
      },
    }),
  }
}

type ToolInfo = Parameters<NonNullable<Middleware["onToolCall"]>>[0]

/** The first hook that denies ends the chain; each sees the arguments that the previous one changed. */
async function decide(all: readonly MatchedHooks[], info: ToolInfo) {
  let args: JsonObject | undefined
  let ask = false
  for (const hook of hooksFor(all, info.tool)) {
    const input = { ...toolInput(info, args ?? info.args), hook_event_name: "pre_tool_use" }
    const answer = await runHook(hook, info, input)
    if (answer.problem !== undefined) return { deny: `A hook could not decide: ${answer.problem}` }
    const reason = refusal(answer)
    if (reason !== undefined) return { deny: reason }
    const { permission_decision, updated_input } = specificOf(answer)
    if (permission_decision === "ask") ask = true
    if (isRecord(updated_input)) args = { ...Object(args ?? info.args), ...updated_input }
  }
  if (args === undefined) return ask ? { ask } : undefined
  return { args, ...(ask && { ask }) }
}

interface MatchedHooks {
  matches(tool: string): boolean
  readonly hooks: readonly CommandHook[]
}

function matchedHooks(list: readonly ToolHooks[] = []): readonly MatchedHooks[] {
  return list.map(({ matcher, hooks }) => ({ matches: toolMatcher(matcher), hooks }))
}

function hooksFor(list: readonly MatchedHooks[], tool: string): readonly CommandHook[] {
  return list.flatMap(({ matches, hooks }) => (matches(tool) ? hooks : []))
}

type JsonObject = { readonly [name: string]: Json | undefined }

function toolInput({ tool, id }: Pick<ToolInfo, "tool" | "id">, args: unknown): JsonObject {
  return { tool_name: tool, tool_use_id: id, tool_input: args as Json }
}

function endInput(end: AgentEnd): JsonObject {
  if ("answer" in end) {
    const text = typeof end.answer === "string" ? end.answer : JSON.stringify(end.answer ?? null)
    return { hook_event_name: "stop", stop_response: text }
  }
  const message = end.error instanceof Error ? end.error.message : String(end.error)
  return { hook_event_name: "notification", notification_level: "error", notification_message: message }
}

interface HookAnswer {
  /** The JSON object that it wrote, or an empty one. */
  readonly output: JsonObject
  /** What it wrote, if that is not JSON. */
  readonly text: string
  /** Why it blocks: exit code 2. */
  readonly blocked?: string | undefined
  /** Why there is no answer. */
  readonly problem?: string | undefined
}

async function runEach(
  hooks: readonly CommandHook[],
  info: HookInfo,
  input: JsonObject,
): Promise<readonly HookAnswer[]> {
  const answers: HookAnswer[] = []
  for (const hook of hooks) {
    const answer = await runHook(hook, info, input)
    if (answer.problem === undefined) answers.push(answer)
    else info.ctx.log("warn", `A hook (${String(input.hook_event_name)}) failed: ${answer.problem}`)
  }
  return answers
}

const TIMEOUT = 60_000
const MAX_OUTPUT = 100_000

async function runHook(hook: CommandHook, info: HookInfo, input: JsonObject): Promise<HookAnswer> {
  const { command, timeout = TIMEOUT } = hook
  const { ctx, agent } = info
  const cwd = process.cwd()
  const stdin = JSON.stringify({ session_id: ctx.runId, cwd, agent_name: agent, ...input })
  try {
    const ended = await runProcess({
      command: "/bin/sh",
      args: ["-c", command],
      cwd: resolve(cwd, hook.workingDir ?? "."),
      env: { ...plainEnvironment(), ...hook.env },
      stdin,
      timeout,
      maxOutput: MAX_OUTPUT,
      signal: ctx.signal,
      clock: ctx.clock,
    })
    const [stdout, stderr] = [ended.stdout.text().trim(), ended.stderr.text().trim()]
    if (ended.stopped !== undefined) return failed(`it was stopped after ${timeout} ms.`)
    if (ended.code === 2) return { output: {}, text: "", blocked: stderr || stdout || "A hook blocked this." }
    if (ended.code !== 0) return failed(`it exited with code ${ended.code}. ${stderr}`.trim())
    return answered(stdout, (message) => ctx.log("warn", message))
  } catch (error) {
    if (isSuperstepError(error) && error.code === "PROCESS_NOT_STARTED") return failed(error.message)
    throw error
  }
}

function failed(problem: string): HookAnswer {
  return { output: {}, text: "", problem }
}

function answered(stdout: string, show: (message: string) => void): HookAnswer {
  if (!stdout.startsWith("{")) return { output: {}, text: stdout }
  try {
    const output = JSON.parse(stdout) as Json
    if (!isRecord(output)) return { output: {}, text: stdout }
    if (typeof output.system_message === "string") show(output.system_message)
    return { output, text: "" }
  } catch {
    return { output: {}, text: stdout }
  }
}

function specificOf({ output }: HookAnswer): JsonObject {
  return isRecord(output.hook_specific_output) ? output.hook_specific_output : {}
}

/** Why the hook refuses; undefined if it does not. */
function refusal(answer: HookAnswer): string | undefined {
  const { output, blocked } = answer
  if (blocked !== undefined) return blocked
  const { permission_decision, permission_decision_reason: why } = specificOf(answer)
  const isRefused = permission_decision === "deny" || output.decision === "block" || output.continue === false
  if (!isRefused) return undefined
  const reasons = [why, output.reason, output.stop_reason].filter(
    (one) => typeof one === "string" && one !== "",
  )
  return String(reasons[0] ?? "A hook refused this.")
}

function contextOf(answer: HookAnswer): string {
  const { additional_context } = specificOf(answer)
  return typeof additional_context === "string" ? additional_context : answer.text
}
