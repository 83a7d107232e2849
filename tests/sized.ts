import { inject } from "vitest"

interface Sizes<Size> {
  readonly check: Size
  /** CI's proofs, which may take minutes only. */
  readonly short: Size
  /** `npm run proof`. */
  readonly full: Size
}

/** How large a test is in this run. */
export function sized<Size>({ check, short, full }: Sizes<Size>): Size {
  if (!inject("isProof")) return check
  return inject("isShortProof") ? short : full
}
