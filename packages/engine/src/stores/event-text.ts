/** Events as stores with tables keep them: type and time in columns, the rest as JSON. */
import type { NewEvent } from "../runtime/index.ts"

export interface EventText {
  readonly type: string
  readonly at: number
  readonly body: string
}

export function toEventText({ type, at, ...more }: NewEvent): EventText {
  return { type, at, body: JSON.stringify(more) }
}

/** `body` is parsed. */
export function fromEventText(type: string, at: number, body: unknown): NewEvent {
  return { ...(body as object), type, at } as NewEvent
}
