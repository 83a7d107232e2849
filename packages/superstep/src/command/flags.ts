/** The flags that several commands share. */
import type { Budget, Limits } from "@superstep/engine"
import type { Prices } from "@superstep/engine/models"
import { nearest } from "@superstep/engine/text"
import { type Command, InvalidArgumentError, Option } from "commander"
import { DEFAULT_PATH } from "./open/store.ts"
import { usageError } from "./print/errors.ts"
import { wrapped } from "./terminal/terminal.ts"

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
  /** Of a file with agents and no workflow: the one to talk to. */
  readonly agent?: string | undefined
  readonly set?: Readonly<Record<string, string>> | undefined
  /** By name; undefined: read the environment variable of that name. */
  readonly setSecret?: Readonly<Record<string, string | undefined>> | undefined
  /** Labels that the user sets, in addition to those of the CLI. */
  readonly label?: Readonly<Record<string, string>> | undefined
  /** A conversation over a goal configuration. */
  readonly chat?: true | undefined
  /** The author of the definition is not trusted. */
  readonly untrusted?: true | undefined
  readonly lenient?: true | undefined
  /** A graph counts the visits of its nodes; other workflows count supersteps. */
  readonly maxSteps?: number | undefined
}

export interface RunFlags extends BoundFlags {
  readonly runId?: string | undefined
  readonly thread?: string | undefined
  /** A thread, or -1 for the last one. */
  readonly session?: string | undefined
  readonly attach?: readonly string[] | undefined
  readonly yolo?: true | undefined
  /** An incomplete answer is a failure. */
  readonly strict?: true | undefined
}

export interface BoundFlags {
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
  readonly modelCalls?: number | undefined
  readonly toolCalls?: number | undefined
  readonly iterations?: number | undefined
  readonly allowUnpriced?: true | undefined
}

/** For an option that may be repeated. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

type AddFlags = (command: Command) => Command

const HELP_WIDTH = 80

export function addFlags(command: Command, ...groups: readonly AddFlags[]): Command {
  for (const add of groups) add(command)
  return command
}

/** Adds flags, and notes and one example at the end of the help. */
export function complete(
  command: Command,
  groups: readonly AddFlags[],
  example: string,
  notes?: string,
): Command {
  return addFlags(command, ...groups).addHelpText("after", helpText(example, notes))
}

/** Notes and one example at the end of the help. */
export function helpText(example: string, notes = ""): string {
  // Wrapping collapses spaces, which lines of a list need.
  const wrap = (line: string) => (line.length > HELP_WIDTH ? wrapped(line, HELP_WIDTH) : [line])
  const wrappedNotes = notes.split("\n").flatMap(wrap)
  return `${notes === "" ? "" : `\n${wrappedNotes.join("\n")}\n`}\nExample:\n  ${example}`
}

export function outputFlags(command: Command): Command {
  return command
    .option("--json", "print JSON lines on stdout, and nothing else")
    .option("--quiet", "print only results and errors")
    .option("--verbose", "print more, and errors with stack traces")
    .addOption(new Option("--no-color", "print without colours"))
}

export function storeFlags(command: Command): Command {
  return command.option(
    "--store <url>",
    `use this store: sqlite:PATH, postgres://…, or memory: to keep nothing (default: sqlite:${DEFAULT_PATH})`,
  )
}

/** Of commands that run a definition. */
export function definitionFlags(command: Command): Command {
  return labelFlag(fileFlags(command))
}

/** Of commands that only read a definition. */
export function fileFlags(command: Command): Command {
  return valueFlags(
    command.option("--agents <file>", "read a graph's agents and models from this file"),
  ).option("--lenient", "skip dangling edges, with a warning")
}

/** Values for a definition that is run, and how far it is trusted. */
export function variableFlags(command: Command): Command {
  return labelFlag(valueFlags(command))
}

function labelFlag(command: Command): Command {
  return command.option(
    "--label <name=value>",
    "label the run, for example with the user it works for; repeatable",
    parseLabel,
  )
}

/** The same, of commands that run nothing. */
export function valueFlags(command: Command): Command {
  return command
    .option("--set <key=value>", "set a variable; repeatable", parseSet)
    .option(
      "--set-secret <key[=value]>",
      "set a variable that is never stored or shown; without a value, read it from the environment",
      parseSetSecret,
    )
    .option("--untrusted", "refuse programs, the environment, private addresses and keys")
}

export function modelFlag(command: Command): Command {
  return command
    .option(
      "--model <name>",
      "use this model for every agent: provider/model, offline or scripted:FILE; AGENT=NAME for one agent; repeatable",
      parseModel,
    )
    .option(
      "--price <model=input,output>",
      "set a model's price in US dollars per million tokens; repeatable",
      parsePrice,
    )
}

export function parsePrice(text: string, before: Prices = {}): Prices {
  const [, model, input, output] = /^([^=\s]+\/[^=\s]+)=(\d*\.?\d+),(\d*\.?\d+)$/.exec(text) ?? []
  if (model !== undefined) return { ...before, [model]: { input: Number(input), output: Number(output) } }
  throw new InvalidArgumentError("Write provider/model=INPUT,OUTPUT, for example azure/gpt=1.25,10.")
}

export function runFlags(command: Command): Command {
  return addFlags(runIdFlag(command), turnFlags, strictFlag)
}

export function runIdFlag(command: Command): Command {
  return command.option("--run-id <id>", "set the run's id; join the run if it exists", parseName)
}

