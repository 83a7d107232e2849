/** Work of many writes, in transactions that are short, with pauses in which other processes may write. */
import type { Transactions } from "./transactions.ts"

export interface ShortWrites {
  /** A short transaction, and half as much time for others. */
  shortly<T>(subject: string, some: () => T): Promise<T>
  /** Such transactions until one returns false. */
  repeat(subject: string, some: () => boolean): Promise<void>
}

/** Held from the start, so that a test framework's fake timers do not stop it. */
const later = setTimeout

export function shortWrites(transactions: Transactions): ShortWrites {
  async function shortly<T>(subject: string, some: () => T): Promise<T> {
    let took = 0
    const result = await transactions.write(subject, () => {
      const began = performance.now()
      const done = some()
      took = performance.now() - began
      return done
    })
    await new Promise<void>((resume) => later(resume, Math.ceil(took / 2)))
    return result
  }

  return {
    shortly,
    async repeat(subject, some) {
      while (await shortly(subject, some));
    },
  }
}
