/** FILE on the command line, made into something to run: a definition, a module, or a definition of the registry. */
import { existsSync } from "node:fs"
import { extname, resolve } from "node:path"
import type { Labels, RunEvent, Workflow } from "@superstep/engine"
import type { Definition, LoadOptions } from "@superstep/engine/definitions"
import { type ChosenModels, chooseModels } from "./choose-models.ts"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags, OutputFlags } from "./common-flags.ts"
import { definitionError, printLoaded } from "./definition-error.ts"
import { importModule } from "./import-module.ts"
import type { OpenStore } from "./open-store.ts"
import type { Watcher } from "./progress/watcher.ts"
import { labelsOf } from "./run-labels.ts"
import type { Terminal } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

export interface OpenedWorkflow {
  readonly name: string
  /** What a run of it takes is what the person says, unless it declares otherwise: see `read-prompt.ts`. */
  readonly workflow: Workflow<never, unknown>
  /** Undefined for a module. */
  readonly definition?: Definition | undefined
  /** What a run of it is to carry, so that it can be opened again. */
  readonly labels: Labels
  /** How a run of it is shown, where that is not node by node; of one that goes on, after what was. */
  readonly progress?: ((terminal: Terminal, past?: readonly RunEvent[]) => Watcher) | undefined
  /** Closes what its toolsets have opened. */
  close(): Promise<void>
}

export interface OpenOptions {
  readonly flags: DefinitionFlags & Pick<OutputFlags, "quiet" | "json">
  /** The command is for scripts: no model stands in for one that lacks its key. */
  readonly isScript?: boolean | undefined
  /** For a name that is no file: where definitions are kept, if there is such a store. Opened when it is needed. */
  readonly store?: (() => Promise<OpenStore> | undefined) | undefined
  /** False: nothing will be asked of a model. Default true. */
  readonly isRun?: boolean | undefined
}

const MODULE = /^\.[cm]?[jt]s$/
const DOCUMENT = /^\.(?:ya?ml|json)$/i

export async function openWorkflow(source: string, cli: Cli, options: OpenOptions): Promise<OpenedWorkflow> {
  const { flags, isRun = true } = options
  const file = resolve(cli.io.cwd, source)
  const chosen = isRun ? await chooseModels({ ...flags, isScript: options.isScript }, cli) : undefined
  if (MODULE.test(extname(file)) && flags.untrusted) throw untrustedModule(source)
  if (MODULE.test(extname(file)))
    return await openModule(source, file, labelsOf(file, flags, cli.io.cwd), chosen)
  if (DOCUMENT.test(extname(file)) || existsSync(file) || options.store === undefined) {
    return await openDefinition(
      { file: source, labels: labelsOf(file, flags, cli.io.cwd) },
      cli,
      options,
      chosen,
    )
  }
  return await openStored(source, cli, options, chosen, await options.store())
}

export function isModule(file: string): boolean {
  return MODULE.test(extname(file))
}

function untrustedModule(source: string): Error {
  return usageError(
    `${source} is a module, which is code: --untrusted cannot hold it to anything. Read it, and run it without --untrusted if you trust it.`,
  )
}

interface DefinitionSource {
  /** As messages show it, and as it is read. */
  readonly file: string
  readonly text?: string | undefined
  readonly labels: Labels
}

async function openDefinition(
  source: DefinitionSource,
  cli: Cli,
  { flags }: OpenOptions,
  chosen: ChosenModels | undefined,
): Promise<OpenedWorkflow> {
  const { loadFile } = await import("./load-file.ts")
  // Agents, and the agents of researches.
  const asked = new Set<string>()
  const model: LoadOptions["model"] =
    chosen &&
    ((agent, given) => {
      asked.add(agent)
      return chosen.model(agent, given)
    })
  const loaded = await loadFile(source, cli, flags, { model })
  const { definition } = loaded
  if (definition === undefined) {
    const { goalConfigIn, openGoal } = await import("./open-goal.ts")
    if (goalConfigIn(source.file, loaded)) return await openGoal(source.file, cli, flags, chosen)
    throw await definitionError(loaded)
  }
  try {
    if (flags.agents !== undefined && definition.dialect !== "graph")
      throw usageError(`--agents is for a graph; ${source.file} has its agents itself.`)
    if (flags.quiet !== true) await printLoaded(loaded, cli.err)
    await chosen?.check(asked, definition.unusedAgents)
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
  labels: Labels,
  chosen: ChosenModels | undefined,
): Promise<OpenedWorkflow> {
  if (!existsSync(file)) throw usageError(`Cannot read ${source}: there is no such file.`)
  const giveBack = await chosen?.takeOver()
  const workflow = await importModule(source, file).catch((error: unknown) => {
    giveBack?.()
    throw error
  })
  const { close } = workflow as { close?: () => Promise<void> }
  return {
    name: workflow.name,
    workflow,
    labels,
    async close() {
      giveBack?.()
      await close?.call(workflow)
    },
  }
}

/** What `superstep apply` has put into the store, with the agents that are there. */
async function openStored(
  id: string,
  cli: Cli,
  options: OpenOptions,
  chosen: ChosenModels | undefined,
  store: OpenStore | undefined,
): Promise<OpenedWorkflow> {
  const { runnableDefinition } = await import("@superstep/engine/definitions")
  const data = store && (await runnableDefinition(store.registry, id))
  if (data === undefined) {
    throw usageError(`Cannot read ${id}: there is no such file, and no definition of that name in the store.`)
  }
  const labels = { ...labelsOf(id, options.flags, cli.io.cwd), definition: id }
  const text = JSON.stringify(data, undefined, 2)
  return await openDefinition({ file: `${id}.json`, text, labels }, cli, options, chosen)
}
