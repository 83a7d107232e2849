/** What a dialect gets to compile a document with. */
import type { LoadOptions } from "./definition.ts"
import type { DefinitionPaths } from "./definition-paths.ts"
import type { Document, Place, Report } from "./document/index.ts"
import type { PlanWriter, Ref } from "./plan/index.ts"

export interface DialectInput {
  readonly document: Document
  readonly report: Report
  readonly writer: PlanWriter
  readonly options: LoadOptions
  readonly paths: DefinitionPaths
  /** Another file, as data; what is wrong with it is reported. */
  read(file: string, place?: Place): Document | undefined
  /** The workflow of another file, beside this one; what is wrong with it is reported, at the place that names it. */
  include(file: string, place: Place): Ref | undefined
}
