/**
 * Chooses the model of each agent: `--model`, else the model in its definition. A missing key is an error that names the
 * variable to set. The offline model replaces a missing key only for a person at a terminal, and is announced first: a
 * script must never mistake its text for an answer.
 */
import { createRequire } from "node:module"
import { join } from "node:path"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import type { Model, ModelConfig, ModelRef, Prices } from "@superstep/engine/models"
import { AUTO_MODEL, autoModel, MODEL_PROVIDERS } from "@superstep/engine/packages"
import type { Cli, Environment } from "../cli.ts"
import type { ModelChoices } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import { printText, sanitizeLine } from "../terminal/terminal.ts"

export interface ChosenModels {
  /** For `loadDefinition`. */
  model(agent: string, own: ModelRef): ModelRef | undefined
  /**
   * Call it once the agents are known. Throws if the model of an agent cannot be called, or announces its replacement.
   * Agents in `unused` are never called, so their models do not matter.
   */
  check(agents: Iterable<string>, unused?: ReadonlySet<string>): Promise<void>
  /**
   * For a module, which creates its agents itself: overrides the models that it names. Returns a function that undoes it.
   */
  overrideModels(): Promise<() => void>
}

export interface ModelFlags {
  readonly model?: ModelChoices | undefined
  readonly price?: Prices | undefined
  readonly quiet?: true | undefined
  readonly json?: true | undefined
  /** The command is for scripts, even at a terminal. */
  readonly isScript?: boolean | undefined
}

export async function chooseModels(flags: ModelFlags, cli: Cli): Promise<ChosenModels> {
  const { err } = cli
  const { env } = cli.io
  const choices = flags.model
  const isQuiet = flags.quiet === true
  const canStandIn = canUseOffline(flags, cli)
  const { registerPrices, showOfflineNotice, UNNAMED_MODEL } = await import("@superstep/engine/models")
  // Applies to the rest of the process, which runs one command.
  if (flags.price !== undefined) registerPrices(flags.price)
  // `check` announces it before anything is drawn.
  showOfflineNotice({ isTTY: true, write: () => true })
  const all = choices?.all === undefined ? undefined : await named(choices.all, cli)
  const byAgent = new Map<string, ModelRef>()
  for (const [agent, name] of Object.entries(choices?.byAgent ?? {}))
    byAgent.set(agent, await named(name, cli))
  // Keyed by agent, because a definition may be loaded more than once.
  const missing = new Map<string, string>()
  const own = new Map<string, ModelRef>()
  let hasSomeKey = hasAnyKey(env)
  let isAuto = false

  return {
    model(agent, ref) {
      const chosen = byAgent.get(agent) ?? all
      if (chosen !== undefined) return chosen
      if (ref === AUTO_MODEL) {
        const usable = autoModel(env)
        own.set(agent, usable ?? ref)
        if (usable === undefined) missing.set(agent, "OPENAI_API_KEY")
        else isAuto = true
        return usable ?? "offline"
      }
      own.set(agent, ref)
      // `check` refuses it, or announces it.
      if (ref === UNNAMED_MODEL) return "offline"
      const variable = variableOf(ref)
      if (variable === undefined) return undefined
      if (hasKey(env, variable)) {
        hasSomeKey = true
        return undefined
      }
      missing.set(agent, variable)
      return "offline"
    },

    async check(agents, unused = new Set()) {
      const known = [...agents]
      const unknown = [...byAgent.keys()].find((agent) => !known.includes(agent))
      if (unknown !== undefined) {
        const agents = known.length === 0 ? "There are no agents" : `The agents are ${known.join(", ")}`
        throw usageError(`--model ${unknown}=…: there is no agent "${unknown}". ${agents}.`)
      }
      const used = [...own].filter(([agent]) => !unused.has(agent))
      const unnamed = used.filter(([, ref]) => ref === UNNAMED_MODEL).map(([agent]) => agent)
      if (unnamed.length > 0 && !canStandIn) throw modelMissing(unnamed)
      const lacking = new Map([...missing].filter(([agent]) => !unused.has(agent)))
      if (lacking.size > 0 && (hasSomeKey || !canStandIn)) throw keyMissing(lacking)
      for (const [agent, ref] of used) {
        if (!missing.has(agent) && ref !== UNNAMED_MODEL) await checkModel(agent, ref, env)
      }
      if (isAuto && !isQuiet) printText(err, `Model: ${autoModel(env)} (auto)`, { paint: err.paint.dim })
      const [variable] = lacking.values()
      const isOffline = used.some(([, ref]) => ref === "offline" || ref === UNNAMED_MODEL)
      if ((variable !== undefined || isOffline) && !isQuiet) await announceOffline(cli, variable)
    },

    async overrideModels() {
      if (byAgent.size > 0) {
        throw usageError(
          "--model AGENT=NAME is for YAML and JSON. A module sets the models of its agents itself.",
        )
      }
      return await overrideModels(all, cli, canStandIn)
    },
  }
}

/** The person must see both the announcement on stderr and the answer on stdout. */
function canUseOffline({ quiet, json, isScript }: ModelFlags, { out, err }: Cli): boolean {
  return !quiet && !json && !isScript && out.isTerminal && err.isTerminal
}

function agentsNeed(names: readonly string[]): string {
  const agents = names.map((agent) => `"${agent}"`).join(", ")
  return names.length === 1 ? `Agent ${agents} needs` : `Agents ${agents} need`
}

function modelMissing(names: readonly string[]): Error {
  return usageError(
    `${agentsNeed(names)} a model. Write model: provider/model in the file, or add --model NAME. ` +
      "To try it without a language model, add --model offline.",
  )
}

