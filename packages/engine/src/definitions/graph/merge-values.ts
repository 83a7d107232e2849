/** Several outputs as one. */
import type { Json } from "../../core/index.ts"
import { isObject, lookedInto } from "../data-in-text.ts"
import { template, textOf } from "../expressions/index.ts"
import type { Visit } from "./visit.ts"

export const STRATEGIES = ["concat_text", "collect_list", "merge_dict", "stitch", "custom_template"] as const

type Strategy = (typeof STRATEGIES)[number]

export interface MergeValuesOptions {
  readonly strategy?: Strategy | undefined
  /** Of custom_template: it sees the outputs by the names of their branches, and all of them as `results`. */
  readonly template?: string | undefined
  /** What stands between texts. Default: an empty line. */
  readonly separator?: string | undefined
}

export interface Result {
  /** The branch it is of. */
  readonly name: string
  readonly value: Json
}

type Merge = (results: readonly Result[], visit: Visit) => Json

/** In the order they are given; what is null is left out of texts. */
export function merging({
  strategy = "concat_text",
  template: text = "",
  separator = "\n\n",
}: MergeValuesOptions): Merge {
  switch (strategy) {
    case "concat_text":
      return (results) =>
        texts(results)
          .map(([, one]) => one)
          .join(separator)
    case "stitch":
      return (results) =>
        texts(results)
          .map(([name, one]) => `### ${name}\n${one}`)
          .join(separator)
    case "collect_list":
      return (results) => results.map(({ value }) => value)
    case "merge_dict":
      return (results) => Object.assign({}, ...results.map(asObject)) as Json
    case "custom_template": {
      const read = template(text, "graph")
      return (results, visit) => {
        const names: Record<string, Json> = { results: results.map(({ value }) => value) }
        for (const { name, value } of results) names[name] = value
        return read.render(visit.scope(read.references, { names }))
      }
    }
  }
}

function texts(results: readonly Result[]): (readonly [string, string])[] {
  return results
    .filter(({ value }) => value !== null)
    .map(({ name, value }) => [name, textOf(value)] as const)
}

/** What is no object goes under the name of its branch. */
function asObject({ name, value }: Result): object {
  const data = lookedInto(value)
  return isObject(data) ? data : { [name]: value }
}
