/**
 * Opens a workflow. Every command uses this path, from a name on the command line or from a stored run to a workflow that
 * is ready to run. A definition, a module, a definition of the registry, a goal configuration and a research follow the
 * same steps: choose the models, load, check, and label the runs so that they can be opened again.
 */
import { existsSync } from "node:fs"
import { extname, resolve } from "node:path"
import type { StoredRun, Workflow } from "@superstep/engine"
import type { LoadOptions } from "@superstep/engine/definitions"
import type { Command } from "commander"
import type { Cli } from "../cli.ts"
import {
  type DefinitionFlags,
  definitionFlags,
  modelFlag,
  type OutputFlags,
  type StoreFlags,
} from "../flags.ts"
import { definitionError, printLoaded, usageError } from "../print/errors.ts"
import { shortId } from "../run/find-run.ts"
import { type ChosenModels, chooseModels } from "./choose-models.ts"
import { defaultOf, importFile } from "./import-module.ts"
import type { OpenedWorkflow } from "./opened-workflow.ts"
import { openResearch, type ResearchSettings, researchSettingsIn } from "./research.ts"
import { fromLabels, labelsOf, secretSources, settingsIn } from "./run-labels.ts"
import { withSecretsOf } from "./secret-flags.ts"
import type { AskSettings } from "./source-flags.ts"
import { type OpenStore, storeAddress, storeOf } from "./store.ts"

/** A file, or the id of a definition in the registry; a goal configuration, or the data of a question; or a research. */
export type WorkflowSource =
  | string
  | { readonly goal: string }
  | { readonly ask: AskSettings }
  | { readonly research: ResearchSettings }

export interface OpenOptions {
  readonly flags: DefinitionFlags &
    Pick<OutputFlags, "quiet" | "json"> & { readonly cache?: string | undefined }
  /** The command is for scripts: the offline model never replaces a model without a key. */
  readonly isScript?: boolean | undefined
  /** Opens the store of the registry, if it exists. */
  readonly store?: (() => Promise<OpenStore> | undefined) | undefined
  /** False: no model will be called. Default true. */
  readonly isRun?: boolean | undefined
  /** Another number reloads a module. */
  readonly version?: number | undefined
}

const MODULE = /^\.[cm]?[jt]s$/
const DOCUMENT = /^\.(?:ya?ml|json)$/i

export function isModule(file: string): boolean {
  return MODULE.test(extname(file))
}

/** Whether a folder of workflows may contain this file as a workflow. */
export function isWorkflowFile(file: string): boolean {
  return isModule(file) || DOCUMENT.test(extname(file))
}

export async function openWorkflow(
  source: WorkflowSource,
  cli: Cli,
  options: OpenOptions,
): Promise<OpenedWorkflow> {
  const { flags, isRun = true } = options
  if (typeof source === "object" && "research" in source)
    return await openResearch(source.research, cli, flags)
  const chosen = isRun ? await chooseModels({ ...flags, isScript: options.isScript }, cli) : undefined
  if (typeof source === "object") {
    const { openGoal } = await import("./goal.ts")
    return await openGoal("goal" in source ? source.goal : source.ask, cli, flags, chosen)
  }
  const file = resolve(cli.io.cwd, source)
  if (isModule(file)) return await openModule(source, file, cli, options, chosen)
  const labels = labelsOf(file, flags, cli.io.cwd)
  if (DOCUMENT.test(extname(file)) || existsSync(file) || options.store === undefined) {
    return await openDefinition({ file: source, labels }, cli, options, chosen)
  }
  const store = await options.store()
  const { runnableDefinition } = await import("@superstep/engine/definitions")
  const data = store && (await runnableDefinition(store.registry, source))
  if (data === undefined) {
    throw usageError(`Cannot read ${source}: no such file, and no definition with this id in the store.`)
  }
  const text = JSON.stringify(data, undefined, 2)
  const stored = { ...labels, file: source, definition: source }
  return await openDefinition({ file: `${source}.json`, text, labels: stored }, cli, options, chosen)
}

interface DefinitionSource extends Pick<OpenedWorkflow, "labels"> {
  readonly file: string
  /** Absent: read from the file. */
  readonly text?: string | undefined
}

async function openDefinition(
  source: DefinitionSource,
  cli: Cli,
  { flags, version }: OpenOptions,
  chosen: ChosenModels | undefined,
): Promise<OpenedWorkflow> {
  const { loadFile } = await import("./load-definition.ts")
  // Agents, and the roles of research steps.
  const asked = new Set<string>()
  const model: LoadOptions["model"] =
    chosen &&
    ((agent, own) => {
      asked.add(agent)
      return chosen.model(agent, own)
    })
  const loaded = await loadFile(source, cli, flags, { model, version })
  const { definition } = loaded
  if (definition === undefined) {
    const { isGoalFile, openGoal } = await import("./goal.ts")
    if (isGoalFile(source.file, loaded)) return await openGoal(source.file, cli, flags, chosen)
    throw await definitionError(loaded)
  }
  try {
    if (flags.agents !== undefined && definition.dialect !== "graph")
      throw usageError(`--agents is for graphs: ${source.file} defines its own agents.`)
    if (flags.agent !== undefined && definition.dialect !== "agents")
      throw usageError(`--agent is for files with agents and no workflow: ${source.file} has its own order.`)
    if (flags.quiet !== true) await printLoaded(loaded, cli.err)
    await chosen?.check(asked, definition.unusedAgents)
    if (chosen !== undefined) await definition.importModules()
  } catch (error) {
    await definition.close()
    throw error
  }
  const { name, workflow } = definition
  return { name, workflow, definition, labels: source.labels, close: () => definition.close() }
}

