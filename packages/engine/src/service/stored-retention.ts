/**
 * A policy of retention in the store: it is for all processes of the store, and takes the place of what each was created with.
 * Sweepers read it before they delete, so that a change holds within the hour, without a restart.
 */
import { SuperstepError } from "../core/index.ts"
import type { Store } from "../runtime/index.ts"
import { type Retention, retentionProblem } from "./options.ts"

const KIND = "retention"
const ID = "policy"

export interface StoredRetention extends Pick<Retention, "keep" | "maxAge"> {
  /** Milliseconds since 1970. */
  readonly setAt: number
  readonly setBy: string
}

type Records = { readonly records: Pick<Store["records"], "get" | "put" | "remove"> }

export async function storedRetention({ records }: Records): Promise<StoredRetention | undefined> {
  const value = (await records.get(KIND, ID))?.value as StoredRetention | undefined
  // What deletes is not guessed: a policy that another version wrote and this one cannot read deletes nothing.
  if (value !== undefined && retentionProblem(value) !== undefined) return { setAt: 0, setBy: "" }
  return value
}

/** Without a policy: each process has its own again. */
export async function storeRetention(
  { records }: Records,
  policy: Pick<Retention, "keep" | "maxAge"> | undefined,
  { by, at }: { readonly by: string; readonly at: number },
): Promise<void> {
  if (policy === undefined) return void (await records.remove(KIND, ID))
  const { keep, maxAge } = policy
  const problem = retentionProblem(policy)
  if (problem !== undefined) throw new SuperstepError("OPTION_INVALID", `Bad policy: ${problem}.`)
  const value = { ...(keep !== undefined && { keep }), ...(maxAge !== undefined && { maxAge }) }
  for (;;) {
    const version = (await records.get(KIND, ID))?.version ?? null
    if (await records.put(KIND, ID, { ...value, setAt: at, setBy: by }, version)) return
  }
}