/** Flags for a message to an agent. */
export function messageFlags(command: Command): Command {
  return command
    .option(
      "-a, --agent <name>",
      "talk to this agent of a file with agents (default: root, or the first)",
      parseName,
    )
    .option("--session <id>", "continue this conversation: a thread, or -1 for the last one", parseName)
    .option("--attach <file>", "send this file with the message; repeatable", collect)
}

/** Flags for every run of a conversation. */
export function turnFlags(command: Command): Command {
  return addFlags(
    command.option("--thread <id>", "continue this conversation", parseName),
    boundFlags,
    yoloFlag,
  )
}

export function yoloFlag(command: Command): Command {
  return command.option("--yolo", "run tools without asking, unless they are denied")
}

export function strictFlag(command: Command): Command {
  return command.option(
    "--strict",
    "exit with 1 if the answer is incomplete, for example because a source failed",
  )
}

export function boundFlags(command: Command): Command {
  return command
    .option("--timeout <time>", "stop after this time: 90s, 2m, 1h", parseDuration)
    .option("--max-steps <n>", "stop after n supersteps; for a graph, after n node visits", parseCount)
    .option(
      "--budget <parts>",
      "stop at this budget, such as tokens=9000,usd=2; also seconds, modelCalls, toolCalls and iterations",
      parseBudget,
    )
    .option("--max-value-bytes <n>", "limit the size of one value, as JSON (default: 32 MB)", parseCount)
}

/** The engine's options for these flags, except those that were used to load the definition. */
export function limitsOf(
  { timeout, maxSteps, maxValueBytes, budget = {} }: BoundFlags,
  dialect?: string,
): {
  readonly timeout?: number
  readonly limits?: Limits
  readonly budget?: Budget
} {
  const { seconds, ...parts } = budget
  const times = [timeout, seconds && seconds * 1_000].filter((one) => one !== undefined)
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

/** `90s`, `2m`, `1h30m`, `500ms`, `30d` in milliseconds; a bare number is seconds. */
export function parseDuration(text: string): number {
  const isWhole = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)
  const bare = /^\d+(?:\.\d+)?$/.test(text)
  let sum = bare ? Number(text) * 1_000 : 0
  if (isWhole) {
    for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g))
      sum += Number(number) * (UNITS[unit as string] as number)
  }
  if (!(sum > 0 && Number.isSafeInteger(Math.ceil(sum)))) {
    throw new InvalidArgumentError("Write a time above 0, for example 90s, 2m, 1h30m or 500ms.")
  }
  return Math.ceil(sum)
}

/** A date or time in the form of ISO 8601, or a time ago such as `2h`: milliseconds since the epoch. */
export function parseTime(text: string): number {
  if (/^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(text)) {
    // A date is a day of this place, not of Greenwich.
    const time = Date.parse(text.includes("T") ? text : `${text}T00:00`)
    if (!Number.isNaN(time)) return time
  }
  try {
    return Date.now() - parseDuration(text)
  } catch {
    throw new InvalidArgumentError(
      "Write a time ago or a date, for example 90s, 2h, 7d, 2026-05-01 or 2026-05-01T09:30.",
    )
  }
}

/** A whole number of at least 1. */
export function parseCount(text: string): number {
  return parseInteger(text, 1)
}

/** A whole number of at least 0. */
export function parseWhole(text: string): number {
  return parseInteger(text, 0)
}

function parseInteger(text: string, min: number): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= min && Number.isSafeInteger(count)) return count
  throw new InvalidArgumentError(`Write a whole number of at least ${min}.`)
}

function parseName(text: string): string {
  if (text.trim() !== "") return text
  throw new InvalidArgumentError("Write a name that is not empty.")
}

export function parseBudget(text: string): BudgetFlag {
  const names = ["tokens", "usd", "seconds", "modelCalls", "toolCalls", "iterations"] as const
  return parseParts(text, names, "tokens=10000,usd=0.5,seconds=60,modelCalls=20,toolCalls=50,iterations=20")
}

/** `tokens=10000,usd=0.5,allowUnpriced`. */
export function parseParts<Name extends string>(
  text: string,
  names: readonly Name[],
  example: string,
): { readonly [Part in Name]?: number } & Pick<BudgetFlag, "allowUnpriced"> {
  const budget: Record<string, number | true> = {}
  for (const part of text.split(",").map((one) => one.trim())) {
    const [, name, amount] = /^(\w+)=(\d+(?:\.\d+)?|\.\d+)$/.exec(part) ?? []
    if (part === "allowUnpriced") budget.allowUnpriced = true
    else if (names.some((one) => one === name) && Number(amount) > 0) budget[name as Name] = Number(amount)
    else {
      const written = part.split("=")[0] ?? ""
      const meant = names.includes(written as Name) ? undefined : nearest(written, names)
      const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`
      throw new InvalidArgumentError(
        `Write one or more of ${example}. Add allowUnpriced to count calls of models without a known price as free.${hint}`,
      )
    }
  }
  return budget as ReturnType<typeof parseParts<Name>>
}

export function parseModel(text: string, before: ModelChoices = { byAgent: {} }): ModelChoices {
  // A file's name may contain `=`; a model's name does not.
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

function parseLabel(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const equals = text.indexOf("=")
  if (equals < 1 || equals === text.length - 1) throw new InvalidArgumentError("Write --label name=value.")
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}

export function parseSetSecret(
  text: string,
  before: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, string | undefined>> {
  const equals = text.indexOf("=")
  // Not an InvalidArgumentError: commander would repeat the value in the message.
  if (equals === 0 || text === "") throw usageError("Write --set-secret KEY=VALUE, or --set-secret KEY.")
  if (equals < 0) return { ...before, [text]: undefined }
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}
