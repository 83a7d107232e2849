import type { preparedOnce } from "@superstep/store-sqlite/shared"
import { MOST_CHUNKS } from "./index-schema.ts"

/** In SQL: leaves out the chunks of what is not ready (D1). Mostly there is no such thing, and then nothing is asked for each. */
export function onlyReady(sql: ReturnType<typeof preparedOnce>, id: string): string {
  const [hidden] = sql("SELECT EXISTS (SELECT 1 FROM documents WHERE state <> 'ready') AS some").all()
  if ((hidden as { some: number }).some === 0) return "true"
  return `${id} / ${MOST_CHUNKS} NOT IN (SELECT id FROM documents WHERE state <> 'ready')`
}
