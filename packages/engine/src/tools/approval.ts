/**
 * Decides whether a person is asked before a tool runs. Rules are `tool`, `tool:text` or `tool:argument=text`, each with
 * `*` for any sequence of characters. Several arguments must all match: `fetch:method=GET:url=https://*`.
 *
 * A1 `deny` comes first, then `allow`, then `ask`; a call that matches no rule needs approval.
 * A2 A `deny` rule matches if it matches any reading of the call: any argument, including with its spaces collapsed, its
 *    path or address resolved, its command line split. An `allow` rule must match all of them. So an argument that was
 *    added, padded, chained or obfuscated never makes a call less restricted.
 * A3 The `*` of a rule that allows a command does not match options that write files or run programs.
 */
import { terminalError } from "../core/internal.ts"
import { starMatch } from "./glob.ts"
import {
  commandsIn,
  dangerIn,
  fitsReadings,
  hasDangers,
  type Reading,
  splitCommand,
} from "./shell/command-line.ts"

/** Whether a person is asked before the tool runs: always, never, by rules, or by a function of the arguments. */
export type Approval =
  | "always"
  | "never"
  | ApprovalRules
  | ((
      args: never,
      call: { readonly tool: string; readonly agent: string },
    ) => ApprovalVerdict | Promise<ApprovalVerdict>)

export type ApprovalVerdict = "allow" | "ask" | "deny"

/** Patterns of `tool` or `tool:argument text`, with `*`. `deny` comes first, then `allow`, then `ask`; none: ask. */
export interface ApprovalRules {
  readonly deny?: readonly string[] | undefined
  readonly allow?: readonly string[] | undefined
  readonly ask?: readonly string[] | undefined
}

export interface ApprovalCall {
  readonly tool: string
  readonly agent: string
  readonly args: unknown
}

export async function approvalVerdict(
  approval: Approval | undefined,
  call: ApprovalCall,
): Promise<ApprovalVerdict> {
  if (approval === undefined || approval === "never") return "allow"
  if (approval === "always") return "ask"
  if (typeof approval === "object") return verdictByRules(approval, call)
  const { tool, agent, args } = call
  const verdict = await approval(args as never, { tool, agent })
  if (verdict === "allow" || verdict === "ask" || verdict === "deny") return verdict
  const text = `The approval function of tool "${tool}" returned ${JSON.stringify(verdict)}; it must return "allow", "ask" or "deny".`
  throw terminalError("APPROVAL_INVALID", text)
}

/** The problem with an approval, or undefined. A misspelled list of rules would have no effect. */
export function checkApproval(approval: unknown): string | undefined {
  if (approval === "always" || approval === "never" || typeof approval === "function") return undefined
  const forms = `approval must be "always", "never", { deny, allow, ask } or a function`
  if (typeof approval !== "object" || approval === null) return `${forms}, not ${JSON.stringify(approval)}.`
  for (const [key, patterns] of Object.entries(approval)) {
    if (key !== "deny" && key !== "allow" && key !== "ask") return `${forms}; "${key}" is none of them.`
    if (patterns === undefined) continue
    if (!Array.isArray(patterns) || !patterns.every((one) => typeof one === "string" && one !== "")) {
      return `approval.${key} must be a list of patterns such as "read_*" or "shell:cmd=ls *".`
    }
  }
  return undefined
}

function verdictByRules({ deny = [], allow = [] }: ApprovalRules, call: ApprovalCall): ApprovalVerdict {
  if (deny.some((pattern) => fits(pattern, call, "any"))) return "deny"
  if (allow.some((pattern) => fits(pattern, call, "all"))) return "allow"
  return "ask"
}

function fits(pattern: string, { tool, args }: ApprovalCall, reading: Reading): boolean {
  // Matches tools with a ":" in their name too, such as those of some servers.
  if (matches(pattern, tool)) return true
  for (let colon = pattern.indexOf(":"); colon >= 0; colon = pattern.indexOf(":", colon + 1)) {
    if (!matches(pattern.slice(0, colon), tool)) continue
    if (fitsArgs(pattern.slice(colon + 1), args, reading)) return true
  }
  return false
}

