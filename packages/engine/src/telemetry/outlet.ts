/** Where spans and metrics go. */
import type { Tracer } from "@opentelemetry/api"
import type { Instruments } from "./instruments.ts"

export interface Outlet {
  readonly tracer: Tracer
  readonly instruments: Instruments
  /** Whether messages get spans of their own. */
  readonly messages: boolean
  /** Whether spans have what was said: prompts, answers, arguments and results. */
  readonly content: boolean
  readonly now: () => number
}
