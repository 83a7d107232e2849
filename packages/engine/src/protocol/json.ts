/** Plain JSON as a schema: what may be journaled may be sent, and nothing else. */
import { z } from "zod"
import { type Json, jsonProblem, printJsonProblem } from "../core/index.ts"

export const json: z.ZodType<Json> = z.unknown().superRefine((value, context) => {
  const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
  if (problem === undefined) return
  context.addIssue({ code: "custom", message: printJsonProblem(problem) })
}) as z.ZodType<Json>
