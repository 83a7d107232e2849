/**
 * Whether a person is asked before a tool runs. Rules are `tool`, `tool:text` or `tool:argument=text`, each with `*` for any
 * run of characters; several arguments are all meant: `fetch:method=GET:url=https://*`.
 *
 * A1 `deny` comes first, then `allow`, then `ask`; what no rule fits is asked.
 * A2 A rule that holds back fits when any reading of the call fits: any argument, also with its spaces collapsed and its
 *    path or address resolved. A rule that lets pass fits only when all of them do. So an argument that was added, padded or
 *    written in a roundabout way makes a call no freer than it is.
 */
import { posix } from "node:path"
import { SuperstepError } from "../core/index.ts"
import type { Approval, ApprovalRules, ApprovalVerdict } from "./tool.ts"

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
  const text = `The approval function of tool "${tool}" gave ${JSON.stringify(verdict)}; it gives "allow", "ask" or "deny".`
  throw new SuperstepError("APPROVAL_INVALID", text, { retryable: false })
}

/** What is wrong with an approval, or undefined. A rule list under a wrong name would hold nothing back. */
export function checkApproval(approval: unknown): string | undefined {
  if (approval === "always" || approval === "never" || typeof approval === "function") return undefined
  const forms = `approval is "always", "never", { deny, allow, ask } or a function`
  if (typeof approval !== "object" || approval === null) return `${forms}, not ${JSON.stringify(approval)}.`
  for (const [key, patterns] of Object.entries(approval)) {
    if (key !== "deny" && key !== "allow" && key !== "ask") return `${forms}; "${key}" is none of them.`
    if (patterns === undefined) continue
    if (!Array.isArray(patterns) || !patterns.every((one) => typeof one === "string" && one !== "")) {
      return `approval.${key} is a list of patterns such as "read_*" or "shell:cmd=ls *".`
    }
  }
  return undefined
}

function verdictByRules({ deny = [], allow = [] }: ApprovalRules, call: ApprovalCall): ApprovalVerdict {
  if (deny.some((pattern) => fits(pattern, call, "any"))) return "deny"
  if (allow.some((pattern) => fits(pattern, call, "all"))) return "allow"
  return "ask"
}

type Reading = "any" | "all"

function fits(pattern: string, { tool, args }: ApprovalCall, reading: Reading): boolean {
  // Also for tools with a ":" in their name, such as those of some servers.
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
  // `shell:CI=1 make*` may also be meant as text, which only a rule that holds back can be taken for.
  return reading === "any" && fitsText(pattern, args, reading)
}

function fitsNamed(part: string, args: unknown, reading: Reading): boolean {
  const [, name = "", pattern = ""] = NAMED.exec(part) ?? []
  const value = at(args, name)
  if (value === undefined) return false
  const text = textOf(value) ?? JSON.stringify(value)
  return fitsReadings(pattern, text, reading)
}

function fitsText(pattern: string, args: unknown, reading: Reading): boolean {
  const texts = leaves(args)
  if (reading === "any") return texts.some((text) => fitsReadings(pattern, text, reading))
  return texts.length > 0 && texts.every((text) => fitsReadings(pattern, text, reading))
}

function fitsReadings(pattern: string, text: string, reading: Reading): boolean {
  const all = readings(text)
  return reading === "any"
    ? all.some((one) => matches(pattern, one))
    : all.every((one) => matches(pattern, one))
}

/** A text, and what it comes down to. */
function readings(text: string): string[] {
  const plain = text.trim().replace(/\s+/g, " ")
  const resolved = /^[a-z][a-z\d+.-]*:\/\//i.test(plain) ? address(plain) : path(plain)
  return [text, plain, resolved]
}

/** Where it really goes: without a name before an `@`, and without the dot that a host may end in. */
function address(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.username = ""
  url.password = ""
  url.hostname = url.hostname.replace(/\.$/, "")
  return url.href === `${text}/` ? text : url.href
}

function path(text: string): string {
  return /\/\.{0,2}(\/|$)|^\.\//.test(text) ? posix.normalize(text) : text
}

/** An argument by its name, or by its path such as `options.path`. */
function at(args: unknown, name: string): unknown {
  if (typeof args !== "object" || args === null) return undefined
  if (Object.hasOwn(args, name)) return (args as Record<string, unknown>)[name]
  const dot = name.indexOf(".")
  if (dot < 0 || !Object.hasOwn(args, name.slice(0, dot))) return undefined
  return at((args as Record<string, unknown>)[name.slice(0, dot)], name.slice(dot + 1))
}

/** Every value in the arguments as text; a list of plain values, such as a command line, is one text. */
function leaves(value: unknown): string[] {
  const text = textOf(value)
  if (text !== undefined) return [text]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : []
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (!Array.isArray(value) || value.length === 0) return undefined
  const parts = value.map((item) => (Array.isArray(item) ? undefined : textOf(item)))
  return parts.includes(undefined) ? undefined : parts.join(" ")
}

/** With `*` for any run of characters. In time of the two lengths' product at most, whatever the pattern. */
function matches(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let from = 0
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++
      from = t
    } else if (p < pattern.length && pattern[p] === text[t]) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++from
    } else return false
  }
  while (pattern[p] === "*") p++
  return p === pattern.length
}
