/** A configuration of the goal pipeline, made into something to run. */
import { resolve } from "node:path"
import type { Loaded } from "@superstep/engine/definitions"
import { goalWorkflow, isGoalConfig, loadGoalConfig } from "@superstep/engine/patterns"
import type { ChosenModels } from "./choose-models.ts"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags } from "./common-flags.ts"
import { definitionError, printLoaded } from "./definition-error.ts"
import { type LoadFileOptions, withPackages } from "./load-file.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { labelsOf } from "./run-labels.ts"
import { secretsOf } from "./secret-flags.ts"

/** Whether what was read as a definition, and is none, is a configuration. */
export function goalConfigIn(file: string, { sources }: Pick<Loaded, "sources">): boolean {
  const text = [...sources.values()][0]
  return text !== undefined && isGoalConfig({ file, text })
}

export async function openGoal(
  source: string,
  cli: Cli,
  flags: DefinitionFlags & { readonly quiet?: true | undefined },
  chosen: ChosenModels | undefined,
): Promise<OpenedWorkflow> {
  const { cwd } = cli.io
  const file = resolve(cwd, source)
  const loaded = await loadGoal(source, cli, flags, { model: chosen?.model })
  const { goal } = loaded
  if (goal === undefined) throw await definitionError(loaded)
  if (flags.quiet !== true) await printLoaded(loaded, cli.err)
  try {
    await chosen?.check(goal.agents.keys())
  } catch (error) {
    await goal.close()
    throw error
  }
  const workflow = goalWorkflow(goal.config)
  return {
    name: goal.name,
    workflow,
    labels: labelsOf(file, flags, cwd),
    async close() {
      try {
        await workflow.close()
      } finally {
        await goal.close()
      }
    },
  }
}

export async function loadGoal(
  source: string,
  { io }: Cli,
  flags: DefinitionFlags,
  { model, use = "run" }: LoadFileOptions = {},
) {
  const { cwd, env } = io
  const mayImport = use === "run" && flags.untrusted !== true
  const backends = async () => (await import("@superstep/retrieval")).goalBackends({ root: cwd, env })
  return await withPackages(resolve(cwd, source), io, { mayImport }, (functions) =>
    loadGoalConfig(source, {
      cwd,
      trust: flags.untrusted && "none",
      secrets: secretsOf(flags, env),
      env,
      variables: flags.set,
      model,
      functions,
      ...(flags.untrusted ? {} : { backends }),
    }),
  )
}
