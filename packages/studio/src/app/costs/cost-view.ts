/**
 * What runs cost, by day and by group, from one answer of the server: the usage of the chosen days and of as many days before
 * them, by day and group. Pure.
 */
import type { UsageGroup } from "@superstep/client"
import { count, duration, money, plural } from "../ui/format.ts"

export const GROUPS = ["workflow", "node", "model", "key", "day"] as const
export type Group = (typeof GROUPS)[number]

/** Days of UTC, both included. */
export interface Range {
  readonly from: string
  readonly to: string
}

export interface CostRow {
  readonly name: string
  readonly usd: number
  readonly tokens: number
  /** Of the total of the range; 0 to 1. */
  readonly share: number
  /** What the same group cost in as many days before; undefined: the range before is not known. */
  readonly before: number
  /** Absent in groups by model and by node. */
  readonly runs: number | undefined
  readonly failed: number
}

export interface CostView {
  readonly days: readonly { readonly day: string; readonly usd: number }[]
  readonly rows: readonly CostRow[]
  readonly total: Omit<CostRow, "name" | "share">
}

const DAY = 86_400_000
const MAX_DAYS = 200
const RANGES = [7, 30, 90] as const
export const RANGE_OPTIONS = RANGES.map((days) => [String(days), `Last ${days} days`] as const)

function dayText(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** The range that an address has: from and to, or a number of days up to today. What is wrong is left out. */
export function rangeOf(params: URLSearchParams, now: number): Range & { readonly days: number } {
  const [from, to] = [params.get("from") ?? "", params.get("to") ?? ""]
  if (isDay(from) && isDay(to) && from <= to) {
    const days = daysBetween({ from, to })
    if (days <= MAX_DAYS) return { from, to, days }
  }
  const wanted = Number(params.get("days") ?? 30)
  const days = Number.isInteger(wanted) && wanted >= 1 && wanted <= MAX_DAYS ? wanted : 30
  return { from: dayText(now - (days - 1) * DAY), to: dayText(now), days }
}

/** The range and as many days before it, to tell the trend. */
export function withBefore(range: Range): Range {
  return { from: dayText(Date.parse(range.from) - daysBetween(range) * DAY), to: range.to }
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
}

function daysBetween({ from, to }: Range): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY) + 1
}

type Totals = { usd: number; tokens: number; before: number; runs: number | undefined; failed: number }

export function costView(groups: readonly UsageGroup[], range: Range, by: Group): CostView {
  const days = new Map<string, number>()
  for (let i = 0; i < daysBetween(range); i++) days.set(dayText(Date.parse(range.from) + i * DAY), 0)
  const rows = new Map<string, Totals>()
  const total = nothing()
  for (const group of groups) {
    const { day = "", usage, runs } = group
    const isBefore = day < range.from
    // A day is compared with no other: it has no row of its own before the range.
    const name = by === "node" ? nodeName(group) : (group[by] ?? "")
    const row = by === "day" && isBefore ? nothing() : entry(rows, name)
    const usd = usage.usd ?? 0
    for (const sum of [row, total]) {
      if (isBefore) {
        sum.before += usd
        continue
      }
      sum.usd += usd
      sum.tokens += (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
      if (runs === undefined) continue
      sum.runs = (sum.runs ?? 0) + runs.completed + runs.failed + runs.cancelled + runs.limit
      sum.failed += runs.failed + runs.limit
    }
    if (!isBefore) days.set(day, (days.get(day) ?? 0) + usd)
  }
  const shares = [...rows].map(([name, row]) => ({
    name,
    ...row,
    share: total.usd === 0 ? 0 : row.usd / total.usd,
  }))
  return {
    days: [...days].map(([day, usd]) => ({ day, usd })),
    rows:
      by === "day"
        ? shares.sort((a, b) => (a.name < b.name ? 1 : -1))
        : shares.sort((a, b) => b.usd - a.usd || (a.name < b.name ? -1 : 1)),
    total,
  }
}

/** Nodes of different workflows may have the same id. */
function nodeName({ workflow = "", node = "" }: UsageGroup): string {
  return `${workflow} › ${node}`
}

function nothing(): Totals {
  return { usd: 0, tokens: 0, before: 0, runs: undefined, failed: 0 }
}

function entry(rows: Map<string, Totals>, name: string): Totals {
  const row = rows.get(name) ?? nothing()
  rows.set(name, row)
  return row
}

/** "+12 %", "−40 %", "new", or "–" where nothing was spent at all. */
export function trendWords(usd: number, before: number): string {
  if (before === 0) return usd === 0 ? "–" : "new"
  const change = Math.round(100 * (usd / before - 1))
  if (change === 0) return "±0%"
  return change > 999 ? `×${Math.round(usd / before)}` : `${change > 0 ? "+" : "−"}${Math.abs(change)}%`
}

export interface NodeHeat {
  readonly id: string
  readonly tasks: number
  readonly failed: number
  readonly usd: number
  /** Milliseconds of a task, on average. */
  readonly took: number
  /** From 0 to 1, of the hottest node: what it cost, how long all its tasks took, how many of them failed. */
  readonly heat: { readonly cost: number; readonly time: number; readonly failures: number }
}

interface NodeFigures {
  readonly id: string
  readonly tasks: number
  readonly failed: number
  /** Of a task, on average. */
  readonly milliseconds: number
  readonly usage: { readonly [name: string]: number }
}

/** The nodes of a workflow, the most expensive first. */
export function nodeHeat(nodes: readonly NodeFigures[]): readonly NodeHeat[] {
  const highest = (value: (node: NodeFigures) => number) => Math.max(0, ...nodes.map(value)) || 1
  const usd = (node: NodeFigures) => node.usage.usd ?? 0
  const time = ({ tasks, milliseconds }: NodeFigures) => tasks * milliseconds
  const failing = (node: NodeFigures) => (node.tasks === 0 ? 0 : node.failed / node.tasks)
  const [mostUsd, mostTime] = [highest(usd), highest(time)]
  return nodes
    .map((node) => ({
      id: node.id,
      tasks: node.tasks,
      failed: node.failed,
      usd: usd(node),
      took: node.milliseconds,
      heat: { cost: usd(node) / mostUsd, time: time(node) / mostTime, failures: failing(node) },
    }))
    .sort((a, b) => b.usd - a.usd || b.heat.time - a.heat.time)
}

export const HEATS = ["cost", "time", "failures"] as const
export type Heat = (typeof HEATS)[number]

/** How hot each node of the graph is, with the figure in words. A node that never ran has no heat. */
export function heatMarks(
  nodes: readonly NodeHeat[],
  by: Heat,
): ReadonlyMap<string, { readonly share: number; readonly words: string; readonly isBad: boolean }> {
  const words = ({ usd, took, tasks, failed }: NodeHeat) =>
    by === "cost"
      ? `${money(usd)} · ${plural(tasks, "task")}`
      : by === "time"
        ? `${duration(took)} · ${plural(tasks, "task")}`
        : failed === 0
          ? `none of ${count(tasks)} failed`
          : `${count(failed)} of ${count(tasks)} failed`
  return new Map(
    nodes.map((node) => [
      node.id,
      { share: node.heat[by], words: words(node), isBad: by === "failures" && node.failed > 0 },
    ]),
  )
}
