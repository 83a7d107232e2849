/** Warnings, when an agent is made, about schemas that its providers would refuse to enforce: they are sent without. */
import type { Json } from "../core/index.ts"
import type { ModelRef } from "../models/index.ts"
import { enforcementOf, strictProblem } from "../models/internal.ts"
import type { Tool } from "../tools/index.ts"
import type { OutputFormat } from "./structured-output.ts"

export function unenforcedSchemas(
  agent: string,
  model: ModelRef | readonly ModelRef[],
  { responseFormat }: OutputFormat,
  tools: readonly Tool[],
): readonly string[] {
  const { answers, tools: hasTools } = enforcementOf([model].flat() as readonly ModelRef[])
  const warnings: string[] = []
  const check = (what: string, schema: Json | undefined) => {
    const problem = schema === undefined ? undefined : strictProblem(schema)
    if (problem === undefined) return
    warnings.push(
      `Agent "${agent}": OpenAI cannot enforce the schema of ${what}, because ${problem}. The answer is checked afterwards.`,
    )
  }
  if (answers && responseFormat?.type === "json")
    check("its output", responseFormat.schema as Json | undefined)
  if (hasTools)
    for (const { name, parameters, provider } of tools)
      if (provider === undefined) check(`tool "${name}"`, parameters)
  return warnings
}
