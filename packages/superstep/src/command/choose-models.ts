/**
 * Which model answers for which agent: `--model`, else the one that its definition names. A missing key is an error that
 * says what to set. Only a person at a terminal who has no key at all gets the offline model instead, announced first: a
 * script must never take the words of a stand-in for an answer.
 */
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import type { ModelConfig, ModelRef, Prices } from "@superstep/engine/models"
import type { Cli } from "./cli.ts"
import type { ModelChoices } from "./common-flags.ts"
import { hasAnyKey, hasKey, KNOWN_PROVIDERS } from "./providers.ts"
import { foreignLine, wrapped } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

export interface ChosenModels {
  /** For `loadDefinition`. */
  model(agent: string, given: ModelRef): ModelRef | undefined
  /**
   * Once the agents are known: throws where the model of an agent cannot be asked, or announces what answers instead.
   * Agents in `unused` never answer, so their models do not matter.
   */
  check(agents: Iterable<string>, unused?: ReadonlySet<string>): Promise<void>
  /** For a module that makes its agents itself: other models for the names that it gives. Gives the way back. */
  takeOver(): Promise<() => void>
}

export interface ModelFlags {
  readonly model?: ModelChoices | undefined
  readonly price?: Prices | undefined
  readonly quiet?: true | undefined
  readonly json?: true | undefined
  /** The command is for scripts, whatever it is run from. */
  readonly isScript?: boolean | undefined
}

export async function chooseModels(flags: ModelFlags, cli: Cli): Promise<ChosenModels> {
  const { env } = cli.io
  const choices = flags.model
  const isQuiet = flags.quiet === true
  const canStandIn = mayStandIn(flags, cli)
  const { registerPrices, tellOffline, UNNAMED_MODEL } = await import("@superstep/engine/models")
  // For the rest of the process, which runs one command.
  if (flags.price !== undefined) registerPrices(flags.price)
  // `check` announces it, before anything is drawn.
  tellOffline({ isTTY: true, write: () => true })
  const all = choices?.all === undefined ? undefined : await named(choices.all, cli)
  const byAgent = new Map<string, ModelRef>()
  for (const [agent, name] of Object.entries(choices?.byAgent ?? {}))
    byAgent.set(agent, await named(name, cli))
  // By agent, as a definition may be loaded more than once.
  const missing = new Map<string, string>()
  const own = new Map<string, ModelRef>()
  let isAnyThere = hasAnyKey(env)

  return {
    model(agent, given) {
      const chosen = byAgent.get(agent) ?? all
      if (chosen !== undefined) return chosen
      own.set(agent, given)
      const variable = variableOf(given)
      if (variable === undefined) return undefined
      if (hasKey(env, variable)) {
        isAnyThere = true
        return undefined
      }
      missing.set(agent, variable)
      return "offline"
    },

    async check(agents, unused = new Set()) {
      const known = [...agents]
      const stranger = [...byAgent.keys()].find((agent) => !known.includes(agent))
      if (stranger !== undefined) {
        const there = known.length === 0 ? "There are no agents" : `The agents are ${known.join(", ")}`
        throw usageError(`--model ${stranger}=…: there is no agent "${stranger}". ${there}.`)
      }
      const used = [...own].filter(([agent]) => !unused.has(agent))
      const unnamed = used.filter(([, ref]) => ref === UNNAMED_MODEL).map(([agent]) => agent)
      if (unnamed.length > 0 && !canStandIn) throw modelMissing(unnamed)
      const lacking = new Map([...missing].filter(([agent]) => !unused.has(agent)))
      if (lacking.size > 0 && (isAnyThere || !canStandIn)) throw keyMissing(lacking)
      for (const [agent, ref] of used) if (!missing.has(agent)) await checkModel(agent, ref, env)
      const [variable] = lacking.values()
      const isOffline = used.some(([, ref]) => ref === "offline" || ref === UNNAMED_MODEL)
      if ((variable !== undefined || isOffline) && !isQuiet) await tell(cli, variable)
    },

    async takeOver() {
      if (byAgent.size > 0) {
        throw usageError(
          "--model AGENT=NAME is for YAML and JSON; a module says itself which model an agent has.",
        )
      }
      return await takeOver(all, cli, canStandIn)
    },
  }
}

