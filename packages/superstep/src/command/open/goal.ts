/** Opens a goal configuration: a file, or the sources that flags name. */
import { resolve } from "node:path"
import type { DefinitionText, Loaded } from "@superstep/engine/definitions"
import {
  type GoalWorkflow,
  type GraphGoalConfig,
  goalChat,
  goalWorkflow,
  isGoalConfig,
  loadGoalConfig,
} from "@superstep/engine/patterns"
import type { Cli } from "../cli.ts"
import type { DefinitionFlags } from "../flags.ts"
import { definitionError, printLoaded } from "../print/errors.ts"
import { type ChosenModels, defaultModel } from "./choose-models.ts"
import { type LoadFileOptions, withPackages } from "./load-definition.ts"
import type { OpenedWorkflow } from "./opened-workflow.ts"
import { labelsOf, settingsLabels } from "./run-labels.ts"
import { secretsOf } from "./secret-flags.ts"
import { type AskSettings, askConfig, type ProgressTarget, prepareSources } from "./source-flags.ts"

/** Whether a file that is not a definition is a goal configuration. */
export function isGoalFile(file: string, { sources }: Pick<Loaded, "sources">): boolean {
  const text = [...sources.values()][0]
  return text !== undefined && isGoalConfig({ file, text })
}

export interface GoalFlags extends DefinitionFlags {
  readonly quiet?: true | undefined
  readonly json?: true | undefined
  readonly cache?: string | undefined
}

/** The path of a file, or the settings from flags. */
export type GoalName = string | AskSettings

export async function openGoal(
  source: GoalName,
  cli: Cli,
  flags: GoalFlags,
  chosen: ChosenModels | undefined,
): Promise<OpenedWorkflow> {
  const { cwd } = cli.io
  const { loaded, progress } = await loadGoal(source, cli, flags, { model: chosen?.model })
  const { goal } = loaded
  if (goal === undefined) throw await definitionError(loaded)
  if (flags.quiet !== true) await printLoaded(loaded, cli.err)
  try {
    await chosen?.check(goal.agents.keys())
  } catch (error) {
    await goal.close()
    throw error
  }
  const workflow = flags.chat ? chatWorkflow(goal.config) : goalWorkflow(goal.config)
  return {
    name: goal.name,
    workflow,
    labels: goalLabels(source, flags, cwd),
    prepare: () => prepareSources(goal, progress, cli, (flags.quiet ?? flags.json) === true),
    async close() {
      try {
        await workflow.close()
      } finally {
        await goal.close()
      }
    },
  }
}

/** A graph definition answers single questions. */
function chatWorkflow(config: GraphGoalConfig): GoalWorkflow {
  return { ...goalChat(config), close: async () => undefined }
}

function goalLabels(source: GoalName, flags: GoalFlags, cwd: string) {
  if (typeof source === "string") return labelsOf(resolve(cwd, source), flags, cwd)
  const { file: _, ...labels } = labelsOf("", flags, cwd)
  return { ...labels, ...settingsLabels("ask", source) }
}

export async function loadGoal(
  source: GoalName,
  { io }: Cli,
  flags: GoalFlags,
  { model, use = "run" }: LoadFileOptions = {},
): Promise<{ readonly loaded: ReturnType<typeof loadGoalConfig>; readonly progress: ProgressTarget }> {
  const { cwd, env } = io
  const mayImport = use === "run" && flags.untrusted !== true
  const progress: ProgressTarget = {}
  const backends = async () => {
    const { cacheFolder, goalBackends } = await import("@superstep/retrieval")
    return goalBackends({
      root: cwd,
      env,
      cache: flags.cache === undefined ? cacheFolder(env) : resolve(cwd, flags.cache),
      onProgress: (now) => progress.show?.(now),
    })
  }
  const secrets = secretsOf(flags, env)
  const named = textOf(source, (name) => secrets[name] ?? env[name], env)
  const file = typeof named === "string" ? named : named.file
  const loaded = await withPackages(resolve(cwd, file), io, mayImport, (functions) =>
    loadGoalConfig(named, {
      cwd,
      trust: flags.untrusted && "none",
      secrets,
      env,
      variables: flags.set,
      model,
      functions,
      ...(flags.untrusted ? {} : { backends }),
    }),
  )
  return { loaded, progress }
}

function textOf(
  source: GoalName,
  lookup: (name: string) => string | undefined,
  env: Cli["io"]["env"],
): string | DefinitionText {
  if (typeof source === "string") return source
  return { file: "ask.json", text: askConfig(source, defaultModel(env), lookup) }
}