async function openModule(
  source: string,
  file: string,
  cli: Cli,
  { flags, version }: OpenOptions,
  chosen: ChosenModels | undefined,
): Promise<OpenedWorkflow> {
  if (flags.untrusted) {
    throw usageError(
      `${source} is a module, and --untrusted cannot restrict code. Read it, and run it without --untrusted if you trust it.`,
    )
  }
  if (flags.agent !== undefined)
    throw usageError(`--agent is for files with agents and no workflow: ${source} is a module.`)
  if (!existsSync(file)) throw usageError(`Cannot read ${source}: no such file.`)
  const restoreModels = await chosen?.overrideModels()
  const workflow = await importModule(source, file, version).catch((error: unknown) => {
    restoreModels?.()
    throw error
  })
  const { close } = workflow as { close?: () => Promise<void> }
  return {
    name: workflow.name,
    workflow,
    labels: labelsOf(file, flags, cli.io.cwd),
    async close() {
      restoreModels?.()
      await close?.call(workflow)
    },
  }
}

export interface UseOptions extends Omit<OpenOptions, "store"> {
  readonly flags: OpenOptions["flags"] & StoreFlags
}

/**
 * Opens a workflow, and closes it and the store afterwards. The store is opened on use, so an invalid definition creates
 * no file.
 */
export async function withWorkflow(
  source: WorkflowSource,
  cli: Cli,
  options: UseOptions,
  use: (opened: OpenedWorkflow, store: () => Promise<OpenStore>) => Promise<void>,
): Promise<void> {
  const { flags } = options
  let opening: Promise<OpenStore> | undefined
  const open = () => {
    opening ??= storeOf(cli, flags)
    return opening
  }
  try {
    const { kind, path } = storeAddress(flags.store, cli.io.cwd)
    const isThere = () => kind === "postgres" || (path !== undefined && existsSync(path))
    const existing = () => (isThere() ? open() : undefined)
    const opened = await openWorkflow(source, cli, { ...options, store: existing })
    try {
      await use(opened, open)
    } finally {
      await opened.close()
    }
  } finally {
    await (await opening)?.close()
  }
}

export interface StoredWorkflowFlags extends DefinitionFlags, Pick<OutputFlags, "quiet" | "json"> {
  readonly file?: string | undefined
}

export function storedWorkflowFlags(command: Command): Command {
  command.option("--file <file>", "use this definition instead of the run's own")
  return modelFlag(definitionFlags(command))
}

/** Whether a run can be opened without `--file`: it records its definition, and that still exists. */
export async function canReopenWorkflow(
  { io }: Cli,
  { registry }: OpenStore,
  { labels = {} }: StoredRun,
): Promise<boolean> {
  if (researchSettingsIn(labels) !== undefined || settingsIn("ask", labels) !== undefined) return true
  const { source } = fromLabels(labels, {})
  if (source === undefined) return false
  return existsSync(resolve(io.cwd, source)) || (await registry.definition(source)) !== undefined
}

/**
 * Opens the workflow of a stored run with the file and the flags that the run records. Flags of this command take
 * precedence.
 */
export async function openStoredWorkflow(
  cli: Cli,
  store: OpenStore,
  { runId, workflow, labels = {} }: StoredRun,
  present: StoredWorkflowFlags,
  { isRun }: Pick<OpenOptions, "isRun"> = {},
): Promise<OpenedWorkflow> {
  const { file, quiet, json, price, model, agents, set, untrusted, lenient, maxSteps } = present
  const id = shortId(runId)
  const secret = withSecretsOf(secretSources(labels), present, { id, isRun })
  const setSecret = secret && Object.keys(secret).length > 0 ? secret : undefined
  const own = Object.entries({ model, agents, set, setSecret, untrusted, lenient, maxSteps }).filter(
    ([, flag]) => flag !== undefined,
  )
  const found = fromLabels(labels, Object.fromEntries(own) as DefinitionFlags)
  const flags = { ...found.flags, price, quiet, json }
  const research = file === undefined ? researchSettingsIn(labels) : undefined
  if (research !== undefined) return await openWorkflow({ research }, cli, { flags })
  const ask = file === undefined ? (settingsIn("ask", labels) as AskSettings | undefined) : undefined
  if (ask !== undefined) return await openWorkflow({ ask }, cli, { flags, isRun })
  const source = file ?? found.source
  if (source === undefined) {
    throw usageError(`Run ${id} does not record the file of its workflow "${workflow}".\nAdd --file FILE.`)
  }
  const opened = await openWorkflow(source, cli, { flags, store: async () => store, isRun })
  const { name } = opened.workflow
  if (name === workflow) return opened
  await opened.close()
  throw usageError(
    `Run ${id} belongs to workflow "${workflow}", but ${source} defines "${name}".\n` +
      `Name another file with --file. If this is the right file, set its name: ${workflow}`,
  )
}

/** A `version` above 0 reloads the module itself, but not its imports. */
async function importModule(source: string, file: string, version = 0): Promise<Workflow<never, unknown>> {
  const exported = defaultOf(await importFile(source, file, version))
  const found = isBuilder(exported) ? exported.build() : exported
  if (isWorkflow(found)) return found
  throw usageError(
    `${source} does not export a workflow. Write export default workflow("…")…build(), or export an agent.`,
  )
}

function isWorkflow(value: unknown): value is Workflow<never, unknown> {
  if (typeof value !== "object" || value === null) return false
  const { run, program, name } = value as Partial<Record<string, unknown>>
  return typeof run === "function" && typeof program === "object" && typeof name === "string"
}

function isBuilder(value: unknown): value is { build(): unknown } {
  return typeof value === "object" && value !== null && "build" in value && typeof value.build === "function"
}