const NAMED = /^([A-Za-z_][\w.-]*)=(.*)$/s

function fitsArgs(pattern: string, args: unknown, reading: Reading): boolean {
  if (!NAMED.test(pattern)) return fitsText(pattern, args, reading)
  const parts = pattern.split(/:(?=[A-Za-z_][\w.-]*=)/)
  if (parts.every((part) => fitsNamed(part, args, reading))) return true
  // `shell:CI=1 make*` may also be the text of an argument. Only `deny` rules are matched this way too.
  return reading === "any" && fitsText(pattern, args, reading)
}

function fitsNamed(part: string, args: unknown, reading: Reading): boolean {
  const [, name = "", pattern = ""] = NAMED.exec(part) ?? []
  const value = at(args, name)
  if (value === undefined) return false
  const text = textOf(value) ?? JSON.stringify(value)
  return fitsReading(pattern, { name, text }, reading)
}

function fitsText(pattern: string, args: unknown, reading: Reading): boolean {
  const texts = leaves(args)
  if (reading === "any") return texts.some((one) => fitsReading(pattern, one, reading))
  return texts.length > 0 && texts.every((one) => fitsReading(pattern, one, reading))
}

/** Arguments that a shell may run. */
const COMMAND = /(^|\.)(cmd|commands?|script|argv)$/i

function fitsReading(pattern: string, { name, text }: Named, reading: Reading): boolean {
  const isFit = (one: string) => fitsReadings(one, reading, (form) => matches(pattern, form))
  if (!COMMAND.test(name)) return isFit(text)
  if (reading === "any") return isFit(text) || commandsIn(text).some(isFit)
  // The whole line must match, and each of its commands: `ls*` does not allow `ls; rm -rf .`
  if (!isFit(text)) return false
  if (pattern === "*" || !pattern.includes("*")) return true
  return commandsIn(text).every((one) => isFit(one) && !isDangerous(one, pattern))
}

/** Whether the command has an option that writes files or runs programs, and that the rule does not itself name. */
function isDangerous(command: string, pattern: string): boolean {
  const named = new Set(pattern.split(/\s+/))
  const words = wordsOf(command)
  // A shell may expand `$X`, `*` or `{a,b}` to such an option.
  if (words === undefined) return hasDangers(command.split(/\s+/)[0] ?? "")
  return dangerIn(words, (index) => !named.has(words[index] ?? "")) !== undefined
}

/** Undefined if only a shell can split it. */
function wordsOf(command: string): readonly string[] | undefined {
  if (/\{[^}]*(?:,|\.\.)/.test(command)) return undefined
  try {
    return splitCommand(command)
  } catch {
    return undefined
  }
}

/** An argument by its name, or by its path such as `options.path`. */
function at(args: unknown, name: string): unknown {
  if (typeof args !== "object" || args === null) return undefined
  if (Object.hasOwn(args, name)) return (args as Record<string, unknown>)[name]
  const dot = name.indexOf(".")
  if (dot < 0 || !Object.hasOwn(args, name.slice(0, dot))) return undefined
  return at((args as Record<string, unknown>)[name.slice(0, dot)], name.slice(dot + 1))
}

interface Named {
  readonly name: string
  readonly text: string
}

/** Every value in the arguments as a string; a list of plain values, such as a command line, is one string. */
function leaves(value: unknown, name = ""): Named[] {
  const text = textOf(value)
  if (text !== undefined) return [{ name, text }]
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => leaves(item, Array.isArray(value) ? name : key))
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (!Array.isArray(value) || value.length === 0) return undefined
  const parts = value.map((item) => (Array.isArray(item) ? undefined : textOf(item)))
  return parts.includes(undefined) ? undefined : parts.join(" ")
}

/** With `*` for any run of characters. */
function matches(pattern: string, text: string): boolean {
  return starMatch(pattern, text, "*", (one, char) => one === char)
}
