/** A research of a steps file, as the call that makes its workflow. */
import { dirname, isAbsolute, join } from "node:path"
import { type ModelNames, modelArg } from "../agents/index.ts"
import type { DefinitionPaths } from "../definition-paths.ts"
import type { Document } from "../document/index.ts"
import { type Arg, type Call, call, callWith, type PlanWriter } from "../plan/index.ts"
import { type ResearchStepMode, researchMode, type SearchData } from "./research-fields.ts"
import type { Step } from "./step.ts"

interface PlanningResearch {
  readonly document: Document
  readonly writer: PlanWriter
  readonly paths: DefinitionPaths
  readonly models: ModelNames
}

const MAKES: Readonly<Record<ResearchStepMode, string>> = {
  iterative: "iterativeResearch",
  deep: "deepResearch",
  auto: "autoResearch",
}

/** Undefined where the mode is another's: that is in the report already. */
export function researchCall({ id, path, data, at }: Step, planning: PlanningResearch): Call | undefined {
  const mode = researchMode(data)
  if (mode === undefined) return undefined
  const { models } = planning
  const others = Object.entries(data.models ?? {}).map(([role, name]): [string, Arg] => [
    role,
    modelArg(name, [...at, "models", role], models),
  ])
  const tools = (data.tools ?? []).map((tool, i) =>
    toolCall(tool, { path, at: [...at, "tools", i] }, planning),
  )
  return call(MAKES[mode], {
    name: id,
    model: modelArg(data.model, [...at, "model"], models),
    models: others.length === 0 ? undefined : Object.fromEntries(others),
    tools,
    budget: data.budget,
  })
}

function toolCall(
  tool: SearchData,
  { path, at }: Pick<Step, "path" | "at">,
  { document, writer, paths: known }: PlanningResearch,
): Call {
  switch (tool.type) {
    case "web_search": {
      const { engine, results, pages } = tool
      const search = call("webSearch", engine)
      return call("webSearchTool", { search, reader: call("pageReader"), results, pages })
    }
    case "page":
      return call("pageTool", call("pageReader"))
    case "documents": {
      const { paths, embeddings, name, description } = tool
      for (const [i, one] of paths.entries())
        known.dataFrom(document.file, one, document.place([...at, "paths", i]))
      const places = paths.map((one) => (isAbsolute(one) ? one : join(dirname(document.file), one)))
      const documents = callWith("documentsIn", [places], { embeddings })
      return callWith("documentsTool", [writer.value(`${path} ${name ?? "documents"}`, documents)], {
        name,
        description,
      })
    }
  }
}
