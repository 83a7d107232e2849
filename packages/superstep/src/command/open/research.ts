/** Opens a research: its models, what it searches, and its budget. */
import type { Labels } from "@superstep/engine"
import type { ModelRef } from "@superstep/engine/models"
import type { ResearchBudget, ResearchRole, ResearchTool } from "@superstep/engine/patterns"
import type { Cli } from "../cli.ts"
import type { DefinitionFlags, OutputFlags } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import { chooseModels, defaultModel, hasKey } from "./choose-models.ts"
import { openDocuments } from "./document-index.ts"
import type { OpenedWorkflow } from "./opened-workflow.ts"
import { labelsOf, settingsIn, settingsLabels } from "./run-labels.ts"

/** Stored with the runs of a research, so that it can be opened again. Persisted. */
export interface ResearchSettings {
  readonly deep?: true | undefined
  /** Absolute. */
  readonly docs?: readonly string[] | undefined
  readonly embeddings?: string | undefined
  /** A search engine. Absent: the one whose key is set. */
  readonly search?: string | undefined
  /** False disables the web search. */
  readonly web?: false | undefined
  readonly budget?: ResearchBudget | undefined
}

export type ResearchFlags = Pick<DefinitionFlags, "model" | "price"> & Pick<OutputFlags, "quiet" | "json">

const LOOP: readonly ResearchRole[] = ["thinker", "gap", "selector", "judge", "writer"]
const DEEP: readonly ResearchRole[] = ["planner", ...LOOP, "synthesizer"]

export async function openResearch(
  settings: ResearchSettings,
  cli: Cli,
  flags: ResearchFlags,
): Promise<OpenedWorkflow> {
  const { deepResearch, iterativeResearch } = await import("@superstep/engine/patterns")
  const { researchProgress } = await import("../print/progress/research-progress.ts")
  const { deep, budget } = settings
  const roles = deep ? DEEP : LOOP
  const chosen = await chooseModels(flags, cli)
  const model = defaultModel(cli.io.env)
  const models = Object.fromEntries(roles.map((role) => [role, chosen.model(role, model) ?? model]))
  await chosen.check([...roles, "mode"])
  const web = await webTools(settings, cli)
  const documents = await openDocuments(settings, cli, flags.quiet === true)
  try {
    const tools = [...web, ...documents.tools]
    if (tools.length === 0) throw nothingToSearch()
    const { embeddings } = documents
    const options = { model, models, tools, budget, embeddings, incomplete: documents.problems }
    const workflow = deep ? deepResearch(options) : iterativeResearch(options)
    return {
      name: workflow.name,
      workflow: workflow as OpenedWorkflow["workflow"],
      labels: researchLabels(settings, flags, cli.io.cwd),
      progress: researchProgress,
      close: documents.close,
    }
  } catch (error) {
    await documents.close()
    throw error
  }
}

/** The model for `detectResearchMode`. */
export async function modeModel(cli: Cli, flags: ResearchFlags): Promise<ModelRef> {
  const chosen = await chooseModels(flags, cli)
  const own = defaultModel(cli.io.env)
  const model = chosen.model("mode", own) ?? own
  await chosen.check(["mode", ...DEEP])
  return model
}

async function webTools({ search, web }: ResearchSettings, { io }: Cli): Promise<ResearchTool[]> {
  if (web === false) return []
  const { webSearch, webSearchFromEnv, pageReader } = await import("@superstep/engine/tools")
  const { webSearchTool, pageTool } = await import("@superstep/engine/patterns")
  const { env } = io
  const variable = search === undefined ? undefined : VARIABLES[search]
  if (variable !== undefined && !hasKey(env, variable)) {
    throw usageError(`--search ${search} needs the environment variable ${variable}.`)
  }
  const engine = search === undefined ? webSearchFromEnv(env) : webSearch(search as never, { env })
  if (engine === undefined) return []
  const reader = pageReader()
  return [webSearchTool({ search: engine, reader }), pageTool(reader)]
}

/** The environment variable that each search engine needs. */
const VARIABLES: Readonly<Record<string, string>> = {
  searxng: "SEARXNG_URL",
  brave: "BRAVE_API_KEY",
  tavily: "TAVILY_API_KEY",
  serper: "SERPER_API_KEY",
}

function nothingToSearch(): Error {
  const names = Object.values(VARIABLES)
    .join(", ")
    .replace(/, (?=\w+$)/, " or ")
  return usageError(
    `There is nothing to search. Name documents with --docs PATH, or set ${names} to search the web.`,
  )
}

function researchLabels(settings: ResearchSettings, flags: ResearchFlags, cwd: string): Labels {
  const { file: _, ...labels } = labelsOf("", flags, cwd)
  return { ...labels, ...settingsLabels("research", settings) }
}

/** What `researchLabels` wrote; undefined for any other run. */
export function researchSettingsIn(labels: Labels): ResearchSettings | undefined {
  return settingsIn("research", labels) as ResearchSettings | undefined
}
