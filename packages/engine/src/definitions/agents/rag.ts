/** Documents that an agent searches: `rag` of a definition, onto the document index of `@superstep/retrieval`. */
import { z } from "zod"
import { nearest, type Path } from "../../document/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { type Call, call, callWith } from "../plan/index.ts"

const text = z.string()

// The fields that have no effect are named in a warning.
const strategyShape = z.looseObject({
  type: z.enum(["bm25", "chunked-embeddings", "semantic-embeddings"]),
  embedding_model: text
    .optional()
    .describe("For search by meaning: offline, provider/model, a name from `models`, or auto."),
  docs: z.array(text).optional(),
  limit: z.int().min(1).optional(),
})

const resultsShape = z.looseObject({
  limit: z.int().min(1).optional().describe("How many passages a search returns. Default 15."),
})

const ragConfigFields = {
  tool: z
    .strictObject({ name: text.optional(), description: text.optional(), instruction: text.optional() })
    .optional()
    .describe("The tool that searches: its name, and what the model reads about it."),
  docs: z.array(text).optional().describe("Files and folders to search."),
  strategies: z
    .array(strategyShape)
    .optional()
    .describe("bm25: by words; chunked-embeddings: by meaning. Default: both, where a model is installed."),
  results: resultsShape.optional(),
  respect_vcs: z.boolean().optional(),
  indexing_timeout: text.optional(),
}

/** A source under `rag` of the file. */
export const ragSourceShape = z.strictObject({
  ...ragConfigFields,
  description: text.optional(),
  instruction: text.optional(),
  tools: z.array(text).optional(),
  name: text.optional(),
  defer: z.union([z.boolean(), z.array(text)]).optional(),
})

/** The fields of a toolset of type rag, besides those of every toolset. */
export const ragFields = {
  ...ragConfigFields,
  ref: text.optional().describe("A source from `rag`."),
  rag_config: z.strictObject(ragConfigFields).optional(),
}

type RagSource = z.infer<typeof ragSourceShape>
type RagConfig = z.infer<z.ZodObject<typeof ragConfigFields>>
type RagData = z.infer<z.ZodObject<typeof ragFields>> & { readonly name?: string | undefined }

export interface RagContext {
  readonly report: DocumentReport
  readonly path: Path
  /** The file's `rag`. */
  readonly sources: Readonly<Record<string, RagSource>>
  /** The path of documents, relative to the working directory. */
  dataFrom(file: string, path: Path): string
  /** The name of embeddings: those of a model of the file have its provider and model. */
  embeddingsOf(name: string): string | undefined
}

/** The name of the tool, as providers accept it. */
export function ragToolName({ name, ref, tool, rag_config }: RagData): string {
  const written = tool?.name ?? rag_config?.tool?.name ?? name ?? ref ?? "search_documents"
  return written.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)
}

/** Undefined if there is nothing to search; that is reported. */
export function ragCall(data: RagData, at: RagContext): Call | undefined {
  const { ref, rag_config, ...own } = data
  if (ref !== undefined && !Object.hasOwn(at.sources, ref)) {
    const message = `There is no source "${ref}" in \`rag\`.`
    at.report.error("UNKNOWN_NAME", message, [...at.path, "ref"], nearest(ref, Object.keys(at.sources)))
    return undefined
  }
  const source = ref === undefined ? undefined : at.sources[ref]
  const config: RagConfig & Pick<RagSource, "description" | "instruction"> = {
    ...source,
    ...rag_config,
    ...own,
  }
  const place =
    ref === undefined ? [...at.path, ...(rag_config === undefined ? [] : ["rag_config"])] : ["rag", ref]
  warnUnused(config, place, at.report)
  const { strategies = [], docs = [], tool = {}, results } = config
  const pathOf = (file: string, to: Path) => at.dataFrom(withoutPattern(file, to, at.report), to)
  const paths = [
    ...docs.map((file, i) => pathOf(file, [...place, "docs", i])),
    ...strategies.flatMap(({ docs: more = [] }, i) =>
      more.map((file, k) => pathOf(file, [...place, "strategies", i, "docs", k])),
    ),
  ]
  if (paths.length === 0) {
    at.report.error("TOOLSET_INVALID", "A rag toolset needs `docs`: files and folders to search.", place)
    return undefined
  }
  const documents = callWith("documentsIn", [paths], { embeddings: embeddingsIn(config, at) })
  return call("documentSearch", documents, {
    name: ragToolName({ ...data, tool }),
    description: tool.description ?? config.description,
    instructions: tool.instruction ?? config.instruction,
    limit: results?.limit,
  })
}

/** The folder of a pattern: the index has all its readable files. */
function withoutPattern(file: string, path: Path, report: DocumentReport): string {
  const parts = file.split("/")
  const first = parts.findIndex((part) => /[*?[{]/.test(part))
  if (first < 0) return file
  const folder = parts.slice(0, first).join("/") || "."
  const message = `Patterns are not supported: "${file}" searches all readable files in ${folder}.`
  report.warning("NOT_SUPPORTED", message, path)
  return folder
}

/** Undefined: the default of the index, by words and, where a model is installed, by meaning. */
function embeddingsIn({ strategies = [] }: RagConfig, at: RagContext): string | undefined {
  const byMeaning = strategies.filter(({ type }) => type !== "bm25")
  if (strategies.length > 0 && byMeaning.length === 0) return "none"
  const name = byMeaning.find(({ embedding_model }) => embedding_model !== undefined)?.embedding_model
  return name === undefined || name === "auto" ? undefined : at.embeddingsOf(name)
}

const STRATEGY_FIELDS = ["type", "embedding_model", "docs"]

function warnUnused(config: RagConfig, place: Path, report: DocumentReport): void {
  for (const field of ["respect_vcs", "indexing_timeout"] as const) {
    if (config[field] !== undefined) report.unsupported(`"${field}" of rag`, [...place, field], "key")
  }
  for (const [i, strategy] of (config.strategies ?? []).entries()) {
    for (const field of Object.keys(strategy)) {
      if (STRATEGY_FIELDS.includes(field)) continue
      report.unsupported(`"${field}" of a strategy`, [...place, "strategies", i, field], "key")
    }
  }
  for (const field of Object.keys(config.results ?? {})) {
    if (field !== "limit")
      report.unsupported(`"${field}" of rag results`, [...place, "results", field], "key")
  }
}
