/** The workflow of a stored run, opened again from what the run carries: FILE and the flags that it was started with. */
import type { StoredRun } from "@superstep/engine"
import type { Command } from "commander"
import type { Cli } from "./cli.ts"
import { type DefinitionFlags, definitionFlags, modelFlag, type OutputFlags } from "./common-flags.ts"
import { shortId } from "./find-run.ts"
import { openResearch, settingsIn } from "./open-research.ts"
import type { OpenStore } from "./open-store.ts"
import { type OpenedWorkflow, openWorkflow } from "./open-workflow.ts"
import { fromLabels, secretSources } from "./run-labels.ts"
import { withSecretsOf } from "./secret-flags.ts"
import { usageError } from "./usage-error.ts"

export interface StoredWorkflowFlags extends DefinitionFlags, Pick<OutputFlags, "quiet" | "json"> {
  readonly file?: string | undefined
}

export function storedWorkflowFlags(command: Command): Command {
  command.option("--file <file>", "its definition, where that is not where it was")
  return modelFlag(definitionFlags(command))
}

/** It can be opened without `--file`, if what it names is still there. */
export function saysItsWorkflow({ labels = {} }: StoredRun): boolean {
  return fromLabels(labels, {}).source !== undefined || settingsIn(labels) !== undefined
}

export interface StoredWorkflowOptions {
  /** False: nothing will be asked of a model. Default true. */
  readonly isRun?: boolean | undefined
}

export async function openStoredWorkflow(
  cli: Cli,
  store: OpenStore,
  { runId, workflow, labels = {} }: StoredRun,
  given: StoredWorkflowFlags,
  { isRun }: StoredWorkflowOptions = {},
): Promise<OpenedWorkflow> {
  const { file, quiet, json, price, model, agents, set, untrusted, lenient, maxSteps } = given
  const id = shortId(runId)
  const secret = withSecretsOf(secretSources(labels), given, { id, isRun })
  const setSecret = secret && Object.keys(secret).length > 0 ? secret : undefined
  const own = Object.entries({ model, agents, set, setSecret, untrusted, lenient, maxSteps }).filter(
    ([, flag]) => flag !== undefined,
  )
  const found = fromLabels(labels, Object.fromEntries(own) as DefinitionFlags)
  const research = file === undefined ? settingsIn(labels) : undefined
  if (research !== undefined) return await openResearch(research, cli, { ...found.flags, price, quiet, json })
  const source = file ?? found.source
  if (source === undefined) {
    throw usageError(`Run ${id} does not say which file its workflow "${workflow}" is in.\nAdd --file FILE.`)
  }
  const flags = { ...found.flags, price, quiet, json }
  const opened = await openWorkflow(source, cli, { flags, store: async () => store, isRun })
  if (opened.workflow.name === workflow) return opened
  await opened.close()
  const { name } = opened.workflow
  throw usageError(
    `Run ${id} is of workflow "${workflow}", and ${source} has "${name}".\n` +
      `Name another file with --file; or, if this is the one, write its name into it: name: ${workflow}`,
  )
}
