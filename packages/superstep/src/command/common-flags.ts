/** The flags that commands share: how they are written, and what they mean. */
import type { Budget, Limits } from "@superstep/engine"
import type { Prices } from "@superstep/engine/models"
import { type Command, InvalidArgumentError, Option } from "commander"
import { DEFAULT_PATH } from "./open-store.ts"
import { usageError } from "./usage-error.ts"

export interface OutputFlags {
  readonly json?: true | undefined
  readonly quiet?: true | undefined
  readonly verbose?: true | undefined
}

export interface StoreFlags {
  readonly store?: string | undefined
}

export interface DefinitionFlags {
  readonly model?: ModelChoices | undefined
  readonly price?: Prices | undefined
  readonly agents?: string | undefined
  readonly set?: Readonly<Record<string, string>> | undefined
  /** By name; undefined: it is in the environment variable of that name. */
  readonly setSecret?: Readonly<Record<string, string | undefined>> | undefined
  /** The author of the definition is not trusted. */
  readonly untrusted?: true | undefined
  readonly lenient?: true | undefined
  /** A graph counts the visits of its nodes itself; elsewhere it is supersteps. */
  readonly maxSteps?: number | undefined
}

export interface RunFlags extends BoundFlags {
  readonly runId?: string | undefined
  readonly thread?: string | undefined
  readonly yolo?: true | undefined
}

export interface BoundFlags {
  /** An answer that lacks something is no success. */
  readonly strict?: true | undefined
  /** Milliseconds. */
  readonly timeout?: number | undefined
  readonly maxSteps?: number | undefined
  readonly budget?: BudgetFlag | undefined
  readonly maxValueBytes?: number | undefined
}

export interface ModelChoices {
  /** For every agent that has none of its own. */
  readonly all?: string | undefined
  readonly byAgent: Readonly<Record<string, string>>
}

export interface BudgetFlag {
  readonly tokens?: number | undefined
  readonly usd?: number | undefined
  readonly seconds?: number | undefined
  readonly allowUnpriced?: true | undefined
}

export function outputFlags(command: Command): Command {
  return command
    .option("--json", "events or data as JSON lines on stdout, nothing else")
    .option("--quiet", "say nothing but the answer and errors")
    .option("--verbose", "say more; errors with their stack")
    .addOption(new Option("--no-color", "no colours"))
}

export function storeFlags(command: Command): Command {
  return command.option("--store <url>", `sqlite:PATH (default: ${DEFAULT_PATH}), or memory: to keep nothing`)
}

export function definitionFlags(command: Command): Command {
  return variableFlags(
    command.option("--agents <file>", "for a graph: a file with its agents and models"),
  ).option("--lenient", "leave out edges that lead nowhere, with a warning")
}

/** Values for a definition, and how far it is trusted. */
export function variableFlags(command: Command): Command {
  return command
    .option("--set <key=value>", "a value for variables and conditions; again for more", parseSet)
    .option(
      "--set-secret <key[=value]>",
      "as --set, never stored or shown; without a value, from the environment",
      parseSetSecret,
    )
    .option("--untrusted", "refuse whatever reaches outside: programs, environment, private addresses, keys")
}

export function modelFlag(command: Command): Command {
  return command
    .option(
      "--model <name>",
      "for every agent: provider/model, offline, scripted:FILE; or AGENT=NAME, again for more",
      parseModel,
    )
    .option(
      "--price <model=input,output>",
      "price of a model in US dollars per million tokens; again for more",
      parsePrice,
    )
}

export function parsePrice(text: string, before: Prices = {}): Prices {
  const [, model, input, output] = /^([^=\s]+\/[^=\s]+)=(\d*\.?\d+),(\d*\.?\d+)$/.exec(text) ?? []
  if (model !== undefined) return { ...before, [model]: { input: Number(input), output: Number(output) } }
  throw new InvalidArgumentError("A price is written provider/model=INPUT,OUTPUT, such as azure/gpt=1.25,10.")
}

export function runFlags(command: Command): Command {
  return turnFlags(
    command.option("--run-id <id>", "a name for the run; one that is there is joined", parseName),
  )
}

/** Of each run of a conversation. */
export function turnFlags(command: Command): Command {
  return boundFlags(
    command.option("--thread <id>", "a conversation that goes on from run to run", parseName),
  ).option("--yolo", "tools run without asking, unless they are denied")
}

