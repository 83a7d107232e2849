/** Research steps: the call that makes the workflow. */
import { dirname, isAbsolute, join } from "node:path"
import { type ModelNames, modelArg } from "../agents/index.ts"
import type { DefinitionPaths } from "../definition-paths.ts"
import { type Arg, type Call, call, callWith, type PlanWriter } from "../plan/index.ts"
import type { Step } from "./step.ts"
import type { SearchData } from "./step-shape.ts"

interface PlanningResearch {
  readonly writer: PlanWriter
  readonly paths: DefinitionPaths
  readonly models: ModelNames
}

const MAKES: Readonly<Record<string, string>> = {
  iterative: "iterativeResearch",
  deep: "deepResearch",
  auto: "autoResearch",
}

/** Undefined if the mode is unknown, which is already reported. */
export function researchCall({ id, path, data, at }: Step, planning: PlanningResearch): Call | undefined {
  const { mode = "iterative" } = data
  const make = Object.hasOwn(MAKES, mode) ? MAKES[mode] : undefined
  if (make === undefined) return undefined
  const { models } = planning
  const others = Object.entries(data.models ?? {}).map(([role, name]): [string, Arg] => [
    role,
    modelArg(name, [...at, "models", role], models),
  ])
  const tools = (data.tools ?? []).map((tool, i) =>
    toolCall(tool, { path, at: [...at, "tools", i] }, planning),
  )
  return call(make, {
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
  { writer, paths: known, models: { report } }: PlanningResearch,
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
      const { file } = report.document
      for (const [i, one] of paths.entries()) known.dataFrom(file, one, report.at([...at, "paths", i]))
      const sources = paths.map((one) => (isAbsolute(one) ? one : join(dirname(file), one)))
      const documents = callWith("documentsIn", [sources], { embeddings })
      return callWith("documentsTool", [writer.value(`${path} ${name ?? "documents"}`, documents)], {
        name,
        description,
      })
    }
  }
}
