/** What is said between us and the process that Ladybug runs in. */
import type { Json } from "@superstep/engine"
import type { QueryResult } from "@superstep/engine/patterns"
import type { KnownLimits } from "../sql/bounded-rows.ts"

export interface LadybugRequest {
  readonly cypher: string
  readonly params: Readonly<Record<string, Json>>
  readonly limits: KnownLimits
}

export type LadybugReply =
  | { readonly ok: QueryResult }
  | {
      readonly error: "unusable" | "refused" | "failed" | "timeout"
      readonly message: string
    }

/** The program's only argument, as JSON. */
export interface LadybugSettings {
  /** The address of the package's module. */
  readonly module: string
  readonly path: string
  /** Bytes. */
  readonly memory: number
}
