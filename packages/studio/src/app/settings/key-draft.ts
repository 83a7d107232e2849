/** What people type into the form of an API key, and the options that it means. Pure; the server has the last word. */
import type { Key, KeyOptions } from "@superstep/client"
import type { Role } from "../api/queries.ts"
import { count, money, plural } from "../ui/format.ts"

export interface KeyDraft {
  readonly name: string
  readonly role: Role
  readonly tenant: string
  /** Names, separated by commas; empty: all workflows. */
  readonly workflows: string
  /** Days; empty: it never expires. */
  readonly expires: string
  readonly usd: string
  readonly tokens: string
  readonly per: "day" | "total"
}

export const NEW_KEY: KeyDraft = {
  name: "",
  role: "operator",
  tenant: "",
  workflows: "",
  expires: "90",
  usd: "",
  tokens: "",
  per: "day",
}

const DAY = 86_400_000

export function keyOptions(
  draft: KeyDraft,
  now: number,
): { readonly options: KeyOptions; readonly problems: ReadonlyMap<keyof KeyDraft, string> } {
  const problems = new Map<keyof KeyDraft, string>()
  if (draft.name.trim() === "") problems.set("name", "Choose a name: who or what uses the key.")
  const amount = (name: "expires" | "usd" | "tokens", isWhole: boolean) => {
    const text = draft[name].trim()
    if (text === "") return undefined
    const value = Number(text)
    if (Number.isFinite(value) && value > 0 && (!isWhole || Number.isInteger(value))) return value
    problems.set(name, `Write a ${isWhole ? "whole " : ""}number above 0, or nothing.`)
    return undefined
  }
  const [days, usd, tokens] = [amount("expires", true), amount("usd", false), amount("tokens", true)]
  const workflows = draft.workflows.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]))
  const budget = {
    ...(usd !== undefined && { usd }),
    ...(tokens !== undefined && { tokens }),
    per: draft.per,
  }
  const options = {
    name: draft.name.trim(),
    role: draft.role,
    ...(draft.tenant.trim() !== "" && { tenant: draft.tenant.trim() }),
    ...(workflows.length > 0 && { workflows }),
    ...(days !== undefined && { expiresAt: now + days * DAY }),
    ...((usd !== undefined || tokens !== undefined) && { budget }),
  }
  return { options, problems }
}

export type KeyState = "active" | "expired" | "revoked"

export function keyState({ revokedAt, expiresAt }: Key, now: number): KeyState {
  if (revokedAt !== undefined) return "revoked"
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "active"
}

/** Those that work first, the newest of them first. */
export function sortedKeys(keys: readonly Key[], now: number): readonly Key[] {
  const rank = (key: Key) => (keyState(key, now) === "active" ? 0 : 1)
  return keys.toSorted((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt)
}

/** What a key may do at most, in words. */
export function limitWords({ budget, rateLimit, quota, workflows }: Key): string {
  const words: string[] = []
  if (budget !== undefined) {
    const { usd, tokens, per } = budget
    const amounts = [
      ...(usd === undefined ? [] : [money(usd)]),
      ...(tokens === undefined ? [] : [plural(tokens, "token")]),
    ]
    words.push(`${amounts.join(" and ")} ${per === "day" ? "a day" : "in total"}`)
  }
  if (rateLimit !== undefined)
    words.push(`${plural(rateLimit.requests, "request")} in ${count(rateLimit.seconds)} s`)
  if (quota?.runsPerDay !== undefined) words.push(`${plural(quota.runsPerDay, "run")} a day`)
  if (quota?.concurrentRuns !== undefined) words.push(`${count(quota.concurrentRuns)} at the same time`)
  if (workflows !== undefined) words.push(`only ${workflows.join(", ")}`)
  return words.join("; ")
}

/** "POST /v1/runs/:run/cancel" with the values in place of the names. */
export function auditPath(route: string, params: Readonly<Record<string, string>>): string {
  return route.replace(/:(\w+)(?:\{[^}]*\})?/g, (whole, name: string) => params[name] ?? whole)
}
