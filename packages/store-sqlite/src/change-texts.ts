/** What an append keeps as text beside its records: made when it is handed over, not while the file is locked for it. */
import type { RunChange } from "@superstep/engine"
import { writeFailed } from "./errors.ts"
import { type GraphText, toGraphText } from "./graphs.ts"
import { type RequestText, toRequestText } from "./requests.ts"
import { type ThreadText, toThreadText } from "./threads.ts"

export interface ChangeTexts {
  readonly graphs: readonly GraphText[]
  readonly opened: readonly RequestText[]
  readonly thread: readonly ThreadText[]
  /** About what they take. */
  readonly bytes: number
}

const NONE: ChangeTexts = { graphs: [], opened: [], thread: [], bytes: 0 }

/** An error for what JSON cannot hold. */
export function toChangeTexts(runId: string, change: RunChange | undefined): ChangeTexts {
  if (change === undefined) return NONE
  try {
    const graphs = (change.graphs ?? []).map(({ hash, graph }) => toGraphText(hash, graph))
    const opened = (change.opened ?? []).map(toRequestText)
    const thread = (change.thread ?? []).map(toThreadText)
    const texts = [
      ...graphs.map(({ body }) => body),
      ...opened.map(({ body }) => body),
      ...thread.map(({ value }) => value),
    ]
    return { graphs, opened, thread, bytes: texts.reduce((sum, text) => sum + text.length, 0) }
  } catch (error) {
    throw writeFailed(`What changes with the journal of run "${runId}" cannot be written as JSON`, error)
  }
}