/** How far a run may go. */
export function boundFlags(command: Command): Command {
  return command
    .option("--timeout <time>", "90s, 2m, 1h: how long it may take", parseDuration)
    .option("--max-steps <n>", "supersteps at the most; of a graph, visits of its nodes", parseCount)
    .option("--budget <parts>", "tokens=…,usd=…,seconds=…", parseBudget)
    .option("--strict", "exit with 1 when the answer is incomplete: a source failed, for example")
    .option("--max-value-bytes <n>", "the largest value it takes, as JSON (default 32 MB)", parseCount)
}

/** What the flags mean to the engine, beside what the definition was loaded with. */
export function limitsOf(
  { timeout, maxSteps, maxValueBytes, budget = {} }: BoundFlags,
  dialect?: string,
): {
  readonly timeout?: number
  readonly limits?: Limits
  readonly budget?: Budget
} {
  const { seconds, ...parts } = budget
  const times = [timeout, seconds === undefined ? undefined : seconds * 1_000].filter(
    (one) => one !== undefined,
  )
  const limits = {
    ...(maxSteps !== undefined && dialect !== "graph" && { supersteps: maxSteps }),
    ...(maxValueBytes !== undefined && { valueBytes: maxValueBytes }),
  }
  return {
    ...(times.length > 0 && { timeout: Math.min(...times) }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(Object.keys(parts).length > 0 && { budget: parts }),
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90s`, `2m`, `1h30m`, `500ms`, `30d`; a bare number is seconds. Gives milliseconds. */
export function parseDuration(text: string): number {
  const isWhole = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)
  const bare = /^\d+(?:\.\d+)?$/.test(text)
  let sum = bare ? Number(text) * 1_000 : 0
  if (isWhole) {
    for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g))
      sum += Number(number) * (UNITS[unit as string] as number)
  }
  if (!(sum > 0 && Number.isSafeInteger(Math.ceil(sum)))) {
    throw new InvalidArgumentError("A time is written 90s, 2m, 1h30m or 500ms, and is more than nothing.")
  }
  return Math.ceil(sum)
}

export function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count
  throw new InvalidArgumentError("It is a whole number of at least 1.")
}

/** As `parseCount`, and 0 too. */
export function parseWhole(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count
  throw new InvalidArgumentError("It is a whole number of at least 0.")
}

function parseName(text: string): string {
  if (text.trim() !== "") return text
  throw new InvalidArgumentError("It is a name, and not empty.")
}

export function parseBudget(text: string): BudgetFlag {
  const budget: Record<string, number | true> = {}
  for (const part of text.split(",")) {
    if (part.trim() === "allowUnpriced") {
      budget.allowUnpriced = true
      continue
    }
    const [, name, amount] = /^(tokens|usd|seconds)=(\d+(?:\.\d+)?|\.\d+)$/.exec(part.trim()) ?? []
    if (name === undefined || !(Number(amount) > 0)) {
      throw new InvalidArgumentError(
        "A budget is written tokens=10000,usd=0.5,seconds=60: one of them or more. With allowUnpriced, calls of models without a known price count as free.",
      )
    }
    budget[name] = Number(amount)
  }
  return budget
}

export function parseModel(text: string, before: ModelChoices = { byAgent: {} }): ModelChoices {
  // A file's name may have a `=`; a model's has none before it.
  const equals = text.startsWith("scripted:") ? -1 : text.indexOf("=")
  const [agent, name] = equals < 0 ? [undefined, text] : [text.slice(0, equals), text.slice(equals + 1)]
  if (agent === "" || name.trim() === "") {
    throw new InvalidArgumentError("Write --model NAME, or --model AGENT=NAME.")
  }
  if (agent === undefined) return { ...before, all: name }
  return { ...before, byAgent: { ...before.byAgent, [agent]: name } }
}

export function parseSet(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const equals = text.indexOf("=")
  if (equals < 1) throw new InvalidArgumentError("Write --set key=value.")
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}

export function parseSetSecret(
  text: string,
  before: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, string | undefined>> {
  const equals = text.indexOf("=")
  // No InvalidArgumentError: its message repeats what was written.
  if (equals === 0 || text === "") throw usageError("Write --set-secret KEY=VALUE, or --set-secret KEY.")
  if (equals < 0) return { ...before, [text]: undefined }
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}
