/** The wire format of definitions. */
import { z } from "@hono/zod-openapi"
import { problemSchema } from "../schemas.ts"

const time = z.number().int()
const json = z.unknown().openapi({ description: "Any JSON value." })

const MAX_TEXT = 1_000_000
/** Runs that a version is checked against. */
const MAX_RUNS = 100
const DEFAULT_RUNS = 10

/** Of a definition that is created over HTTP; the names of files are their own. */
export const NAME = /^[A-Za-z0-9][\w-]{0,99}$/
export const ALIAS = /^[a-z][\w-]{0,49}$/i
export const RESERVED_ALIASES: readonly string[] = ["published", "latest"]

export const definitionParam = z.object({
  definition: z.string().min(1).max(200).openapi({ description: "The name of the definition." }),
})

export const versionName = z
  .union([z.number().int().min(1).max(999_999_999), z.string().min(1).max(50)])
  .transform(String)
  .openapi({ description: "A number, an alias, `published` or `latest`." })

const text = z.string().max(MAX_TEXT).openapi({ description: "YAML or JSON." })

const graphSchema = z
  .object({
    start: z.string().optional(),
    nodes: z.array(
      z.object({
        id: z.string(),
        kind: z.string(),
        line: z.number().int().optional(),
        column: z.number().int().optional(),
      }),
    ),
    edges: z.array(json).openapi({ description: "Groups of edges, as the engine has them." }),
    diagram: json.openapi({ description: "Shapes, frames and arrows, as superstep/diagrams has them." }),
  })
  .openapi("DefinitionGraph", {
    description: "As the graph of a workflow is sent, with the positions of its nodes in the text.",
  })

const diagnosticSchema = z
  .object({
    severity: z.enum(["error", "warning"]),
    code: z.string(),
    message: z.string(),
    line: z.number().int().optional(),
    column: z.number().int().optional(),
    length: z.number().int().optional(),
    suggestion: z.string().optional().openapi({ description: "The word that was probably meant." }),
  })
  .openapi("Diagnostic")

export const validateSchema = z
  .object({
    text,
    name: z
      .string()
      .max(200)
      .optional()
      .openapi({ description: "Of the definition that it is a version of." }),
  })
  .strict()
  .openapi("DefinitionText")

export const validatedSchema = z
  .object({
    valid: z.boolean(),
    name: z.string().optional(),
    dialect: z.enum(["steps", "graph", "agents"]).optional(),
    diagnostics: z.array(diagnosticSchema),
    graph: graphSchema.optional(),
  })
  .openapi("Validated")

const summary = {
  name: z.string(),
  source: z.enum(["store", "file", "code"]).openapi({
    description: "`store`: sent to a server. `file`: loaded by this one. `code`: a module or a program.",
  }),
  readOnly: z.boolean(),
  published: z.number().int().optional(),
  latest: z.number().int().optional(),
  aliases: z.record(z.string(), z.number().int()),
}

export const definitionSummarySchema = z.object(summary).openapi("DefinitionSummary")

const logSchema = z.object({
  at: time,
  by: z.string(),
  action: z.enum(["publish", "rollback", "alias", "alias removed"]),
  version: z.number().int(),
  alias: z.string().optional(),
  reason: z.string().optional(),
})

export const definitionSchema = z
  .object({
    ...summary,
    text: z.string().optional().openapi({ description: "Of the published version, else of the latest." }),
    graph: graphSchema.optional(),
    log: z.array(logSchema).openapi({ description: "What was published and aliased, the newest last." }),
  })
  .openapi("Definition")

export const versionSchema = z
  .object({
    version: z.number().int(),
    createdAt: time,
    createdBy: z.string(),
    note: z.string().optional(),
  })
  .openapi("DefinitionVersion")

export const versionTextSchema = versionSchema
  .extend({ text: z.string(), diagnostics: z.array(diagnosticSchema), graph: graphSchema.optional() })
  .openapi("DefinitionVersionText")

export const draftSchema = z
  .object({ text, note: z.string().max(1_000).optional() })
  .strict()
  .openapi("Draft")

export const definitionDiffSchema = z
  .object({
    from: z.number().int(),
    to: z.number().int(),
    text: z
      .array(z.object({ kind: z.enum(["same", "removed", "added"]), lines: z.array(z.string()) }))
      .openapi({ description: "Both texts, line by line." }),
    graph: z
      .array(z.string())
      .openapi({ description: "Lines with `-`, `~` or `+`. Empty: runs in flight could continue with it." }),
  })
  .openapi("DefinitionDiff")

export const publishSchema = z
  .object({
    version: versionName.optional().openapi({ description: "Default: the latest." }),
    last: z
      .number()
      .int()
      .min(0)
      .max(MAX_RUNS)
      .default(DEFAULT_RUNS)
      .openapi({ description: "So many of the newest runs that have ended are replayed first. 0: none." }),
    force: z.boolean().default(false).openapi({ description: "Publishes it whatever the check finds." }),
    reason: z.string().trim().min(1).max(1_000).optional().openapi({ description: "Required with `force`." }),
    inFlight: z.enum(["stay", "follow"]).default("stay").openapi({
      description:
        "Runs in flight stay with their version, or follow to this one where it has the same graph.",
    }),
    expected: z
      .number()
      .int()
      .min(0)
      .optional()
      .openapi({ description: "The version that is published now, 0 for none; another one is a conflict." }),
  })
  .strict()
  .refine(({ force, reason }) => !force || reason !== undefined, {
    message: "force needs a reason",
    path: ["reason"],
  })
  .openapi("Publish")

export const checkedRunSchema = z
  .object({
    run: z.string(),
    outcome: z.enum(["same", "diverges", "fails"]),
    step: z.number().int().optional().openapi({ description: "The index of the first task that differs." }),
    node: z.string().optional(),
    what: z.string().optional(),
  })
  .openapi("CheckedRun")

export const publishedSchema = z
  .object({
    ...summary,
    version: z.number().int(),
    check: z.object({ passed: z.boolean(), runs: z.array(checkedRunSchema) }).optional(),
  })
  .openapi("Published")

export const rollbackSchema = z
  .object({
    to: z.number().int().min(1).optional().openapi({
      description: "A version that was published before. Default: the one before the current one.",
    }),
    reason: z.string().max(1_000).optional(),
  })
  .strict()
  .openapi("Rollback")

const refusedSchema = problemSchema
  .extend({ diagnostics: z.array(diagnosticSchema).optional(), runs: z.array(checkedRunSchema).optional() })
  .openapi("DefinitionProblem")

export const refusal = (description: string) => ({
  description,
  content: { "application/problem+json": { schema: refusedSchema } },
})
