/** Plain JSON as a schema: what may be journaled may be sent, and nothing else. */
import { z } from "zod"
import { type Json, jsonProblem } from "../core/index.ts"

export const json: z.ZodType<Json> = z.unknown().superRefine((value, context) => {
  const problem = jsonProblem(value)
  if (problem === undefined) return
  context.addIssue({ code: "custom", message: `${problem.path || "it"} ${problem.reason}` })
}) as z.ZodType<Json>