/** The announcement on stderr and the answer on stdout must both reach the person. */
function mayStandIn({ quiet, json, isScript }: ModelFlags, { out, err }: Cli): boolean {
  return !quiet && !json && !isScript && out.isTerminal && err.isTerminal
}

function agentsNeed(names: readonly string[]): string {
  const agents = names.map((agent) => `"${agent}"`).join(", ")
  return names.length === 1 ? `Agent ${agents} needs` : `Agents ${agents} need`
}

function modelMissing(names: readonly string[]): Error {
  return usageError(
    `${agentsNeed(names)} a model: write model: provider/model in the file, or add --model NAME. ` +
      "To try it without a language model, add --model offline.",
  )
}

function keyMissing(missing: ReadonlyMap<string, string>): Error {
  const variables = [...new Set(missing.values())]
  const names = [...missing.keys()]
  return usageError(
    `${agentsNeed(names)} a key: set ${variables.join(" and ")}. To try it without, add --model offline, ` +
      `or --model ${names[0]}=NAME for another model.`,
  )
}

/** An unknown provider, a package that is not installed, a missing address: told before anything is paid for. */
async function checkModel(agent: string, ref: ModelRef, env: Cli["io"]["env"]): Promise<void> {
  if (ref === "offline") return
  const { resolveModel } = await import("@superstep/engine/models")
  try {
    await resolveModel(ref, { env })
  } catch (error) {
    throw isSuperstepError(error) ? usageError(`Agent "${agent}": ${error.message}`, error) : error
  }
}

/** The variable that has the key of a model; none: it needs no key, or we do not know. */
function variableOf(ref: ModelRef): string | undefined {
  if (typeof ref === "object" && "doGenerate" in ref) return undefined
  const provider = typeof ref === "string" ? ref.split("/", 1)[0] : ref.provider
  const own = typeof ref === "string" ? undefined : ref.tokenKey
  return own ?? KNOWN_PROVIDERS.find(({ name }) => name === provider)?.variable
}

async function named(name: string, { io }: Cli): Promise<ModelRef> {
  const { resolveModel, scriptedModel, scriptFromFile } = await import("@superstep/engine/models")
  const file = /^scripted:(.+)$/s.exec(name)?.[1]
  if (file === undefined) {
    // What cannot be asked is told now, not when an agent asks it.
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

/** Names of models are looked up here first, by all that this process runs. */
async function takeOver(all: ModelRef | undefined, cli: Cli, canStandIn: boolean): Promise<() => void> {
  const { offlineModel, registerProvider, resolveModel } = await import("@superstep/engine/models")
  const { env } = cli.io
  if (all !== undefined) {
    const model = await resolveModel(all, { env })
    const back = KNOWN_PROVIDERS.map(({ name }) => registerProvider(name, () => model))
    return () => back.forEach((one) => void one())
  }
  const missing = hasAnyKey(env) ? [] : KNOWN_PROVIDERS.filter(({ variable }) => variable !== undefined)
  const back = missing.map(({ name, variable = "" }) => {
    const leave = registerProvider(name, async (config: ModelConfig) => {
      if (config.tokenKey !== undefined && hasKey(env, config.tokenKey)) {
        leave()
        return await resolveModel(config, { env })
      }
      if (!canStandIn) throw moduleKeyMissing(config, config.tokenKey ?? variable)
      await tell(cli, config.tokenKey ?? variable)
      return offlineModel()
    })
    return leave
  })
  return () => back.forEach((one) => void one())
}

function moduleKeyMissing({ provider, model }: ModelConfig, variable: string): Error {
  const text = `${provider}/${model} needs a key: set ${variable}. To try it without, add --model offline.`
  return new SuperstepError("MODEL_KEY_MISSING", text, { retryable: false })
}

/** A command that asks models for several things announces it once. */
const announced = new WeakSet<Cli>()

/** Here, so that the model need not tell it in the middle of everything. */
async function tell(cli: Cli, variable: string | undefined): Promise<void> {
  if (announced.has(cli)) return
  announced.add(cli)
  const { err } = cli
  const { OFFLINE_NOTICE } = await import("@superstep/engine/models")
  const why = variable === undefined ? "" : `No key is set (${foreignLine(variable)}). `
  for (const line of wrapped(`${why}${OFFLINE_NOTICE}`, err.width)) err.line(err.paint.dim(line))
}