function keyMissing(missing: ReadonlyMap<string, string>): Error {
  const variables = [...new Set(missing.values())]
  const names = [...missing.keys()]
  return usageError(
    `${agentsNeed(names)} a key. Set ${variables.join(" and ")}. To try it without a key, add --model offline, ` +
      `or choose another model with --model ${names[0]}=NAME.`,
  )
}

/** Reports an unknown provider, a missing package or a missing address before anything is paid for. */
async function checkModel(agent: string, ref: ModelRef, env: Cli["io"]["env"]): Promise<void> {
  if (ref === "offline") return
  const { resolveModel } = await import("@superstep/engine/models")
  try {
    await resolveModel(ref, { env })
  } catch (error) {
    throw isSuperstepError(error) ? usageError(`Agent "${agent}": ${error.message}`, error) : error
  }
}

/** The environment variable with the key of a model; none if it needs no key, or if the provider is unknown. */
function variableOf(ref: ModelRef): string | undefined {
  if (typeof ref === "object" && "doGenerate" in ref) return undefined
  const provider = typeof ref === "string" ? ref.split("/", 1)[0] : ref.provider
  const own = typeof ref === "string" ? undefined : ref.tokenKey
  return own ?? MODEL_PROVIDERS.find(({ name }) => name === provider)?.variable
}

async function named(name: string, { io }: Cli): Promise<ModelRef> {
  const { resolveModel, scriptedModel, scriptFromFile } = await import("@superstep/engine/models")
  const file = /^scripted:(.+)$/s.exec(name)?.[1]
  if (file === undefined) {
    // An unusable model is reported now, not when an agent calls it.
    if (name !== "offline") await resolveModel(name, { env: io.env })
    return name
  }
  try {
    return scriptedModel(await scriptFromFile(file, io.cwd))
  } catch (error) {
    if (!isSuperstepError(error) || !error.code.startsWith("FILE_")) throw error
    throw usageError(`--model scripted: ${error.message}`, error)
  }
}

/** Registers providers that take precedence in this process. */
async function overrideModels(all: ModelRef | undefined, cli: Cli, canStandIn: boolean): Promise<() => void> {
  const { offlineModel, registerProvider, resolveModel, UNNAMED_MODEL } = await import(
    "@superstep/engine/models"
  )
  const { env } = cli.io
  // A definition that the module loads may name no model for an agent.
  const unnamed = (make: () => Model | Promise<Model>) =>
    registerProvider("offline", ({ provider, model }) =>
      `${provider}/${model}` === UNNAMED_MODEL ? make() : offlineModel(),
    )
  if (all !== undefined) {
    const model = await resolveModel(all, { env })
    const undo = [
      ...MODEL_PROVIDERS.map(({ name }) => registerProvider(name, () => model)),
      unnamed(() => model),
    ]
    return () => undo.forEach((one) => void one())
  }
  const undoUnnamed = unnamed(async () => {
    if (!canStandIn) throw unnamedModel()
    await announceOffline(cli, undefined)
    return offlineModel()
  })
  const missing = hasAnyKey(env) ? [] : MODEL_PROVIDERS.filter(({ variable }) => variable !== undefined)
  const undo = missing.map(({ name, variable = "" }) => {
    const unregister = registerProvider(name, async (config: ModelConfig) => {
      if (config.tokenKey !== undefined && hasKey(env, config.tokenKey)) {
        unregister()
        return await resolveModel(config, { env })
      }
      if (!canStandIn) throw moduleKeyMissing(config, config.tokenKey ?? variable)
      await announceOffline(cli, config.tokenKey ?? variable)
      return offlineModel()
    })
    return unregister
  })
  return () => [...undo, undoUnnamed].forEach((one) => void one())
}

function unnamedModel(): Error {
  const text = "An agent has no model. Set model: provider/model, or add --model NAME or --model offline."
  return new SuperstepError("MODEL_MISSING", text, { retryable: false })
}

function moduleKeyMissing({ provider, model }: ModelConfig, variable: string): Error {
  const text = `${provider}/${model} needs a key. Set ${variable}. To try it without a key, add --model offline.`
  return new SuperstepError("MODEL_KEY_MISSING", text, { retryable: false })
}

/** Announced once, also by a command that calls several models. */
const announced = new WeakSet<Cli>()

/** Announced here, so that the model does not print it among the output. */
async function announceOffline(cli: Cli, variable: string | undefined): Promise<void> {
  if (announced.has(cli)) return
  announced.add(cli)
  const { err } = cli
  const { OFFLINE_NOTICE } = await import("@superstep/engine/models")
  const why = variable === undefined ? "" : `No key is set (${sanitizeLine(variable)}). `
  printText(err, `${why}${OFFLINE_NOTICE}`, { paint: err.paint.dim })
}

// Which keys of providers are set, and whether a package is installed.

/** The model for a question without a file: one of the first provider whose key is set. */
export function defaultModel(env: Environment): string {
  return autoModel(env) ?? "openai/gpt-5-mini"
}

export function hasKey(env: Environment, variable: string): boolean {
  return (env[variable] ?? "").trim() !== ""
}

/** Some provider's key is set. */
function hasAnyKey(env: Environment): boolean {
  return MODEL_PROVIDERS.some(({ variable }) => variable !== undefined && hasKey(env, variable))
}

/** The version of a package in the current folder, or where superstep is installed; undefined if it is missing. */
export function installedVersion(name: string, cwd: string): string | undefined {
  for (const from of [join(cwd, "package.json"), import.meta.url]) {
    const version = versionFrom(createRequire(from), name)
    if (version !== undefined) return version
  }
  return undefined
}

function versionFrom(require: NodeJS.Require, name: string): string | undefined {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      // Some packages do not export their package.json, so it is loaded by its path.
      const { version } = require(join(folder, name, "package.json")) as { version?: unknown }
      if (typeof version === "string") return version
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}
